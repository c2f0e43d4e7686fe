"""What is installed from the wheel does what it promises in an empty directory, on a class that derives from nothing.

Of the pages of the documentation, ``test_docs.py`` shows that in the same environment.
"""

import re
import subprocess
import sys
from inspect import getsource
from pathlib import Path

import pytest
from kit import further
from pages import DOCS, blocks
from user import WARNING, environment, too_wide

from mutants.controls_bare import BareMemoryQueue

GUIDE = DOCS / "howto-tests.md"
LOWEST = Path(sys.prefix) / "pytest-lowest"
"""Where ``make`` installs the lowest pytest that pyproject.toml promises."""

MINE = f"""\
{getsource(BareMemoryQueue)}

class Forgetful(BareMemoryQueue):
    def push(self, request):
        self.requests = [request]
"""


@pytest.fixture
def user(wheel, tmp_path):
    """Run a command, which is to end with this status, and return what it prints."""

    def run(command, status=0):
        how = {"cwd": tmp_path, "env": environment(wheel), "stdin": subprocess.DEVNULL, "timeout": 300.0}
        done = subprocess.run(["bash", "-c", command], **how, capture_output=True, text=True)
        assert done.returncode == status, done.stdout + done.stderr
        assert not WARNING.search(done.stdout + done.stderr)
        return done

    return run


def screen(done):
    """Return what a command printed that is to be looked at in a terminal."""
    assert done.stderr == ""
    assert too_wide(done.stdout) == []
    return done.stdout


def test_the_kit_that_is_run_is_the_wheel(user, wheel):
    where = user("python -c 'import queue_conformance, queue_reference as reference; print(queue_conformance, reference)'").stdout
    assert where.count(str(wheel.parent)) == 2


def test_a_class_of_ones_own_is_tested_and_its_failure_looked_at(user, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    printed = screen(user("pytest -W error --queue-class=mine.BareMemoryQueue --queue-class=mine.Forgetful", status=1))
    assert re.findall(r"^  verdict: (\S+)", printed, re.MULTILINE) == ["CONFORMANT", "NON-CONFORMANT"]
    rule, shown = re.search(r"^  script    queue-conformance replay (\S+) --print$", printed, re.MULTILINE)[1], "assert popped"
    assert screen(user(f"queue-conformance explain {rule}")).startswith(f"{rule}  MUST\n")
    assert shown in user(f"queue-conformance replay {rule} --print").stdout
    assert shown in user(f"queue-conformance issue {rule}").stdout
    assert "(mine.Forgetful): still failing" in user(f"queue-conformance replay {rule}", status=1).stdout
    repaired = MINE.partition("class Forgetful")[0] + "Forgetful = BareMemoryQueue\n"
    (tmp_path / "mine.py").write_text(repaired)
    assert "(mine.Forgetful): not failing any more" in user(f"queue-conformance replay {rule}").stdout


@pytest.mark.skipif(not LOWEST.exists(), reason="make installs the lowest pytest, and did not make this environment")
@pytest.mark.parametrize("options", ["", *further("-v -n2")])
def test_a_class_is_tested_with_the_lowest_pytest(user, tmp_path, options):
    (tmp_path / "mine.py").write_text(MINE)
    printed = user(f"PYTHONPATH={LOWEST} python -m pytest {options} --queue-class=mine.BareMemoryQueue").stdout
    (release,) = LOWEST.glob("pytest-*.dist-info")
    assert release.stem in printed  # and not the one beside it
    assert "verdict: CONFORMANT" in printed


@pytest.mark.skipif(not LOWEST.exists(), reason="make installs the lowest pytest, and did not make this environment")
def test_the_suite_of_the_guide_warns_of_nothing_with_the_lowest_pytest(user, tmp_path):
    (suite,) = [block for block in blocks(GUIDE.name, GUIDE.read_text("utf-8")) if block.caption == "test_queue.py"]
    (tmp_path / suite.caption).write_text(suite.text)
    user(f"PYTHONPATH={LOWEST} python -m pytest -W error -k 'smoke or queue.len'")


@pytest.mark.parametrize("place", ["mine.py", "conftest.py"])
def test_a_default_timeout_of_sockets_is_the_author_s_own_affair(user, tmp_path, place):
    (tmp_path / "mine.py").write_text(MINE)
    with (tmp_path / place).open("a") as file:
        file.write("import socket\nsocket.setdefaulttimeout(0.2)\n")
    assert "verdict: CONFORMANT" in screen(user("pytest --queue-class=mine.BareMemoryQueue"))


def test_whoever_does_not_use_it_does_not_see_it(user, tmp_path):
    (tmp_path / "test_mine.py").write_text("def test_mine(): pass\n")
    assert "conformance" not in screen(user("pytest -q -W error"))


@pytest.mark.parametrize("program", ["queue-conformance", "python -m queue_conformance"])
def test_each_command_says_how_it_is_used(user, program):
    commands = re.findall(r"^    (\w+) ", screen(user(f"{program} --help")), re.MULTILINE)
    assert {"rules", "explain", "compare", "matrix", "replay", "issue", "report", "campaign"} <= set(commands)
    for command in commands:
        assert f"usage: queue-conformance {command}" in screen(user(f"{program} {command} --help"))
