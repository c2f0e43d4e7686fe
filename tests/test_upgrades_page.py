"""The page of upgrades says what ``make upgrades`` measured, and what it says of losses can be seen from nothing."""

import json
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from pages import DOCS
from parts import upgrades

MEASURED = json.loads(upgrades.MEASURED.read_text("utf-8"))
CRAWL = {"left": 30, "recovered": 30, "again": 0, "state": True, "finish": "finished", "told": "", "status": 0, "later": 0}


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (CRAWL, "all"),
        ({**CRAWL, "again": 26, "later": 60}, "forgets"),
        ({**CRAWL, "recovered": 29}, "loses"),
        ({**CRAWL, "recovered": 0, "changed": ["requests.queue/active.json"]}, "loses"),
        ({**CRAWL, "recovered": 0, "logged": 29}, "loses"),
        ({**CRAWL, "recovered": 0, "logged": 30}, "loses, told"),
        ({**CRAWL, "recovered": 0, "changed": [], "told": "ValueError: no", "back": 30}, "refuses"),
        ({**CRAWL, "recovered": 0, "changed": [], "told": "ValueError: no", "back": 29}, "loses"),
        ({**CRAWL, "recovered": 0, "status": None}, "does not end"),
        ({**CRAWL, "recovered": 30, "status": None}, "does not end"),
        ({"left": 15, "recovered": 10, "changed": ["callback"]}, "misreads"),
        ({"left": 15, "recovered": 10, "changed": []}, "loses"),
        ({"Fifo": {"left": 15, "recovered": 15, "told": ""}, "Lifo": {"left": 15, "recovered": 14, "told": ""}}, "loses"),
    ],
)
def test_what_became_of_what_was_stored(found, word):
    assert upgrades.outcome(found) == word


def test_all_that_is_listed_was_measured():
    assert {library: [*MEASURED[library]] for library in upgrades.TABLE} == {
        library: [*releases] for library, releases in upgrades.TABLE.items()
    }
    assert all([*row] == [*found] for found in (MEASURED[library] for library in upgrades.TABLE) for row in found.values())
    assert [{name: step[name] for name in step if name != "found"} for step in MEASURED["steps"]] == [*upgrades.STEPS]


def test_each_release_reads_what_it_wrote_itself():
    """Else the crawl that is measured is at fault, and not the upgrade."""
    own = {
        (library, one): upgrades.outcome(MEASURED[library][one][one]) for library in upgrades.TABLE for one in MEASURED[library]
    }
    assert set(own.values()) == {"all"}, own


def test_each_silent_loss_has_a_step_and_the_worst_stands_first():
    rows = [row for library in upgrades.TABLE for row in MEASURED[library].values()]
    lost = {upgrades.outcome(found) for row in rows for found in row.values()} - {"all", "refuses", "loses, told"}
    assert lost <= {*upgrades.CAUSES}
    told = upgrades.losses()
    steps = sorted(lost, key=[*upgrades.COLOURS].index, reverse=True)
    places = [told.index(upgrades.CAUSES[word][1]) for word in steps]
    assert places == sorted(places)


def test_what_is_seen_is_rewritten_forth_and_back(tmp_path):
    file, program = tmp_path / "requests.seen", DOCS / "upgrades" / "seen.py"
    old, new = "ff00\n0102030405\n", b"\0\2\xff\0\0\5\1\2\3\4\5"
    file.write_text(old)
    subprocess.run([sys.executable, program, tmp_path], check=True)
    assert file.read_bytes() == new
    subprocess.run([sys.executable, program, tmp_path, "--back"], check=True)
    assert file.read_text() == old


def test_it_is_measured_and_kept(tmp_path, monkeypatch):
    program = runpy.run_path(str(DOCS / "upgrades" / "build.py"))
    where = program["main"].__globals__
    monkeypatch.setitem(where, "MEASURED", tmp_path / "measured.json")
    monkeypatch.setitem(where, "TABLE", {"queuelib": {"1.0": "queuelib==1.0", "2.0": "queuelib==2.0"}})
    monkeypatch.setitem(where, "install", lambda given, directory: sys.executable)
    program["main"](["queuelib"])
    measured = json.loads((tmp_path / "measured.json").read_text())["queuelib"]
    assert {word for row in measured.values() for word in map(upgrades.outcome, row.values())} == {"all"}
    assert [*measured["1.0"]["2.0"]] == ["FifoDiskQueue", "LifoDiskQueue", "FifoSQLiteQueue", "LifoSQLiteQueue"]


def test_a_crawl_that_does_not_end_is_told_with_what_it_has_visited(tmp_path, monkeypatch):
    program = runpy.run_path(str(DOCS / "upgrades" / "build.py"))

    def run(command, stderr, timeout, **_):
        (tmp_path / "out.json").write_text(json.dumps({"visited": ["data:,1"], "state": 0}))
        stderr.write("2026-11-28 12:00:00 [asyncio] ERROR: no\nTraceback\nbinascii.Error: not base64\n" * 2)
        stderr.write("2026-11-28 12:00:00 [scrapy] WARNING: no\n")
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(subprocess, "run", run)
    said = {"visited": ["data:,1"], "state": 0, "finish": None, "told": "Error: not base64", "logged": 2, "status": None}
    assert program["crawl"](Path(sys.executable), tmp_path, 0, []) == said


@pytest.mark.further
@pytest.mark.parametrize("name", ["forgets.sh", "loses.sh", "misreads.sh"])
def test_a_script_prints_what_stands_at_its_end(name, tmp_path):
    file = DOCS / "upgrades" / name
    said = [line.removeprefix("# ") for line in file.read_text("utf-8").rpartition("done\n")[2].splitlines() if line[:2] == "# "]
    run = subprocess.run(["sh", file], capture_output=True, text=True, cwd=tmp_path)
    assert run.stdout.splitlines() == said
