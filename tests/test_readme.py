"""What the README shows is what a user gets."""

import html
import re
import shlex
import tomllib

import pytest
from pages import DOCS, ROOT
from test_docs import OTHERS

from queue_conformance.options import OPTIONS

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
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


def test_the_first_command_is_one_that_a_page_runs():
    (command,) = re.findall(r"^\$ pytest .*$", README.partition("## Test your own queue")[0], re.MULTILINE)
    assert f"\n{command}\n" in (DOCS / "index.md").read_text("utf-8")


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
