"""The conformance matrix of the documentation shows what runs report; ``make matrix`` makes it again."""

import json
import runpy
import tomllib

import pytest
from kit import RELEASES, examine
from pages import DOCS
from parts import matrix

from queue_conformance.reports import Origin, Report, jsonl
from queue_conformance.specification import load

MATRIX = DOCS / "matrix"
VERDICTS = json.loads((MATRIX / "verdicts.json").read_text("utf-8"))
DESCRIBED = tomllib.loads((MATRIX / "pyproject.toml").read_text("utf-8"))["tool"]["queue_conformance"]["implementations"]
QUICK = ("queuelib.RoundRobinQueue", "scrapy.squeues.FifoMemoryQueue", "scrapy.dupefilters.BaseDupeFilter")
CONDENSE = runpy.run_path(str(MATRIX / "condense.py"))


def test_it_shows_what_is_described():
    assert [found["name"] for found in VERDICTS["implementations"]] == list(DESCRIBED)


def test_it_names_no_rule_that_is_gone():
    assert {rule for found in VERDICTS["implementations"] for rules in found["rules"].values() for rule in rules} <= set(load())


@pytest.mark.skipif(VERDICTS["releases"] != RELEASES, reason="the matrix shows other releases")
@pytest.mark.parametrize("name", QUICK)
def test_it_shows_what_a_run_reports(name):
    (found,) = CONDENSE["condense"](Report((examine(name),)))["implementations"]
    shown = next(shown for shown in VERDICTS["implementations"] if shown["name"] == name)
    known = {rule for rules in shown["rules"].values() for rule in rules}
    rules = {verdict: [rule for rule in rules if rule in known] for verdict, rules in found["rules"].items()}
    assert found | {"rules": rules} == shown, "what is newer than the matrix comes with the next `make matrix`"


def test_what_is_written_is_the_same_again(tmp_path):
    report = Report((examine("queuelib.RoundRobinQueue", only="machine"),), (), Origin(seed=3))
    (tmp_path / "report.jsonl").write_text(jsonl.render(report), "utf-8")
    CONDENSE["main"](tmp_path / "report.jsonl", tmp_path / "verdicts.json")
    assert json.loads((tmp_path / "verdicts.json").read_text("utf-8")) == CONDENSE["condense"](report)


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "it is empty"), (jsonl.render(Report((), ("--queue-class: a.B is a module",))), "a.B is a module")],
    ids=["incomplete", "errors"],
)
def test_what_was_not_tested_replaces_nothing(tmp_path, text, message):
    (tmp_path / "report.jsonl").write_text(text, "utf-8")
    (tmp_path / "verdicts.json").write_text("before", "utf-8")
    with pytest.raises(SystemExit, match=message):
        CONDENSE["main"](tmp_path / "report.jsonl", tmp_path / "verdicts.json")
    assert (tmp_path / "verdicts.json").read_text("utf-8") == "before"


def test_it_tells_the_release_of_all_that_it_compares():
    releases = {found["version"] for found in VERDICTS["implementations"] if found["name"].startswith(("scrapy", "q"))}
    told = matrix.origin().casefold()
    assert not {release for release in releases if release.casefold() not in told}
