"""What released classes cost as they grow is measured by ``make growth``, and its page shows that."""

import json
import runpy

from pages import DOCS
from parts import growth

from queue_conformance.measuring import page
from queue_conformance.measuring.step import Cost, Measured


def test_what_is_kept_is_of_groups_and_classes_that_are_measured():
    kept = {file.stem for file in growth.ORIGIN.parent.glob("*.jsonl")}
    assert kept == set(growth.GROUPS)
    for name, group in growth.GROUPS.items():
        assert {one.name for one in growth.measured(name)} == {*group["classes"]}
        assert all(path in (DOCS / "_static" / f"growth-{name}.svg").read_text("utf-8") for path in group["classes"])


def test_each_script_shows_what_a_group_has_found():
    shown = [script for name in growth.GROUPS for script in growth.scripts_of(name)]
    assert sorted(shown) == sorted((growth.HERE / "scripts").iterdir())
    for name in growth.GROUPS:
        found = [line for line in growth.tables().split("## ") if line.startswith(growth.GROUPS[name]["title"])]
        assert ("Nothing grows." in found[0]) != bool(growth.scripts_of(name))


def test_a_group_is_measured_into_lines_and_a_page(monkeypatch, tmp_path, capfd):
    tiny = {"title": "Tiny", "classes": ["queue_reference.memory.FifoMemoryQueue"], "options": ["--up-to=10", "--time=10m"]}
    monkeypatch.setattr(growth, "GROUPS", {"tiny": tiny})
    monkeypatch.setattr(growth, "HERE", tmp_path)
    monkeypatch.setattr(growth, "ORIGIN", tmp_path / "measured" / "origin.json")
    program = runpy.run_path(str(DOCS / "growth" / "build.py"))
    program["main"].__globals__["DRAWINGS"] = tmp_path
    assert program["main"](["tini"]) == 2
    assert capfd.readouterr().err == "there is no group 'tini'; did you mean 'tiny'?\n"
    assert program["main"]([]) == 0
    (one,) = growth.measured("tiny")
    assert (one.name, one.size) == ("queue_reference.memory.FifoMemoryQueue", 10)
    assert "FifoMemoryQueue" in (tmp_path / "growth-tiny.svg").read_text("utf-8")
    assert {*json.loads(growth.ORIGIN.read_text("utf-8"))} == {"date", "releases", "python", "processors"}
    assert "## Tiny" in growth.tables()
    assert "| `queue_reference.memory.FifoMemoryQueue` pop |" in growth.tables()


def test_a_page_counts_in_english():
    costs = {"push": Cost(1e-6, 1e-6, 1e-6, 1.0, 205.0, commands=1.04), "pop": Cost(1e-6, 1e-6, 1e-6, 2.0, 9.0, commands=0.5)}
    text = page.render([Measured("a.B", "stored", 10, costs)], [])
    assert "1 write, 205 B, 1 command<" in text
    assert "2 writes, 9 B, 0.5 commands<" in text
