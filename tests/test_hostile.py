"""What a hostile class does is told with its name: neither as an internal error, nor by a run that hangs."""

import re
import signal
import subprocess
import sys
from contextlib import nullcontext
from dataclasses import replace

import pytest
from kit import FIFO_MEMORY, LEAN, alone, failed_rules, further, implementation, run_script, without_crawls

from mutants import hostile_values
from queue_conformance import LoadError, examine
from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.recording import describe
from queue_conformance.engine.sources import Sources
from queue_conformance.engine.verdicts import RunVerdict
from queue_conformance.engine.violations import violation_of
from queue_conformance.processes import descendants, endings
from queue_conformance.processes.isolation import Watchdog

CHECK = "queue.pop.fifo"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ClosesDescriptors", "closed descriptors that are not its own, after which nothing works: "),
        ("RemovesDirectories", "removed directories that are not its own, after which nothing works: "),
        ("ReplacesTheClock", "replaced time.monotonic by None, after which nothing works"),
    ],
)
def test_what_leaves_nothing_in_order_cannot_be_tested(name, said):
    with pytest.raises(LoadError) as raised:
        examine(f"mutants.hostile.{name}", rules="smoke", examples=5)
    assert str(raised.value).startswith(f"mutants.hostile.{name} cannot be tested: it {said}")
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "said", "sound"),
    [
        ("RaisesWhenCompared", "raised RuntimeError('equal?') where nothing was called (", (3, 13)),
        ("LowersALimit", "lowered RLIMIT_NOFILE to 0, after which nothing works: ", (3, 12)),
    ],
)
def test_what_breaks_some_interpreters_is_told_there_and_fails_no_rule_elsewhere(name, said, sound):
    told = pytest.raises(LoadError, match=re.escape(f"mutants.hostile.{name} cannot be tested: it {said}"))
    with told if sys.version_info < sound else nullcontext():
        report = examine(f"mutants.hostile.{name}", rules="smoke", examples=5)
        assert (report.failed, report.internal_errors) == (False, ())


@pytest.mark.parametrize(
    ("name", "said"),
    [("WritesEverywhere", "wrote into"), ("ShutsDownEverything", "shut down"), *further(("WritesFromElsewhere", "wrote into"))],
)
def test_what_harms_descriptors_of_others_harms_no_verdict_and_is_noted(name, said):
    report = examine(f"mutants.hostile.{name}", rules=["smoke", "queue.len.count"], examples=5)
    (found,) = report.implementations
    assert (report.failed, report.errors, report.internal_errors) == (False, (), ())
    assert f"mutants.hostile.{name} {said} descriptors that are not its own when used once" in found.notes


@pytest.mark.parametrize("name", ["Liar", "Replaces"])
def test_what_is_right_keeps_its_rules_whatever_else_it_does(name):
    report = examine(f"mutants.hostile.{name}", rules=[CHECK, "queue.peek.equals-pop"], examples=5)
    (found,) = report.implementations
    assert not report.failed
    assert (report.errors, report.internal_errors) == ((), ())
    assert found.verdict is RunVerdict.PARTIAL


@pytest.mark.further
def test_directories_that_are_too_deep_to_look_at_are_told_or_make_no_difference():
    said = "mutants.hostile.MakesDeepDirectories cannot be tested: it made directories that are too deep to look at: "
    try:
        report = examine("mutants.hostile.MakesDeepDirectories", rules="smoke", examples=5)
        told = [*report.errors, *report.internal_errors]
    except LoadError as error:
        told = [str(error)]
    assert all(line.startswith(said) for line in told)  # releases of Python differ in what a search does there


def test_a_method_that_cannot_be_looked_at_breaks_the_interface():
    (found,) = examine("mutants.hostile.RaisesWhenLookedAt", rules="smoke", examples=5).implementations
    assert [verdict.rule.id for verdict in found.failed_rules("MUST")] == ["queue.ctor.interface"]


@pytest.mark.parametrize(
    ("name", "rules", "number"),
    [
        ("EndsItsParent", "smoke", "SIGKILL"),
        ("EndsItsParentLater", "pop.many", "SIGKILL"),
        ("EndsTheGroupOfItsParent", CHECK, "SIGTERM"),
    ],
)
def test_what_ends_its_parent_breaks_the_rule_of_the_operation(name, rules, number, tmp_path):
    report = examine(f"mutants.hostile.{name}", rules=rules, examples=5)
    (found,) = report.implementations
    assert (report.errors, report.internal_errors) == ((), ())
    (failed_rules,) = found.failed_rules("MUST")
    assert failed_rules.rule.id == ("queue.pop.exactly-once" if rules == "pop.many" else "queue.push.accept")
    assert failed_rules.violation.actual.endswith(f" ended its parent process ({number})")
    if number == "SIGKILL":  # the group is that of whoever runs the script
        assert run_script(failed_rules.violation.script, tmp_path).returncode == -signal.SIGKILL


def test_signals_without_a_name_are_noted_as_others_are():
    (found,) = examine("mutants.hostile.IgnoresSignals", rules="smoke", examples=5).implementations
    assert "mutants.hostile.IgnoresSignals replaced the handler of signal 40 when used once" in found.notes


def test_processes_that_are_left_behind_are_noted():
    (found,) = examine("mutants.hostile.LeavesProcesses", rules="smoke").implementations
    assert "it leaves processes behind, which nothing but the end of the check ends: sleep" in found.notes


@pytest.mark.further
def test_a_class_whose_processes_multiply_is_ended(tmp_path):
    (found,) = examine("mutants.hostile.WaitsForNoChild", rules="smoke").implementations
    (failed_rule,) = found.failed_rules("MUST")
    assert f"there were more than {endings.MANY} processes of the class" in failed_rule.violation.actual
    assert run_script(failed_rule.violation.script, tmp_path).returncode == 1


def test_an_operation_that_comes_back_twice_breaks_the_rule_that_it_belongs_to(monkeypatch, tmp_path):
    monkeypatch.setattr(descendants, "_LEAVE", 60.0)  # the copy may be late on a busy machine
    (found,) = examine("mutants.hostile.Forks", rules="smoke").implementations
    (failed_rules,) = found.failed_rules("MUST")
    assert "came back in two processes: it forked, and the copy returned too" in failed_rules.violation.actual
    assert run_script(failed_rules.violation.script, tmp_path).returncode == 1


@pytest.mark.parametrize("error", ["KeyboardInterrupt", "SystemExit(0)"])
def test_an_import_that_asks_to_end_is_told(tmp_path, error, monkeypatch):
    (tmp_path / "asks.py").write_text(f"raise {error}")
    script = "import sys; from queue_conformance import examine; examine(sys.argv[1])"
    ended = subprocess.run([sys.executable, "-c", script, "asks.Queue"], cwd=tmp_path, capture_output=True, text=True)
    assert f"importing asks{'.Queue' if error == 'KeyboardInterrupt' else ''} raised {error.partition('(')[0]}" in ended.stderr


# --- Values that misbehave whatever is done with them ----------------------------------------------------------------

FIRST = ("memory__pop", "bytes__peek", "bytespq__close", "pq__close", "scheduler__next_request", "dupefilter__request_seen")
FIRST += ("state__state", "async__get", "asyncscheduler__get")
"""An operation of each kind, which stands for the others."""
SLOW = ("pq__close", "async__get", "asyncscheduler__get", "dupefilter__request_seen")
"""What is left to the run of everything."""

OPERATIONS = [f"{base}__{operation}" for base, (_, names) in hostile_values.BASES.items() for operation in names]


def test_a_hostile_value_can_be_described_and_has_no_source():
    assert alone(lambda: [name for name, make in hostile_values.VALUES.items() if not is_described(make())]) == []


def is_described(value):
    """Whether a value is described as it must be; this leaves what is never awaited, or raises when it is deleted."""
    text = describe(value)
    Sources("/nowhere").of(value)
    return type(text) is str and text.isprintable() and 0 < len(text) <= 100


def equals(queue):
    with under_test("queue.pop.empty-none"):
        assert queue.pop() == b"1"


def is_among(queue):
    popped = queue.pop()
    with under_test("queue.pop.empty-none"):
        assert popped in (b"1", b"2")


def is_sorted(queue):
    with under_test("queue.pop.empty-none"):
        popped = [queue.pop(), queue.pop()]
        assert sorted(popped) == [1]


def is_hashed(queue):
    popped = queue.pop()
    with under_test("queue.pop.empty-none"):
        assert {popped: popped} == {1: 2}


def is_false(queue):
    with under_test("queue.pop.empty-none"):
        popped = queue.pop()
        assert not popped


def is_measured(queue):
    popped = queue.pop()
    with under_test("queue.pop.empty-none"):
        if len(popped) > 2:
            popped = popped[1]
        assert popped < 3, f"less than {popped}"


def is_formatted(queue):
    popped = queue.pop()
    with under_test("queue.pop.empty-none"):
        texts = [f"{popped}", popped.url.partition("/")[0], type(popped).__name__]
        assert texts == ["1"]


@pytest.mark.parametrize("looks", [equals, is_among, is_sorted, is_hashed, is_false, is_measured, is_formatted])
def test_an_exception_while_a_check_looks_at_a_value_fails_the_rule(looks, tmp_path):
    tested = implementation(FIFO_MEMORY)

    def failures():
        for name, make in hostile_values.VALUES.items():
            cls = type(name, (tested.cls,), {"pop": lambda self, make=make: make()})
            (tmp_path / name).mkdir()
            context = CheckContext(replace(tested, cls=cls), tmp_path / name, Watchdog())
            with context.collecting():
                run_case(context, "queue.pop.exactly-once", looks)
            yield from ((name, violation_of(context, failure)) for failure in context.failed.values())

    found = alone(lambda: [*failures()])
    assert len(found) > len(hostile_values.VALUES) / 2
    for name, violation in found:
        assert violation.rule == "queue.pop.empty-none", (name, violation.actual)
        assert ".pop()" in violation.script, name
        compile(violation.script, name, "exec")


def test_an_exception_of_the_kit_is_not_taken_for_one_of_a_value(tmp_path, monkeypatch):
    context = CheckContext(implementation(FIFO_MEMORY), tmp_path, Watchdog())
    monkeypatch.setattr(context.driver, "evaluate", {}.__getitem__)
    with pytest.raises(KeyError, match="Request"):
        run_case(context, "queue.pop.exactly-once", uses_a_fixture)


def uses_a_fixture(queue, item):
    queue.pop()
    queue.push(item(1, large=True))


def run_that_tells(name):
    """Run a class, which must end in a verdict, and in nothing of the kit's own."""
    report = LEAN.examine(f"mutants.hostile_values.{name}", examples=5, time_limit=2.0, meets=without_crawls)
    assert report.verdict is not None


@pytest.mark.parametrize("operation", [name for name in FIRST if name in OPERATIONS and name not in SLOW])
def test_hostile_results_of_an_operation_are_no_internal_errors(operation):
    run_that_tells(f"{operation}__Each")


def test_an_answer_without_a_truth_fails_its_rule():
    path = "mutants.hostile_values.scheduler__has_pending_requests__HugeLength"  # it is the interpreter itself that raises
    failed = failed_rules(LEAN.examine(path, only="scheduler.pending.exact"))
    assert failed
    assert failed <= {"scheduler.pending.exact", "scheduler.pending.pure"}


@pytest.mark.further
@pytest.mark.parametrize("value", ["Each", *hostile_values.VALUES])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_no_hostile_result_of_any_operation_is_an_internal_error(operation, value):
    run_that_tells(f"{operation}__{value}")
