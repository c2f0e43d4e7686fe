"""A run that may take so long ends with what it has, and says of the rest that it was not covered."""

import math
import time
from dataclasses import replace

import pytest
from kit import FIFO_MEMORY, context, implementation

from queue_conformance.engine.generation import explore
from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome, RuleFailed, TimeIsOver, Violation
from queue_conformance.engine.registry import Check
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.sequences import commands, encode
from queue_conformance.processes import endings, isolation, stopwatch
from queue_conformance.processes.endings import Abort
from queue_conformance.processes.stopwatch import WITHOUT_END, RunTime
from queue_conformance.running import aborts
from queue_conformance.running.confirmation import confirmed
from queue_conformance.running.contexts import RunConfig
from queue_conformance.running.execution import execute, observe
from queue_conformance.specification import load

OVER = RunTime(300.0, 0.0)
RULES = ("queue.push.accept", "queue.pop.fifo")
SAID = "the time that the run may take, 300 s, was over"


def ruled(function):
    return Check("a check", RULES, frozenset(), function, __name__)


def outcomes(result: CheckResult):
    return {one.rule: (one.outcome, one.reason) for one in result.observations}


def test_the_time_of_a_run_begins_with_it(monkeypatch):
    monkeypatch.setattr(stopwatch, "monotonic", lambda: 50.0)
    found = RunTime.from_now(20.0)
    assert (found.ends, found.over, WITHOUT_END.over) == (70.0, False, False)
    monkeypatch.setattr(stopwatch, "monotonic", lambda: 71.0)
    assert (found.over, found.long_over) == (True, False)
    monkeypatch.setattr(stopwatch, "monotonic", lambda: 71.0 + stopwatch.LAST)
    assert found.long_over


@pytest.mark.parametrize(("seconds", "more"), [(1.0, 3.0), (50.0, 5.0), (3600.0, 10.0)])
def test_a_check_comes_to_its_end_soon_after_a_short_run_is_over(monkeypatch, seconds, more):
    run_time = RunTime(seconds, 100.0)
    for now, expected in (100 + more, False), (100.1 + more, True):
        monkeypatch.setattr(stopwatch, "monotonic", lambda now=now: now)
        assert run_time.long_over == expected


def test_what_a_check_did_not_come_to_was_for_want_of_time():
    with context(FIFO_MEMORY) as found:
        found.run_time = RunTime(5.0, time.monotonic())
        result = observe(ruled(lambda _: time.sleep(0.001)), found, load())
    why = "the time that the run may take, 5 s, was over"
    assert outcomes(result) == dict.fromkeys(RULES, (Outcome.NOT_COVERED, why))
    assert result.late


def test_a_check_that_has_more_cases_covers_nothing_more_but_tells_what_failed():
    def fails_before(found):
        found.covered[RULES[0]] += 1
        found.keep(RuleFailed(RULES[1], "this", "that", [], list))
        for _ in found.each("crashes", range(3)):
            raise AssertionError("it begins")

    with context(FIFO_MEMORY) as found:
        found.run_time = OVER
        said = outcomes(observe(ruled(fails_before), found, load()))
    assert said == {RULES[0]: (Outcome.NOT_COVERED, SAID), RULES[1]: (Outcome.FAILED, "")}


def test_what_a_slow_class_leaves_out_is_why_a_check_says_nothing_of_a_rule():
    def takes_long(found):
        found.covered[RULES[0]] += 1
        found.watchdog.tell(1.0)
        for _ in found.each("turns", range(100), 20.0):
            found.watchdog.tell(found.watchdog.now + 0.6)

    with context(FIFO_MEMORY) as found:
        found.implementation = replace(found.implementation, cost=0.05)
        said = outcomes(observe(ruled(takes_long), found, load()))
    assert said[RULES[0]] == (Outcome.PASSED, "")
    assert said[RULES[1]][0] is Outcome.NOT_COVERED
    assert "4 of 100 turns, because they take more than 2 s; --conformance-time=" in said[RULES[1]][1]


def test_nobody_looks_for_a_shorter_sequence_when_the_time_is_over():
    with context("mutants.memory.LosesTheEighth") as found:
        runner = runner_of(found)
        found.run_time = OVER
        sequence = commands(" ".join(f"push:{number}" for number in range(10)) + " pop" * 10)
        with pytest.raises(RuleFailed) as raised:
            runner.show(sequence)
    assert raised.value.sequence == sequence[:10]  # without what only shows it


def test_the_machine_tells_what_failed_before_the_time_was_over(monkeypatch):
    with context("mutants.memory.LosesTheEighth") as found:
        runner = runner_of(found)
        run = runner.run

        def until_it_fails(sequence):
            try:
                run(sequence)
            except RuleFailed:
                found.run_time = OVER
                raise

        monkeypatch.setattr(runner, "run", until_it_fails)
        explore(runner)
    assert found.failed


def test_the_machine_draws_nothing_when_the_time_is_over():
    with context(FIFO_MEMORY) as found:
        found.run_time = OVER
        with pytest.raises(TimeIsOver, match=SAID):
            explore(runner_of(found))


def test_a_check_that_goes_on_for_long_is_ended_and_blames_nothing(tmp_path, monkeypatch):
    def goes_on(found):
        found.watchdog.enter("queue.push(1)", RULES[0])
        time.sleep(60)

    config = RunConfig(tmp_path, time_limit=60.0, run_time=RunTime(300.0, time.monotonic() - stopwatch.LAST))
    result = execute(ruled(goes_on), implementation(FIFO_MEMORY), {name: load()[name] for name in RULES}, config)
    assert outcomes(result) == dict.fromkeys(RULES, (Outcome.NOT_COVERED, SAID))
    assert not result.finished


def test_what_the_time_ended_is_no_hang():
    ended = isolation.run(lambda watchdog: time.sleep(60), time_limit=60, run_time=RunTime(1.0, -math.inf))
    assert isinstance(ended, Abort)
    assert (ended.how, ended.hung) == (endings.OVER, False)


def test_what_failed_is_not_judged_where_the_run_has_no_time_to_run_it_alone(tmp_path):
    failed, blocked = RULES
    shown = Violation(failed, "an item", "nothing", (), "import time\ntime.sleep(60)")
    observations = (
        Observation(failed, Outcome.FAILED, "a check", violation=shown),
        Observation(blocked, Outcome.BLOCKED, "a check", f"blocked by {failed}"),
    )
    for first in None, shown:
        result = confirmed(CheckResult("a check", observations), first, RunConfig(tmp_path, run_time=OVER))
        assert outcomes(result) == dict.fromkeys(RULES, (Outcome.NOT_COVERED, SAID))


def test_a_script_has_time_of_its_own_when_that_of_the_run_has_just_ended(tmp_path):
    late = RunTime(300.0, time.monotonic() - stopwatch.LAST)
    assert late.long_over
    shown = Violation(RULES[0], "an item", "nothing", (), "import time\ntime.sleep(0.5)\nassert False")
    observations = (Observation(RULES[0], Outcome.FAILED, "a check", violation=shown),)
    result = confirmed(CheckResult("a check", observations), None, RunConfig(tmp_path, run_time=late))
    assert outcomes(result) == {RULES[0]: (Outcome.FAILED, "")}


def test_no_hang_is_shortened_when_the_time_is_over(tmp_path, monkeypatch):
    sequence = encode(commands("push:0 push:0 pop"))
    hung = Abort("did not return within 10 s", hung=True, stacks="", rule=RULES[0], steps=("queue.pop()",), sequence=sequence)
    monkeypatch.setattr(aborts, "in_context", None)
    rules = {name: load()[name] for name in RULES}
    result = aborts.fatal_result(ruled(None), implementation(FIFO_MEMORY), rules, RunConfig(tmp_path, run_time=OVER), hung)
    assert outcomes(result)[RULES[0]] == (Outcome.FAILED, "")


def test_a_run_says_what_it_left_out_and_is_partial(pytester):
    arguments = ["--queue-class=queue_reference.memory.FifoMemoryQueue", "--conformance-time=0.001s", "-k", "fifo or smoke"]
    result = pytester.runpytest_subprocess(*arguments)
    result.stdout.fnmatch_lines(["*not covered: * (the time that the run may take, 0.001 s, was over)", "*verdict: PARTIAL*"])
