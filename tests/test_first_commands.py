"""What runs where a user starts: an interpreter of its own, an empty directory, no option but the class."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS, blocks

GUIDE = DOCS / "howto-tests.md"
LOWEST = Path(sys.prefix) / "pytest-lowest"
"""Where ``make`` installs the lowest pytest that pyproject.toml promises."""

PLAIN = """
from collections import deque

class Queue:
    def __init__(self):
        self.items = deque()

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.popleft() if self.items else None

    def close(self):
        pass

    def __len__(self):
        return len(self.items)
"""


def run(directory, *arguments, **environment):
    """Run pytest as a user does, and return what it ended with and printed."""
    given = os.environ | {"COLUMNS": "80"} | environment
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments]
    ended = subprocess.run(command, cwd=directory, env=given, text=True, capture_output=True, timeout=300)
    return ended.returncode, ended.stdout + ended.stderr


@pytest.mark.skipif(not LOWEST.exists(), reason="make installs the lowest pytest, and did not make this environment")
@pytest.mark.parametrize("arguments", [[], ["-v", "-n2"]], ids=" ".join)
def test_a_class_is_tested_with_the_lowest_pytest(tmp_path, arguments):
    (tmp_path / "queues.py").write_text(PLAIN)
    status, printed = run(tmp_path, "--queue-class=queues.Queue", *arguments, PYTHONPATH=str(LOWEST))
    assert (status, "verdict: CONFORMANT" in printed) == (0, True), printed
    assert "Error" not in printed
    (release,) = LOWEST.glob("pytest-*.dist-info")
    assert release.stem in printed  # and not the one beside it


@pytest.mark.skipif(not LOWEST.exists(), reason="make installs the lowest pytest, and did not make this environment")
def test_the_suite_of_the_guide_warns_of_nothing_with_the_lowest_pytest(tmp_path):
    (suite,) = [block for block in blocks(GUIDE.name, GUIDE.read_text("utf-8")) if block.caption == "test_queue.py"]
    (tmp_path / suite.caption).write_text(suite.text)
    status, printed = run(tmp_path, "-W", "error", "-k", "smoke or queue.len", PYTHONPATH=str(LOWEST))
    assert (status, "warning" in printed) == (0, False), printed


@pytest.mark.parametrize("place", ["queues.py", "conftest.py"])
def test_a_default_timeout_of_sockets_is_the_author_s_own_affair(tmp_path, place):
    (tmp_path / "queues.py").write_text(PLAIN)
    with (tmp_path / place).open("a") as file:
        file.write("import socket\nsocket.setdefaulttimeout(0.2)\n")
    status, printed = run(tmp_path, "--queue-class=queues.Queue")
    assert (status, "verdict: CONFORMANT" in printed) == (0, True), printed
