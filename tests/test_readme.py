"""What the README shows is what a user gets."""

import html
import re
import shlex
import tomllib

import pytest
from pages import DOCS, ROOT
from test_docs import OTHERS

from queue_conformance.config.options import OPTIONS

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
QUEUES = """
from queue_reference.memory import FifoMemoryQueue
from queue_reference.redis import FifoRedisQueue


class MyQueue(FifoMemoryQueue):
    pass


class RedisQueue(FifoRedisQueue):
    pass
"""

PICTURES = re.findall(r"!\[.*\]\((.*\.svg)\)", README)


def shown(picture):
    """Return the lines of a picture of a terminal, the first of which is a command."""
    lines = {}
    for number, text in re.findall(r"<text[^>]*-line-(\d+)\)[^>]*>(.*?)</text>", (ROOT / picture).read_text("utf-8"), re.DOTALL):
        lines[int(number)] = lines.get(int(number), "") + html.unescape(text).replace("\xa0", " ")
    return [lines.get(number, "").rstrip() for number in range(max(lines) + 1)]


@pytest.mark.skipif(bool(OTHERS), reason=f"the pictures show another release of {' and '.join(OTHERS)}")
@pytest.mark.parametrize("picture", PICTURES)
def test_a_picture_shows_what_is_printed(pytester, monkeypatch, picture):
    monkeypatch.setenv("COLUMNS", "80")
    command, *lines = shown(picture)
    assert command.startswith("$ pytest -q ")
    result = pytester.runpytest_subprocess(*shlex.split(command)[2:])
    printed = [line.rstrip() for line in result.outlines]
    begin = next(number for number, line in enumerate(lines) if line.startswith("==="))
    end = next(number for number, line in enumerate(lines) if line.startswith("  verdict: "))
    assert "\n".join(lines[begin : end + 1]) in "\n".join(printed)


def test_there_are_pictures_of_a_failing_and_of_a_passing_run():
    verdicts = ["".join(re.findall(r"^  verdict: (\S+)", "\n".join(shown(picture)), re.MULTILINE)) for picture in PICTURES]
    assert verdicts == ["NON-CONFORMANT", "CONFORMANT"]


@pytest.mark.further
def test_what_it_tells_to_do_can_be_done(page):
    package = page.directory / "my_package"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "queues.py").write_text(QUEUES, "utf-8")
    page.run("README.md", README)
    assert [reason for _, reason in page.exempt] == [".ci/run runs both"]


@pytest.mark.skipif(bool(OTHERS), reason=f"the pictures show another release of {' and '.join(OTHERS)}")
def test_what_gates_looks_for_lines_that_are_printed():
    printed = "\n".join(line for picture in PICTURES for line in shown(picture))
    parts = re.findall(r"^shows '(.*)'$", (ROOT / ".ci" / "run").read_text("utf-8"), re.MULTILINE)
    assert parts
    assert [part for part in parts if part not in printed] == []


def test_what_gates_runs_its_first_commands():
    first, _, _ = README.partition("## Test your own queue")
    (command,) = re.findall(r"^\$ pytest .*$", first, re.MULTILINE)
    assert f"\n{command}\n" in (DOCS / "index.md").read_text("utf-8")
    gate = (ROOT / ".ci" / "run").read_text("utf-8")
    assert re.findall(r"^\$ (make \w+)", first, re.MULTILINE) == re.findall(r"^make \w+", gate, re.MULTILINE)


def test_the_options_of_the_table_exist():
    (block,) = [block for language, block in BLOCKS if language == "toml"]
    table = tomllib.loads(block)["tool"]["queue_conformance"]
    described = table.pop("implementations")
    assert table.keys() <= {option.name for option in OPTIONS}
    assert [set(entry) - {"queue-class"} for entry in described.values()] == [{"claims"}, {"server", "settings"}]


def test_the_options_in_the_text_exist():
    named = set(re.findall(r"--((?:queue|priority|scheduler|dupefilter|spider|conformance)[\w-]*)", README))
    assert len(named) > 5
    assert named <= {option.name for option in OPTIONS}


def test_what_contributors_are_told_to_run_is_run():
    contributing, makefile = ((ROOT / name).read_text("utf-8") for name in ("CONTRIBUTING.md", "Makefile"))
    gates = "\n".join(file.read_text("utf-8") for file in (ROOT / ".ci" / "run", *(ROOT / ".github" / "workflows").glob("*.yml")))
    with_test = re.findall(r"^test: (.*?) *##", makefile, re.MULTILINE)[0]
    (block,) = re.findall(r"```console\n(.*?)```", contributing, re.DOTALL)
    for command in block.splitlines():
        for target in re.fullmatch(r"\$ make ([\w -]+?) *#.*", command)[1].split():
            assert re.search(rf"(?<![\w-]){target}(?![\w-])", gates + with_test), target
