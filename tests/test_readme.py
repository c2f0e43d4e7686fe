"""What the README shows is what a user gets."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest

from queue_conformance.options import OPTIONS

README = (Path(__file__).parent.parent / "README.md").read_text()
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", README, re.DOTALL)
TEXTS = [block for language, block in BLOCKS if language == "text"]

# Where faults hit depends on the user, the platform and the release of Python.
FAULTS = re.compile(r"^  note: (disk faults|faults that hit|durability|after a crash).*\n(    .*\n)*", re.MULTILINE)


@pytest.mark.skipif(f"Scrapy {version('scrapy')}," not in README, reason="the README shows another release of Scrapy")
def test_the_report_and_the_failure_are_printed_as_shown(pytester):
    result = pytester.runpytest_subprocess("--queue-class=scrapy.squeues.PickleLifoDiskQueue", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    printed = "\n".join([*result.outlines, ""])
    assert len(TEXTS) == 2
    for block in TEXTS:
        assert FAULTS.sub("", block) in FAULTS.sub("", printed)


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
