"""The entrance for programs."""

import io
import os
import re
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from kit import (
    FIFO_BYTES,
    FIFO_DISK,
    FIFO_MEMORY,
    PRIORITY,
    RELEASES,
    REQUEST_PRIORITY,
    STATE,
    Terminal,
    downloads,
    failed_rules,
    further,
    run_script,
)

from mutants import controls
from mutants.memory import ClosesOnce, PeeksAtTheNewest
from queue_conformance import LoadError, UsageError, examine
from queue_conformance.config.options import MEASURE_OPTION, OF_A_CAMPAIGN, OPTIONS
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.reports import jsonl
from queue_conformance.specification import Level
from queue_reference.bytequeues import FifoByteQueue
from queue_reference.disk import FifoDiskQueue
from queue_reference.memory import FifoMemoryQueue

QUICK = {"rules": ["queue.peek.*", "queue.pop.empty-none"], "examples": 5}


@pytest.fixture(scope="module")
def report(once):
    return once("tested", lambda: examine(PeeksAtTheNewest, FIFO_MEMORY, **QUICK))


def script_of(report, rule="queue.peek.equals-pop"):
    (found,) = report.implementations
    (script,) = [verdict.violation.script for verdict in found.verdicts if verdict.rule.id == rule]
    return script


# --- The progress --------------------------------------------------------------------------------------------------------


def test_a_function_is_told_of_each_check_before_it_begins(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    told = []
    report = examine(FifoMemoryQueue, rules="queue.pop.*", examples=5, progress=lambda *step: told.append(step))
    checks = {check.name for check in report.implementations[0].checks}
    assert {name for name, *_ in told} == {FIFO_MEMORY}
    assert {check for _, check, *_ in told} <= checks
    assert [step[2:] for step in told] == [(done, len(told)) for done in range(len(told))]
    assert sys.stderr.getvalue() == ""


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_a_terminal_shows_a_line_that_does_not_stay(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream())
    examine(FifoMemoryQueue, rules="queue.pop.*", examples=5)
    shown = sys.stderr.getvalue()
    assert shown.endswith("\r\x1b[K") == (stream is Terminal)
    assert (": queue.pop." in shown) == (stream is Terminal)
    assert "\n" not in shown


# --- The report ------------------------------------------------------------------------------------------------------


def test_classes_and_paths_are_tested_in_turn(report):
    assert [found.name for found in report.implementations] == ["mutants.memory.PeeksAtTheNewest", FIFO_MEMORY]
    assert [found.verdict for found in report.implementations] == [RunVerdict.NON_CONFORMANT, RunVerdict.PARTIAL]
    assert failed_rules(report.implementations[0]) == {"queue.peek.equals-pop"}
    assert report.failed
    assert report.origin.examples == 5
    assert report.origin.releases == RELEASES


def test_the_text_of_a_report_is_what_a_terminal_shows(report):
    assert "  FAILED        MUST   queue.peek.equals-pop" in str(report)
    assert str(report).split()[-3:] == ["0", "0", FIFO_MEMORY]
    last = " ".join(str(report).rpartition("verdict: ")[2].partition("\n\n")[0].split())
    why = r"no MUST rule failed, but not all could be tested; FIFO, peek; \d+ of \d+ MUST rules apply"
    assert re.fullmatch(rf"PARTIAL \({why}\)", last)


@pytest.mark.parametrize(("columns", "width"), [("90", 90), (None, 80)])
def test_the_text_of_a_report_is_as_wide_as_the_terminal_or_80_columns(report, monkeypatch, columns, width):
    def no_terminal(number):
        raise OSError(number)

    monkeypatch.setattr(os, "get_terminal_size", no_terminal)
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns:
        monkeypatch.setenv("COLUMNS", columns)
    assert width - 10 < max(map(len, str(report).splitlines())) <= width


def test_a_report_is_written_by_the_ending_of_a_name(report, tmp_path):
    report.write(tmp_path / "report.jsonl")
    report.write(str(tmp_path / "again.jsonl"))
    assert str(jsonl.read(tmp_path / "report.jsonl")) == str(jsonl.read(tmp_path / "again.jsonl")) == str(report)
    with pytest.raises(ValueError, match="write the name of a file that ends in "):
        report.write(tmp_path / "report.txt")


def test_only_the_rules_that_are_named_are_tested(report):
    verdicts = {verdict.rule.id: verdict for verdict in report.implementations[1].verdicts}
    assert verdicts["queue.peek.equals-pop"].verdict is verdicts["queue.pop.empty-none"].verdict is Verdict.PASSED
    assert verdicts["queue.close.twice"].reason == "its check was not run"


def test_nothing_is_left_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("queue_conformance.frontends.scratch._root", lambda: str(tmp_path))
    examine(FifoMemoryQueue, rules="smoke")
    with pytest.raises(LoadError):
        examine("queue_reference.memory.Nothing")
    assert list(tmp_path.iterdir()) == []


# --- Arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("claims", [{"order": "LIFO", "peek": True}, ["order=LIFO", "peek"]])
def test_claims_are_a_mapping_or_texts(claims):
    (found,) = examine(FifoMemoryQueue, claims=claims, rules="queue.pop.lifo", examples=5).implementations
    assert found.claims == {"order": "LIFO", "peek": "yes"}
    assert failed_rules(found) == {"queue.pop.lifo"}


def test_one_class_may_have_a_name():
    (found,) = examine(FifoMemoryQueue, name="mine", rules="smoke").implementations
    assert (found.name, found.path) == ("mine", FIFO_MEMORY)


def test_the_level_decides_what_fails():
    assert not examine(ClosesOnce, rules="queue.close.twice").failed
    assert examine(ClosesOnce, rules="queue.close.twice", level="should").failed


def test_settings_are_arguments_of_the_constructor_where_there_is_no_crawler():
    found = examine("queuelib.queue.FifoDiskQueue", settings={"chunksize": 3}, rules="smoke").implementations[0]
    assert found.settings == {"chunksize": 3}


def test_rules_are_chosen_by_what_they_begin_with():
    begun, drawn = (examine(FifoMemoryQueue, rules=rules, examples=5) for rules in ("queue.pop", "queue.pop.*"))
    assert [one.name for one in begun.implementations[0].checks] == [one.name for one in drawn.implementations[0].checks]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed: write a whole number, 0 or more, not -1"),
        ({"examples": 0}, "examples: write a whole number, 1 or more, not 0"),
        ({"time_limit": "long"}, "time_limit: write a number of seconds above 0, not 'long'"),
        ({"level": "MAY"}, "level: write MUST or SHOULD, not 'MAY'"),
        ({"claims": "fast"}, "claims: unknown claim 'fast'"),
        ({"claims": 5}, "claims: write a list, not 5"),
        ({"claims": ["order=FIFO", "order=lifo"]}, "claims: order=FIFO and order=LIFO contradict each other; drop one of them"),
        ({"claims": ["peek", "peek=false"]}, "claims: peek=yes and peek=no contradict each other; drop one of them"),
        (
            {"claims": ["profile=scrapy"], "profile": "external-queue"},
            "profile: profile=scrapy and profile=external-queue contradict each other; drop one of them",
        ),
        ({"in_process": "false"}, "in_process: write true or false, and no other value, not 'false'"),
        ({"server": False}, "server: write a value, not False"),
        ({"settings": {"A": [b"a"]}}, "settings: write text, a number, or a list or a table of these for A, not "),
        ({"settings": {"A": None}}, "settings: write text, a number, a list or a table for A, not {'A': None}"),
        ({"settings": ["A"]}, "settings: write NAME=VALUE, not 'A'"),
        (
            {"server": "mysql"},
            "server: write redis, redis-server, fakeredis, postgresql, or HOST:PORT of a running server, not 'mysql'",
        ),
        ({"profile": "fast"}, "profile: the claim 'profile' cannot be 'fast'"),
        ({"kind": "stack"}, "kind: the claim 'kind' cannot be 'stack'"),
        ({"progress": 5}, "progress: write a function of two names and two numbers, not 5"),
        ({"name": 5}, "name: write text, not 5"),
        ({"baseline": ""}, "baseline: write the name of a file, not ''"),
        ({"baseline": "/"}, "baseline: write the name of a file, and not of the directory '/'"),
        ({"open_queue": 5}, "open_queue: write a function that builds a queue, not 5"),
        (
            {"rules": "queue.pop.fif"},
            "rules: a downstream queue has none that is called 'queue.pop.fif'; did you mean 'queue.pop.fifo'?",
        ),
        ({"rules": "queue.pop.fifo queue.pop.lifo"}, "rules: a downstream queue has none that is called "),
    ],
)
def test_a_wrong_argument_is_explained(arguments, message):
    with pytest.raises(UsageError) as caught:
        examine(FifoMemoryQueue, **arguments)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([], "name a class to test: examine(MyQueue)"),
        ([FifoMemoryQueue()], "name classes, or their dotted paths, not <"),
        ([FifoMemoryQueue, FIFO_MEMORY], "each class must have a name of its own, not "),
    ],
)
def test_wrong_classes_are_explained(classes, message):
    with pytest.raises(UsageError) as caught:
        examine(*classes)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("cls", "arguments", "message"),
    [
        ("queue_reference.memory.FifoMemoryQeue", {}, "queue_reference.memory has no class 'FifoMemoryQeue'; did you mean"),
        (int, {}, "builtins.int is no queue: it has no push and no pop"),
        (FifoMemoryQueue, {"settings": {"MINE": 1}}, "the setting MINE: Scrapy has no such setting, and "),
        ("queuelib.queue.FifoDiskQueue", {"settings": {"chunksise": 1}}, "the setting chunksise: the constructor of queuelib."),
    ],
)
def test_a_class_that_cannot_be_tested_is_explained(cls, arguments, message):
    with pytest.raises(LoadError) as caught:
        examine(cls, **arguments)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_a_baseline_knows_what_is_broken(tmp_path):
    baseline = tmp_path / "known.toml"
    entry = 'implementation = "mutants.memory.PeeksAtTheNewest"\nrule = "queue.peek.equals-pop"\nreason = "as in the museum"\n'
    baseline.write_text(f"[[known]]\n{entry}", "utf-8")
    report = examine(PeeksAtTheNewest, baseline=baseline, **QUICK)
    (verdict,) = report.implementations[0].failed_rules(Level.MUST)
    assert verdict.known == "as in the museum"
    assert not report.failed
    with pytest.raises(UsageError, match=r"^baseline: .*nowhere\.toml"):
        examine(PeeksAtTheNewest, baseline=tmp_path / "nowhere.toml")


def test_every_option_that_describes_a_run_has_an_argument():
    described = {"queue-setting": "settings", "queue-server": "server", "conformance-claim": "claims"}
    elsewhere = {"conformance", "conformance-crawl", "conformance-only", "conformance-report", "conformance-update-baseline"}
    pytests = {"conformance-database", *OF_A_CAMPAIGN}
    names = {option.name for option in OPTIONS if not option.name.endswith("-class")} - elsewhere - pytests
    names -= {name for name in names if name.startswith(MEASURE_OPTION)}
    expected = {described.get(name) or name.removeprefix("conformance-").replace("-", "_") for name in names}
    assert expected <= examine.__kwdefaults__.keys()


# --- Functions that build --------------------------------------------------------------------------------------------


class Odd(FifoMemoryQueue):
    """Scrapy could not build this one."""

    from_crawler = None

    def __init__(self, size, name):
        super().__init__()


class OddPeek(Odd):
    def peek(self):
        return None


class OddBytes(FifoByteQueue):
    def __init__(self, options):
        super().__init__(options["path"])


SIZE = 3


def open_odd(cls, key):
    return cls(SIZE, key)


def test_a_function_builds_what_scrapy_could_not(tmp_path):
    report = examine(OddPeek, kind="downstream-queue", open_queue=open_odd, rules="queue.peek.equals-pop", examples=5)
    assert failed_rules(report.implementations[0]) == {"queue.peek.equals-pop"}
    script = script_of(report)
    assert "SIZE = 3\n" in script
    assert "queue = open_odd(cls=OddPeek, key=directory" in script
    result = run_script(script, tmp_path)
    assert result.stderr.splitlines()[-1].startswith("AssertionError")


def test_what_such_a_function_builds_keeps_the_rules():
    report = examine(Odd, kind="downstream-queue", open_queue=lambda key: Odd(1, key), **QUICK)
    assert report.implementations[0].verdict is RunVerdict.PARTIAL
    assert not failed_rules(report.implementations[0])


def test_a_function_builds_byte_queues():
    def open_queue(key, chunksize=None):
        return OddBytes({"path": key})

    rules = ["smoke", "queue.persist.reopen", "queuelib.pathlike", "queue.pop.fifo"]
    (found,) = examine(OddBytes, open_queue=open_queue, rules=rules, examples=5).implementations
    passed = {verdict.rule.id for verdict in found.verdicts if verdict.verdict is Verdict.PASSED}
    assert {"queuelib.ctor", *rules[1:]} <= passed


@pytest.mark.parametrize("asynchronous", [True, *further(False)])
def test_a_function_builds_asynchronous_queues(asynchronous):
    pytest.importorskip("qcrawl")
    from queue_reference.async_queues import MemoryQueue

    class OddAsync(MemoryQueue):
        def __init__(self, options):
            super().__init__(**options)

    def build(maxsize=0):
        return OddAsync({"maxsize": maxsize})

    async def build_later(maxsize=0):
        return build(maxsize)

    rules = ["smoke", "aqueue.ctor.*", "aqueue.put.*", "aqueue.bound.*"]
    how = {"open_queue": build_later if asynchronous else build, "rules": rules, "examples": 5}
    (found,) = examine(OddAsync, **how).implementations
    verdicts = {verdict.rule.id: verdict for verdict in found.verdicts}
    assert not failed_rules(found)
    assert verdicts["aqueue.ctor.shipped-config"].reason.startswith("the author's function builds the queue")
    assert verdicts["aqueue.bound.limit"].verdict is Verdict.PASSED


@pytest.mark.parametrize(
    ("cls", "open_queue", "message"),
    [
        (FifoMemoryQueue, lambda: None, "the function that opens the queue returned None, and not a FifoMemoryQueue"),
        (FifoMemoryQueue, lambda path: None, "the function that opens the queue takes cls, crawler, key, those that it needs"),
        (REQUEST_PRIORITY, lambda: None, f"{REQUEST_PRIORITY}: no function of an author's builds a priority queue: "),
        (PRIORITY, lambda: None, f"{PRIORITY}: no function of an author's builds a byte priority queue: "),
        (STATE, lambda: None, f"{STATE}: no function of an author's builds a spider state: "),
        (FIFO_BYTES, lambda: None, "the function that opens the queue returned None, and not a FifoByteQueue"),
    ],
)
def test_a_function_that_cannot_build_is_explained(cls, open_queue, message):
    with pytest.raises(LoadError) as caught:
        examine(cls, open_queue=open_queue)
    assert str(caught.value).startswith(message)


# --- Classes that scripts cannot import ------------------------------------------------------------------------------


def make(limit):
    class Limited(FifoMemoryQueue):
        def peek(self):
            return None if limit else super().peek()

    return Limited


def test_the_script_of_a_class_inside_a_function_quotes_it(tmp_path):
    class Quoted(FifoMemoryQueue):
        def peek(self):
            return None

    report = examine(Quoted, **QUICK)
    assert report.implementations[0].path.endswith("test_the_script_of_a_class_inside_a_function_quotes_it.<locals>.Quoted")
    result = run_script(script_of(report), tmp_path)
    assert result.stderr.splitlines()[-1].startswith("AssertionError")


@pytest.mark.further
def test_a_script_says_what_nobody_can_quote():
    assert "# limit belongs to what is around test_examine.make.<locals>.Limited: set it here." in script_of(
        examine(make(1), **QUICK)
    )
    made = type("Made", (make(1),), {})
    assert "# test_examine.Made cannot be imported, and its source cannot be quoted: define Made here." in script_of(
        examine(made, **QUICK)
    )


@pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download")
@pytest.mark.parametrize(
    ("cls", "given", "reason"),
    [
        (
            controls.made(FifoDiskQueue),
            {},
            "no setting of Scrapy can name the class, which cannot be imported: give it by its dot",
        ),
        (
            FifoDiskQueue,
            {"prepare_spider": partial(print, end="")},
            "no setting of Scrapy can name the function that prepares spi",
        ),
    ],
)
def test_what_no_other_process_can_import_is_not_covered(cls, given, reason):
    (found,) = examine(cls, rules="e2e.all-once", crawls=1, **given).implementations
    (verdict,) = [verdict for verdict in found.verdicts if verdict.rule.id == "e2e.all-once"]
    assert verdict.verdict is Verdict.NOT_COVERED
    assert verdict.reason.startswith(reason)


def test_a_class_in_settings_must_have_a_path_that_leads_to_it():
    local = controls.made(FifoDiskQueue)
    with pytest.raises(UsageError, match=r"^settings: write the dotted path of a class that can be imported for"):
        examine(FIFO_MEMORY, settings={"QUEUE": local})


def opening_beside(suffix):
    def open_queue(cls, crawler, key):
        return cls.from_crawler(crawler, f"{key}{suffix}")

    return open_queue


def test_what_nobody_can_quote_breaks_nothing_in_another_process():
    report = examine(FIFO_DISK, open_queue=opening_beside("-q"), rules="queue.persist.new-process")
    verdicts = {verdict.rule.id: verdict for verdict in report.implementations[0].verdicts}
    assert verdicts["queue.persist.new-process"].verdict is Verdict.NOT_COVERED
    assert verdicts["queue.persist.new-process"].reason == "another process cannot import suffix"


def test_two_classes_of_one_path_are_told_apart():
    assert examine(make(1), **QUICK).failed
    assert not examine(make(0), **QUICK).failed


PROGRAM = '''
from __future__ import annotations

import typing

from queue_conformance import examine
from queue_reference.memory import FifoMemoryQueue as Base

NOTHING: typing.Any = None


class Mixin:
    def peek(self) -> typing.Any:
        return NOTHING


class Queue(Mixin, Base):
    """Of a program."""


if __name__ == "__main__":
    (found,) = examine(Queue, rules="queue.peek.equals-pop", examples=5).implementations
    print(next(verdict.violation.script for verdict in found.verdicts if verdict.violation))
'''


def test_a_program_tests_its_own_class(tmp_path):
    result = run_script(PROGRAM, tmp_path)
    assert result.returncode == 0, result.stderr
    assert "examine" not in result.stdout
    again = run_script(result.stdout, tmp_path)
    assert again.stderr.splitlines()[-1].startswith("AssertionError")


TALKATIVE = """
import logging

from queue_conformance import examine
from queue_reference.memory import FifoMemoryQueue


class Queue(FifoMemoryQueue):
    def push(self, request):
        print("printed")
        logging.getLogger(__name__).error("logged")
        super().push(request)


if __name__ == "__main__":
    print(examine(Queue, rules="queue.pop.*", examples=3, jobs=JOBS).implementations[0].verdict)
"""


@pytest.mark.parametrize("jobs", [2, *further(1)])
def test_what_a_class_prints_and_logs_is_not_shown(tmp_path, jobs):
    result = run_script(TALKATIVE.replace("JOBS", str(jobs)), tmp_path)
    assert (result.stdout, result.stderr) == ("PARTIAL\n", "")


# --- The package -----------------------------------------------------------------------------------------------------


def test_importing_the_package_stays_cheap():
    code = "import queue_conformance, sys; assert not {'pytest', 'scrapy', 'hypothesis', 'tomllib'} & sys.modules.keys(), 1"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_can_be_imported():
    import queue_conformance

    assert sorted(queue_conformance.__all__) == [name for name in dir(queue_conformance) if name in queue_conformance.__all__]
    for name in queue_conformance.__all__:
        assert getattr(queue_conformance, name).__doc__, name
    with pytest.raises(AttributeError, match="has no attribute 'exmine'"):
        _ = queue_conformance.exmine


def test_type_checkers_know_every_public_name():
    import queue_conformance

    source = Path(queue_conformance.__file__).read_text()
    for name in set(queue_conformance.__all__) - {"SerializationError", "TransientError"}:
        assert f" as {name}\n" in source


class Uncommitted:
    """Stores in a database, and never commits."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.execute("CREATE TABLE IF NOT EXISTS queue (id INTEGER PRIMARY KEY, item BLOB)")

    def push(self, item):
        self.connection.execute("INSERT INTO queue (item) VALUES (?)", (item,))

    def peek(self):
        row = self.connection.execute("SELECT item FROM queue ORDER BY id LIMIT 1").fetchone()
        return row and row[0]

    def pop(self):
        item = self.peek()
        self.connection.execute("DELETE FROM queue WHERE id = (SELECT min(id) FROM queue)")
        return item

    def close(self):
        self.connection.close()

    def __len__(self):
        return self.connection.execute("SELECT count(*) FROM queue").fetchone()[0]


HELD = "held to persistent, which did not show: it writes files below its key"


@pytest.mark.parametrize(("claims", "held"), [([], True), (["persistent=no"], False), *further((["persistent"], True))])
def test_a_queue_that_writes_files_and_forgets_is_held_to_persistence(claims, held):
    (found,) = examine(Uncommitted, claims=claims, rules=["claims.true", "queue.persist.reopen"]).implementations
    assert any(note.startswith(HELD) for note in found.notes) == held
    assert ("queue.persist.reopen" in [v.rule.id for v in found.failed_rules("MUST")]) == held


@pytest.mark.parametrize("cls", [FIFO_MEMORY, FIFO_DISK])
def test_a_queue_in_memory_or_one_that_keeps_is_not(cls):
    (found,) = examine(cls, rules=["claims.true"]).implementations
    assert not any(note.startswith(HELD) for note in found.notes)
