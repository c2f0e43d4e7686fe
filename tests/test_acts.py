"""Whatever a class does to what is around it, the run ends, blames what is at fault, and each form of the report stays whole."""

import json
import locale
import os
import re
import resource
import signal
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import ModuleType

import pytest
from kit import further

import mutants
from mutants import acts
from queue_conformance import LoadError, examine
from queue_conformance.reports import files, jsonl, terminal
from queue_conformance.running import faults
from queue_conformance.specification import Level

RULES = ["smoke", "queue.pop.fifo"]

SAMPLE = (
    "build__says_escapes",
    "push__kills_itself",
    "push__limits_files",
    "push__forgets_modules",
    "push__is_of_all_classes",
    "push__forgets_the_environment",
    "push__hangs_when_deleted",
    "init__audits",
    "init__alarms",
    "len__asks",
    "pop__raises_what_has_no_attributes",
    "push__says_half_characters",
    "push__says_escapes",
    "push__says_workflow_commands",
    "close__hangs_at_the_end",
    "push__becomes_nobody",
    "push__opens_no_descriptors",
    "push__makes_no_requests",
    "init__makes_no_requests",
    "push__suppresses_nothing",
    "push__looks_into_nothing",
    "len__has_no_modules",
    "import__exits_at_once",
    "import__forks_nothing",
    "import__says_escapes",
    "import__says_much",
    "import__connects_nothing",
    "import__unpickles_nothing",
    "import__closes_its_event_loop",
    "import__raises_what_has_the_text_of_none",
)
"""Acts for which the others stand."""

ALL = [f"{moment}__{act}" for moment in (*acts.MOMENTS, "import") for act in acts.ACTS]

ENDS = re.compile(
    "raises(?!_when_collected|_when_deleted|_at_the_end)|says(?!_another)|exits(?!_at_the_end)|.*_itself|crashes|aborts|recurses$"
    "|traces$|profiles|audits|limits_recursion|measures_nothing|asks$|hangs_when_deleted|warns_of_errors|logs_to_what_raises"
)
"""The names of acts by which an operation does not do what it should."""


EITHER = re.compile("alarms$|ends_later|has_no_builtins|forks_only_to")
"""Those of acts by which it may do so or not, as they happen to come at another moment."""


def around():
    """Return what of this process no class may change."""
    mask = os.umask(0)
    os.umask(mask)
    handlers = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD, signal.SIGALRM)]
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    return os.getcwd(), mask, handlers, limits, locale.setlocale(locale.LC_ALL), dict(os.environ)


def class_of(name, directory, monkeypatch):
    """Return the path of a class that does this."""
    moment, _, act = name.partition("__")
    if moment != "import":
        return f"mutants.acts.{name}"
    module = f"imported_{act}"
    monkeypatch.setattr(mutants, "__path__", [*mutants.__path__, str(directory)])
    (directory / f"{module}.py").write_text(
        f"from mutants.acts import ACTS\nfrom queue_reference.memory import FifoMemoryQueue as Queue\nACTS[{act!r}]()\n"
    )
    return f"mutants.{module}.Queue"


def test_there_are_enough_acts_and_the_sample_is_of_them():
    assert len(acts.ACTS) >= 120
    assert set(SAMPLE) <= set(ALL)


@pytest.mark.parametrize("name", [*SAMPLE, *further(*(name for name in ALL if name not in SAMPLE))])
def test_what_a_class_does_is_told_and_does_no_harm(name, tmp_path, monkeypatch):
    path, before = class_of(name, tmp_path, monkeypatch), around()
    report, line = None, ""
    try:
        report = examine(path, rules=RULES, examples=5, time_limit=2.0)
    except LoadError as error:
        line = str(error)
    assert around() == before
    if report is None:  # it cannot be tested
        assert path.rpartition(".")[0] in line
        assert line.isprintable()
        assert len(line) < 1000
        return
    assert report.internal_errors == ()
    (found,) = report.implementations
    must = [verdict.rule.id for verdict in found.failed_rules(Level.MUST)]
    if not (report.errors or EITHER.match(name.partition("__")[2])):  # else it cannot be tested any further
        assert bool(must) == bool(ENDS.match(name.partition("__")[2])), must
    expect_whole(report)


@pytest.mark.parametrize("act", ["kills_nothing", "never_exits"])
def test_nothing_goes_on_in_the_process_that_imports_a_class(act, tmp_path, monkeypatch):
    path = class_of(f"import__{act}", tmp_path, monkeypatch)
    try:
        examine(path, rules=RULES, examples=5)
    finally:
        with (tmp_path / "came").open("a") as file:
            print(os.getpid(), file=file)
    assert (tmp_path / "came").read_text().split() == [str(os.getpid())]


def expect_whole(report):
    """Expect that each form of a report can be read, and shows what was said without doing what it asks for."""
    texts = {ending: files.render(report, Path(f"report{ending}")) for ending in files.RENDERERS}
    assert jsonl.render(jsonl.parse(texts[".jsonl"])) == texts[".jsonl"]
    ET.fromstring(texts[".xml"])
    ET.fromstring(texts[".svg"])
    json.loads(texts[".json"])
    assert acts.SCRIPT not in texts[".html"]
    shown = [line.text for line in terminal.render(report, 100, 2)]
    assert all(line.isprintable() for line in shown)
    for text in ("\n".join(shown), texts[".md"]):
        assert not re.search(r"^\s*(::|##vso)", text, re.MULTILINE)
    assert all(len(text) < 1_000_000 for text in texts.values())


def test_modules_are_remembered_as_they_come_and_go(monkeypatch):
    remembered = faults._Before
    monkeypatch.setattr(remembered, "modules", {})
    monkeypatch.setitem(sys.modules, "_first", first := ModuleType("_first"))
    faults.remember_modules()
    assert remembered.modules == sys.modules
    for name in ("_second", "_third"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    faults.remember_modules()
    assert remembered.modules == sys.modules
    del sys.modules["_first"]
    monkeypatch.setitem(sys.modules, "_fourth", ModuleType("_fourth"))
    monkeypatch.setitem(sys.modules, "_fifth", ModuleType("_fifth"))
    faults.remember_modules()
    assert remembered.modules == sys.modules
    assert first not in remembered.modules.values()
    del sys.modules["_second"]
    faults.remember_modules()
    assert remembered.modules == sys.modules
    del sys.modules["_third"]
    monkeypatch.setitem(sys.modules, "_sixth", ModuleType("_sixth"))
    faults.remember_modules()
    assert remembered.modules == sys.modules
