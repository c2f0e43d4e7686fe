"""The history of releases shows which one broke a rule, and which one mended it; ``make releases`` makes it again."""

import json
import runpy
import subprocess

import pytest
from made_reports import implementation, report, violation
from pages import DOCS
from parts import releases

from queue_conformance.reports import jsonl
from queue_conformance.specification import load

RULE, OTHER = "queue.pop.empty-none", "queue.close.twice"


@pytest.fixture
def build(tmp_path, monkeypatch):
    """The program that tests releases, with a table of its own; each release fails the rules that are given."""
    monkeypatch.setattr(releases, "HERE", tmp_path)
    monkeypatch.setattr(releases, "SCRIPTS", tmp_path / "scripts.json")
    monkeypatch.setattr(releases, "TABLE", {"my-library": {"1.0": ["old<2"], "1.1": [], "1.2": [], "2.0": []}})
    releases.releases_of.cache_clear()
    program = runpy.run_path(str(DOCS / "releases" / "build.py"))
    where = program["main"].__globals__
    failed = {"1.0": [RULE], "1.1": [], "1.2": [RULE, OTHER], "2.0": None}

    def run(command, **_):
        """Stand for an installation, or for a run of pytest."""
        if "pytest" in command:
            file = next(option.partition("=")[2] for option in command if str(option).startswith("--conformance-report="))
            rules = failed[file.rpartition("-")[2].removesuffix(".jsonl")]
            shown = [violation(rule, script=f"{rule} {file[-9:-6]}") for rule in rules or ()]
            found = [] if rules is None else [implementation("my_library.Queue", failed=shown)]
            (tmp_path / file).write_text(jsonl.render(report(*found, errors=[] if found else ["no class"])), "utf-8")
        installed.append([str(word) for word in command])

    installed = []
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setitem(where, "BUILD", tmp_path)
    monkeypatch.setitem(where, "names_of", lambda library: ["my_library.Queue"])
    monkeypatch.setitem(where, "environment", lambda name, requirements: installed.append([name, *requirements]) or "python")
    where["installed"] = installed
    yield where
    releases.releases_of.cache_clear()


def test_what_broke_and_what_was_mended_is_shown(build):
    build["main"](["my-library-1.*"])
    assert ["my-library-1.0", "my-library==1.0", "old<2"] in build["installed"]
    one, two, three = releases.changes()
    assert (two.rule, two.before, two.after, two.broke, two.failed) == (RULE, "1.0", "1.1", False, "1.0")
    assert {(change.rule, change.broke) for change in (one, three)} == {(RULE, True), (OTHER, True)}
    assert json.loads(releases.SCRIPTS.read_text("utf-8")) == {
        f"my_library.Queue {OTHER} 1.2": f"{OTHER} 1.2",
        f"my_library.Queue {RULE} 1.0": f"{RULE} 1.0",
        f"my_library.Queue {RULE} 1.2": f"{RULE} 1.2",
    }
    rows = [line for line in releases.regressions().splitlines() if "1.1 | 1.2" in line]
    assert len(rows) == 2
    assert {row.split(" | ")[1] for row in rows} <= {'<span class="must">MUST</span>', '<span class="should">SHOULD</span>'}
    assert ' same"' not in releases.tables()
    (row,) = [line for line in releases.tables().splitlines() if line.startswith("| `my_library.Queue` |")]
    assert row.split(" | ")[2] == '<span class="passed">0/0</span>'
    assert f"{RULE} 1.0" in releases.scripts()


def test_a_script_outlives_its_report(build, tmp_path):
    build["main"](["my-library-1.*"])
    (tmp_path / "my-library-1.0.jsonl").unlink()
    releases.releases_of.cache_clear()
    assert build["scripts"]()[f"my_library.Queue {RULE} 1.0"] == f"{RULE} 1.0"


def test_what_was_not_tested_now_is_kept_as_it_was(build):
    build["main"](["my-library-1.0"])
    file = releases.file_of("my-library", "1.0")
    known = json.loads(file.read_text("utf-8"))
    (queue,) = known["implementations"]
    other = {**queue, "name": "my_library.Other"}
    file.write_text(json.dumps({**known, "created": "before", "implementations": [{**queue, "rules": {}}, other]}), "utf-8")
    build["main"](["my-library-1.0"], "my_library.Q*")
    kept = json.loads(file.read_text("utf-8"))
    assert kept == {**known, "created": "before", "implementations": [{**queue, "created": known["created"]}, other]}


def test_a_release_of_which_nothing_could_be_tested_ends_it(build):
    with pytest.raises(SystemExit, match=r"my-library-2\.0: no class"):
        build["main"](["my-library-2.0"])


def test_what_is_kept_is_of_releases_and_rules_that_are_known():
    files = {releases.file_of(library, release) for library, found in releases.TABLE.items() for release in found}
    kept = sorted((DOCS / "releases" / "verdicts").iterdir())
    assert kept
    for file in kept:
        assert file in files
        found = json.loads(file.read_text("utf-8"))["implementations"]
        assert found
        assert {rule for one in found for rules in one["rules"].values() for rule in rules} <= set(load())
