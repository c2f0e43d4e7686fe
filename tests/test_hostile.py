"""What a hostile class does is told with its name: neither as an internal error, nor by a run that hangs."""

import signal
import subprocess
import sys

import pytest
from kit import run_script

from queue_conformance import LoadError, descendants, examine
from queue_conformance.verdicts import RunVerdict

CHECK = "queue.pop.fifo"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("RaisesWhenCompared", "raised RuntimeError('equal?') where nothing was called ("),
        ("ClosesDescriptors", "closed descriptors that are not its own, after which nothing works: "),
        ("LowersALimit", "lowered RLIMIT_NOFILE to 0, after which nothing works: "),
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
    ("name", "said"),
    [("WritesEverywhere", "wrote into"), ("ShutsDownEverything", "shut down"), ("WritesFromElsewhere", "wrote into")],
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
    ("name", "rules", "number"), [("EndsItsParent", "smoke", "SIGKILL"), ("EndsTheGroupOfItsParent", CHECK, "SIGTERM")]
)
def test_what_ends_its_parent_breaks_the_rule_of_the_operation(name, rules, number, tmp_path):
    report = examine(f"mutants.hostile.{name}", rules=rules, examples=5)
    (found,) = report.implementations
    assert (report.errors, report.internal_errors) == ((), ())
    (failed_rules,) = found.failed_rules("MUST")
    assert failed_rules.rule.id == "queue.push.accept"
    assert failed_rules.violation.actual.endswith(f" ended its parent process ({number})")
    if number == "SIGKILL":  # the group is that of whoever runs the script
        assert run_script(failed_rules.violation.script, tmp_path).returncode == -signal.SIGKILL


def test_signals_without_a_name_are_noted_as_others_are():
    (found,) = examine("mutants.hostile.IgnoresSignals", rules="smoke", examples=5).implementations
    assert "mutants.hostile.IgnoresSignals replaced the handler of signal 40 when used once" in found.notes


def test_processes_that_are_left_behind_are_noted():
    (found,) = examine("mutants.hostile.LeavesProcesses", rules="smoke").implementations
    assert "it leaves processes behind, which nothing but the end of the check ends: sleep" in found.notes


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
