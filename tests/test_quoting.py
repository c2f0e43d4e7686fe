"""Scripts quote what they cannot import: classes inside functions, and the author's functions that build queues."""

import importlib
import json

import pytest
from kit import REQUEST_PRIORITY, further, run_script

from mutants import QCRAWL, all_mutants
from queue_conformance import examine
from queue_conformance.engine.quoting import quote

MUTANTS = {mutant.path: mutant for mutant in all_mutants()}
SLOW = ("mutants.states.WritesJSON", "mutants.dupefilters.OpensLaterAndForgets")
QUOTED = [
    "mutants.bytequeues.EncodesText",
    "mutants.collections.PeeksAtTheLast",
    "mutants.memory.ClaimsClear",
    "mutants.pqueues.PeeksBeforePop",
    "mutants.schedulers.CannotBeAsked",
    *(["mutants.async_disk.ForgetsHeaders", "mutants.async_accounting.EndsWithTheQueue"] if QCRAWL else []),
]


@pytest.mark.parametrize("path", [*QUOTED, *further(*SLOW)])
def test_a_quoted_class_of_any_kind_shows_its_failure(path, monkeypatch, tmp_path):
    monkeypatch.setattr("queue_conformance.discovery.record.is_importable", lambda path, cls: False)
    mutant, (module, _, name) = MUTANTS[path], path.rpartition(".")
    cls = getattr(importlib.import_module(module), name)
    report = examine(cls, claims=mutant.claims, settings=mutant.settings, examples=20, rules=sorted(mutant.fails))
    (script,) = [verdict.violation.script for verdict in report.implementations[0].verdicts if verdict.violation]
    assert f"\nclass {name}(" in script
    assert f" import {name}\n" not in script
    result = run_script(script, tmp_path)
    assert result.returncode
    assert "NameError" not in result.stderr


LIMIT = len(json.dumps([]))


def helper():
    return helper if LIMIT else unknown  # noqa: F821


def test_only_what_is_used_is_quoted():
    found = quote(helper, "helper")
    text = "\n".join(found.lines)
    assert found.imports == ("import json",)
    assert "LIMIT = len(json.dumps([]))" in text
    assert "MUTANTS" not in text
    assert "# unknown belongs to what is around test_quoting.helper: set it here." in text


def test_what_has_no_source_is_asked_for():
    found = quote(len, "len")
    assert found.lines[0] == "# builtins.len cannot be imported, and its source cannot be quoted: define len here."


# --- The hook --------------------------------------------------------------------------------------------------------

CONFTEST = """
from __future__ import annotations

import os.path

KEY = "path"


def pytest_open_queue(cls: type, key: str):
    return cls({KEY: os.path.normpath(key)}) if hasattr(cls, "odd") else None
"""
ODD = """
from queue_reference.bytequeues import FifoByteQueue

class OddBytes(FifoByteQueue):
    odd = True
    def __init__(self, options):
        super().__init__(options["path"])
    def peek(self):
        return b"nothing"
"""


@pytest.fixture
def run(pytester):
    pytester.makepyfile(odd=ODD)
    pytester.makeconftest(CONFTEST)
    return lambda *arguments: pytester.runpytest_subprocess(
        "--conformance-examples=5", "--conformance-report=r.jsonl", *arguments
    )


def test_the_hook_builds_byte_queues_and_its_script_does_too(run, pytester, tmp_path):
    run("--queue-class=odd.OddBytes", "-k", "queue.peek.equals-pop")
    records = map(json.loads, (pytester.path / "r.jsonl").read_text().splitlines())
    (script,) = [record["script"] for record in records if record.get("rule") == "queue.peek.equals-pop"]
    assert "queue = pytest_open_queue(cls=OddBytes, key=directory + '/0')" in script
    (tmp_path / "odd.py").write_text(ODD)
    result = run_script(script, tmp_path)
    assert result.stderr.splitlines()[-1].startswith("AssertionError: pop and peek differ")


def test_the_hook_leaves_a_class_with_its_settings_to_the_kit(run):
    result = run("--queue-class=queuelib.queue.FifoDiskQueue", "--queue-setting=chunksize=5", "-k", "queue.pop.fifo")
    assert result.ret == 0


@pytest.mark.usefixtures("wide_terminal")
def test_a_setting_that_the_hook_does_not_take_is_explained(run):
    result = run("--queue-class=odd.OddBytes", "--queue-setting=chunksize=5")
    result.stdout.fnmatch_lines(["*the setting chunksize: the function that opens the queue has no such argument*"])


def test_where_the_hook_is_not_called_the_report_says_so(run):
    result = run(f"--priority-queue-class={REQUEST_PRIORITY}", "-k", "smoke", "-v")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  note: pytest_open_queue is not called: no function of an author's builds a*"])
