"""No verdict depends on how busy the machine is, or how slow."""

import itertools
import os
import re
import signal
import threading
import time
from contextlib import nullcontext
from dataclasses import replace

import pytest
from hypothesis import errors
from hypothesis.errors import Flaky
from kit import FIFO_MEMORY, alone, context, examine, failed_rules, implementation

from queue_conformance.discovery.stages import discover
from queue_conformance.engine import fixtures
from queue_conformance.engine.budget import IN_ALL, Budget
from queue_conformance.engine.cases import combinations, run_cases
from queue_conformance.engine.generation import Findings, explore
from queue_conformance.engine.naming import AGAIN, named
from queue_conformance.engine.outcomes import NotCovered, Outcome, RuleFailed, TooSlow
from queue_conformance.engine.recording import TakesTooLong, Timed
from queue_conformance.engine.registry import Check
from queue_conformance.engine.runner import ATTEMPTS, runner_of
from queue_conformance.engine.sequences import commands
from queue_conformance.engine.verdicts import Verdict
from queue_conformance.frontends.runs import IDLE_JOBS, jobs
from queue_conformance.guard import Guard, kernel
from queue_conformance.processes import isolation, process, stopwatch
from queue_conformance.processes.isolation import Answer, Watchdog
from queue_conformance.processes.process import fork
from queue_conformance.processes.stopwatch import IdleTime, Stopwatch
from queue_conformance.running.contexts import RunConfig
from queue_conformance.running.execution import execute
from queue_conformance.specification import load
from queue_reference.dupefilter import DupeFilter
from queue_reference.memory import FifoMemoryQueue


class Clock:
    """A clock that a test sets, and what the system says of how long threads waited."""

    def __init__(self, monkeypatch):
        self.now, self.waited = 100.0, 0.0
        monkeypatch.setattr(stopwatch, "monotonic", lambda: self.now)
        monkeypatch.setattr(stopwatch, "_waits", lambda pid: [("main", self.waited), ("other", 0.0)])


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def looks(clock, watch, times, step=0.1, waited=0.0):
    for _ in range(times):
        clock.now += step
        clock.waited += waited
        watch.look()
    return round(watch.seconds, 3)


def test_a_stopwatch_counts_the_time(clock):
    assert looks(clock, Stopwatch(1, 5.0), 20) == 7.0


def test_the_time_for_which_the_machine_ran_others_does_not_count(clock):
    watch = Stopwatch(1)
    looks(clock, watch, 1)
    assert looks(clock, watch, 20, waited=0.08) == 0.5


def test_a_long_wait_that_the_system_tells_of_in_the_end_is_taken_back(clock):
    watch = Stopwatch(1)
    assert looks(clock, watch, 10) == 1.0
    clock.waited += 0.9
    assert looks(clock, watch, 8) == 1.0  # it never goes back
    assert looks(clock, watch, 2) == 1.1


def test_the_time_for_which_who_is_asked_waited_for_the_machine_does_not_count(clock, tmp_path, monkeypatch):
    monkeypatch.setattr(stopwatch, "_asked", tmp_path)
    watch = Stopwatch(1)
    for look in range(21):
        tmp_path.joinpath("schedstat").write_text(f"5 {look * 50_000_000} 7")
        counted = looks(clock, watch, 1, waited=0.03 * bool(look))
    assert counted == 0.5
    tmp_path.joinpath("schedstat").unlink()
    assert looks(clock, watch, 1) == 0.6


def test_a_guarded_process_knows_whom_its_system_calls_ask(tmp_path):
    found = isolation.run(lambda _: (kernel.watches(), str(stopwatch._asked)), time_limit=10.0, guard=Guard(tmp_path))
    watches, asked = found.value
    assert watches == kernel.AVAILABLE
    assert re.fullmatch(r"/proc/(\d+)/task/\1" if watches else "None", asked)
    assert stopwatch._asked is None


def test_the_time_in_which_the_run_was_stopped_does_not_count(clock):
    assert looks(clock, Stopwatch(1), 5, step=60.0) == 1.0


def test_what_never_ends_is_found_however_busy_the_machine_is(clock):
    watch = Stopwatch(1)
    looks(clock, watch, 1)
    assert looks(clock, watch, 100, waited=0.1) == 1.01


def test_the_system_is_asked_for_all_processes_and_threads():
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    pid = fork()
    if pid == 0:
        signal.pause()
    try:
        tasks = {str(task) for task, _ in stopwatch._waits(os.getpid())}
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        release.set()
        thread.join()
    assert {f"/proc/{os.getpid()}/task/{os.getpid()}", f"/proc/{pid}/task/{pid}"} < tasks
    assert len(tasks) >= 3


def test_a_process_that_was_stopped_is_not_hung(monkeypatch):
    """The clock of the child is the one that limits go by, here and in the processes that checks start."""
    monkeypatch.setattr(Stopwatch, "look", lambda self: self.seconds)
    assert isolation.run(lambda watchdog: [watchdog.enter("pop()", "rule"), time.sleep(0.3)][1:], time_limit=0.1) == Answer(
        [None]
    )
    assert process.run(lambda say: [time.sleep(0.3), say(1)], time_limit=0.1).said == (1,)


def test_a_child_sees_the_time_that_counts(monkeypatch):
    monkeypatch.setattr(Stopwatch, "look", lambda self: 7.0)
    before = isolation.run(lambda watchdog: [watchdog.now, time.sleep(0.3), watchdog.now], time_limit=5)
    assert before == Answer([1.0, None, 7.0])


# --- Limits are those of one call ------------------------------------------------------------------------------------


def test_each_of_many_calls_has_the_limit_of_one():
    def many(watchdog):
        watchdog.enter("many calls", "rule")
        return [time.sleep(0.2) for _ in watchdog.each(range(4))]

    assert isolation.run(many, time_limit=0.6) == Answer([None] * 4)


@pytest.mark.parametrize(("calls", "said"), [(1000, "1000 calls would take more than 60 s"), (0, ""), (100, "")])
def test_many_calls_are_not_waited_for_when_the_first_ones_show_that_all_take_too_long(calls, said):
    watchdog = Watchdog()
    watchdog.tell(10.0)
    timed = Timed([], watchdog, 60.0, calls)
    with pytest.raises(TakesTooLong, match=said) if said else nullcontext():
        for _ in range(8):  # half a second each
            assert len(timed) == 0
            watchdog.tell(watchdog.now + 0.5)


def test_each_of_many_calls_has_the_time_of_one_operation():
    watchdog = Watchdog()
    watchdog.tell(10.0)
    waiting = [3, 2, 1, None]

    class Queue:
        def pop(self):
            watchdog.tell(watchdog.now + 0.5)
            return waiting.pop(0)

    def popped():
        watchdog.enter("queue.pop()", "rule")
        for item in iter(Timed(Queue(), watchdog).pop, None):
            yield item, watchdog.now - watchdog.in_flight_since

    assert list(popped()) == [(3, 0.5), (2, 0.5), (1, 0.5)]


def test_after_a_failure_a_slow_machine_draws_no_more_for_long(monkeypatch):
    drawn, met = [], []
    with context("mutants.memory.DeliversTwice") as found:
        runner = runner_of(found)
        run = runner.run

        def slowly(sequence):
            drawn.append(found.watchdog.now)
            found.watchdog.tell(drawn[-1] + 4.0)
            run(sequence)

        found.watchdog.tell(1.0)
        monkeypatch.setattr(runner, "run", slowly)
        monkeypatch.setattr(Findings, "shorten", lambda findings, *arguments: met.append(bool(findings)))
        monkeypatch.setattr(Findings, "drop_explained", lambda *arguments: None)
        explore(runner)
    assert met == [True]
    assert len(drawn) < 16  # as many as there are without a failure
    assert any("more than 20 s after a failure" in note for note in found.notes)


def test_a_check_looks_for_shorter_sequences_for_so_long_in_all():
    with context("mutants.memory.LosesTheEighth") as found:
        runner = runner_of(found)
        found.recorder.costs.shortening = IN_ALL  # for other sequences of the same check
        found.watchdog.tell(1.0)
        sequence = commands(" ".join(f"push:{number}" for number in range(10)) + " pop")
        with pytest.raises(RuleFailed) as raised:
            runner.show(sequence)
    assert raised.value.sequence == sequence[:-1]  # without what only shows it


def test_a_slow_failure_is_named_without_many_tries(monkeypatch):
    tries = []
    with context("one_bug_more.LosesOneOfTwo") as found:
        runner = runner_of(found)
        run = runner.run

        def slowly(sequence):
            tries.append(sequence)
            found.watchdog.tell(found.watchdog.now + 10.0)
            run(sequence)

        found.watchdog.tell(1.0)
        with pytest.raises(RuleFailed) as raised:
            runner.run(commands("push:0 push:1"))
        monkeypatch.setattr(runner, "run", slowly)
        named(runner, raised.value, ATTEMPTS, lambda other: None)
    assert len(tries) < AGAIN


def test_many_calls_end_when_their_time_is_over():
    watchdog = Watchdog()
    watchdog.tell(10.0)
    done = []
    for number in watchdog.each(range(9), 5.0):
        done.append(number)
        watchdog.tell(watchdog.now + 2.0)
    assert done == [0, 1, 2]


class SlowQueue(FifoMemoryQueue):
    """Each of its calls takes a moment, and fifty cycles of them more than the time limit."""

    def push(self, item):
        time.sleep(0.02)
        super().push(item)


class SlowFilter(DupeFilter):
    """Each of its answers takes a moment."""

    def request_seen(self, request):
        time.sleep(0.01)
        return super().request_seen(request)


def test_a_slow_queue_is_opened_and_closed_less_often(monkeypatch):
    monkeypatch.setattr(fixtures, "BUDGET", 0.5)
    monkeypatch.setattr(fixtures, "FEWEST", 1)
    report = examine("test_machine_load.SlowQueue", only="queue.close.releases", time_limit=0.5)
    (found,) = [v for v in report.verdicts if v.rule.id == "queue.close.releases"]
    assert found.verdict is Verdict.PASSED
    assert any(note.startswith("queue.close.releases: ") for note in report.notes)


def test_what_a_slow_class_leaves_no_time_for_is_not_covered(monkeypatch):
    monkeypatch.setattr(fixtures, "BUDGET", -1.0)
    monkeypatch.setattr("queue_conformance.kinds.dupefilter.fixtures.BUDGET", 0.5)
    turns, answers = "10 turns take more than -1 s", "it takes more than 0.5 s to ask for 300 requests"
    for path, check, rule, reason in (
        (FIFO_MEMORY, "queue.close.releases", "queue.close.releases", turns),
        ("queue_reference.dupefilter.DupeFilter", "dupefilter.close.releases", "dupefilter.close.releases", turns),
        ("test_machine_load.SlowFilter", "seen.many", "dupefilter.seen.first", answers),
    ):
        report = examine(path, only=check)
        (found,) = [v for v in report.verdicts if v.rule.id == rule]
        assert (found.verdict, found.reason[: len(reason)]) == (Verdict.NOT_COVERED, reason)


# --- What took too long is tried again -------------------------------------------------------------------------------


class HangsOnce(FifoMemoryQueue):
    """Its first pop does not return, as on a machine whose disk is busy; that of the next process does."""

    marker = ""

    def pop(self):
        if not os.path.exists(self.marker):
            open(self.marker, "w").close()
            time.sleep(3600)
        return super().pop()


def test_what_hung_once_is_tried_again_before_it_is_said(monkeypatch, tmp_path):
    monkeypatch.setattr(HangsOnce, "marker", str(tmp_path / "marker"))
    (tmp_path / "marker").touch()
    unmarked = {"queue.pop.fifo": lambda: (tmp_path / "marker").unlink()}
    report = examine(
        "test_machine_load.HangsOnce",
        only=["queue.pop.fifo"],
        time_limit=0.3,
        meets=lambda number, check: bool([unmarked.pop(check.name, lambda: None)()]),
    )
    assert not failed_rules(report)
    (note,) = [note for note in report.notes if "once" in note]
    said = "popped = queue.pop() did not return within 0.3 s once, and did when it was tried again"
    assert note == f"queue.pop.fifo: {said}"


def test_what_always_hangs_is_said_and_lowers_no_limit():
    report = examine("test_machine_load.AlwaysHangs", only=["queue.pop.fifo", "queue.push.accept"], time_limit=1.0)
    assert "queue.pop.exactly-once" in failed_rules(report)
    shown = [v.violation.actual for v in report.verdicts if v.violation]
    assert all("within 1 s" in actual for actual in shown)


class AlwaysHangs(FifoMemoryQueue):
    """Its third pop does not return."""

    def pop(self):
        self.pops = getattr(self, "pops", 0) + 1
        if self.pops > 2:
            time.sleep(3600)
        return super().pop()


DIFFERED = "the kit could not tell: two tries of the same commands differed: ValueError('first'), and then nothing of that"
FLAKY = [(found("flaky", [ValueError("first")]), DIFFERED) for found in filter(None, [getattr(errors, "FlakyFailure", None)])]
"""What newer releases of Hypothesis raise."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TooSlow("the server answers too slowly"), "the server answers too slowly"),
        (TimeoutError("no answer"), "the kit could not tell: TimeoutError('no answer')"),
        (Flaky("flaky"), "the kit could not tell: Flaky('flaky')"),
        *FLAKY,
    ],
)
@pytest.mark.parametrize(("times", "outcome"), [(1, Outcome.PASSED), (2, Outcome.NOT_COVERED)])
def test_what_was_too_slow_is_tried_again_and_then_not_covered(tmp_path, error, reason, times, outcome):
    tries = tmp_path / "tries"
    tries.write_text("")

    def slow(found):
        tries.write_text(tries.read_text() + "x")
        found.covered["queue.pop.fifo"] += 1
        if len(tries.read_text()) <= times:
            raise error

    check = Check("queue.pop.fifo", ("queue.pop.fifo",), frozenset(), slow, __name__)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    result = execute(check, implementation(FIFO_MEMORY), load(), RunConfig(scratch))
    (observation,) = result.observations
    assert (observation.outcome, observation.reason) == (outcome, reason if outcome is Outcome.NOT_COVERED else "")
    assert not result.internal_error
    assert len(tries.read_text()) == 2


# --- Searches end by steps -------------------------------------------------------------------------------------------


def shortest(path, ticks):
    """Return what the machine finds while the clock goes on by so many seconds each time that it is asked."""

    def found():
        with context(path) as where:
            where.examples, watchdog = 15, where.watchdog
            time.monotonic = time.perf_counter = lambda now=[0.0]: now.__setitem__(0, now[0] + ticks) or now[0]
            isolation.monotonic = lambda: 5.0
            explore(runner_of(where))
            return watchdog.tally.done, {rule: failure.sequence for rule, failure in where.failed.items()}

    return alone(found)


def test_the_same_seed_finds_the_same_however_fast_the_clock_goes():
    path = "mutants.memory.PeeksAtTheNewest"
    assert shortest(path, 0.0) == shortest(path, 20.0)


def test_a_search_that_takes_too_long_ends_and_says_so(monkeypatch):
    with context(FIFO_MEMORY) as where:
        times = itertools.count(1.0, 5.0)
        monkeypatch.setattr(Watchdog, "now", property(lambda watchdog: next(times)))
        explore(runner_of(where))
        assert where.notes[-1].startswith("machine: no more than ")


def test_loops_are_shorter_only_where_operations_are_slow_and_the_run_has_no_more_time():
    assert Budget(0.004).seconds(60) == Budget().seconds(60) == 60
    assert Budget(0.004).more == ""
    assert Budget(0.05).seconds(60) == pytest.approx(6)
    assert Budget(0.05).calls(60) == pytest.approx(120, abs=1)
    assert Budget(0.05).more == "; --conformance-time=30m gives it more time"
    assert Budget(0.05, 1800.0).seconds(60) == 60
    assert Budget(0.05, 60.0).seconds(60) == pytest.approx(6)


def test_what_a_loop_needs_is_done_even_if_it_takes_the_usual_time():
    with context(FIFO_MEMORY) as found:
        found.implementation = replace(found.implementation, cost=0.05)  # a tenth of the time
        found.watchdog.tell(1.0)

        def done(seconds, fewest):
            return len([found.watchdog.tell(found.watchdog.now + seconds) for _ in found.each("turns", range(100), 20.0, fewest)])

        assert done(0.6, 2) == 4
        assert done(0.6, 10) == 10
        assert "10 of 100 turns, because they take more than 2 s; --conformance-time=30m gives it more time" in found.notes[-1]
        with pytest.raises(NotCovered, match="10 turns take more than 20 s"):
            done(3.0, 10)


def test_a_slow_class_meets_each_pair_of_values_but_not_each_combination():
    cases = {"cause": range(5), "large": (False, True), "reopen": (False, True)}
    with context(FIFO_MEMORY) as found:
        assert len(combinations(found, "check", cases)) == 20
        found.implementation = replace(found.implementation, cost=0.05)
        fewer = combinations(found, "check", cases)
        assert len(fewer) == 10
        for pair in itertools.combinations(range(3), 2):
            met = {tuple(case[place] for place in pair) for case in fewer}
            assert met == {tuple(case[place] for place in pair) for case in itertools.product(*cases.values())}
        assert "check: 10 of 20 cases, because operations are slow" in found.notes[-1]


def test_a_slow_class_meets_as_many_cases_as_there_is_time_for():
    def met(cost, seconds, fails="", own="", compared=False):
        cases = []
        with context(FIFO_MEMORY) as found:
            found.drawing = replace(found.drawing, compared=compared)
            found.implementation = replace(found.implementation, cost=cost)
            found.watchdog.tell(1.0)
            found.recorder.main_rule = own

            def run(case):
                cases.append(case["number"])
                found.watchdog.tell(found.watchdog.now + seconds)
                if fails and case["number"] > 0:
                    raise RuleFailed(fails, "that it works", "nothing", [])

            run_cases(found, "check", {"number": range(10)}, run)
            return cases, found.notes

    assert met(0.001, 60.0) == ([*range(10)], [])
    assert sorted(met(0.05, 0.9)[0]) == [*range(10)]
    cases, notes = met(0.05, 4.0)
    assert len(set(cases)) == 3
    assert notes == ["check: 3 of 10 cases, because they take more than 10 s; --conformance-time=30m gives it more time"]
    assert met(0.001, 4.0, fails="queue.push.returns-none")[0] == [*range(10)]  # a MUST rule may be failed by another case
    cut_short = [0, 1, 2], ["check: 3 of 10 cases, because they take more than 10 s"]
    assert met(0.001, 4.0, fails="queue.push.accept") == cut_short
    assert met(0.001, 4.0, fails="queue.push.returns-none", own="queue.push.returns-none") == cut_short
    assert met(0.001, 4.0, fails="queue.push.accept", compared=True)[0] == [*range(10)], "what is known hides nothing new"
    assert len(met(0.001, 20.0, fails="queue.push.accept", compared=True)[0]) == 4


def test_the_cost_of_operations_is_that_of_the_fastest_of_each_kind():
    with context(FIFO_MEMORY) as found:
        recorder = found.recorder
        recorder.call("queue.push(0)", "once", lambda: time.sleep(0.05))
        for seconds in (0.04, 0.0):
            recorder.call("queue.push(1)", "twice", lambda seconds=seconds: time.sleep(seconds))
        assert recorder.costs.mean < 0.03


class SleepyQueue(SlowQueue):
    """Right, and slow at each pop, too."""

    def pop(self):
        time.sleep(0.02)
        return super().pop()


def test_a_slow_class_is_found_to_be_slow_and_passes():
    report = examine("test_machine_load.SleepyQueue", only="queue.pop.fifo")
    assert [note for note in report.notes if re.match(r"an operation takes 0\.0\d+ s, so loops are shorter; --conf", note)]
    assert not [verdict for verdict in report.verdicts if verdict.verdict is Verdict.FAILED]


class ComputingQueue(FifoMemoryQueue):
    """Right, and slow because it computes."""

    def pop(self):
        ends = time.thread_time() + 0.02
        while time.thread_time() < ends:
            pass
        return super().pop()


@pytest.mark.parametrize(("name", "idle"), [("SleepyQueue", True), ("ComputingQueue", False)])
def test_more_checks_run_at_once_where_a_class_leaves_the_processors_idle(tmp_path, monkeypatch, name, idle):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
    found = discover(f"test_machine_load.{name}", {}, {}, RunConfig(tmp_path))
    assert found.idle == idle
    assert jobs(idle=found.idle) == (IDLE_JOBS if idle else 2)


@pytest.mark.parametrize(("held", "idle"), [(0.0, True), (0.1, False)])
def test_who_waits_for_a_processor_is_not_idle(monkeypatch, held, idle):
    monkeypatch.setattr(stopwatch, "held_up", itertools.count(0.0, held).__next__)
    time_spent = IdleTime()
    time.sleep(0.1)
    assert time_spent.prevails == idle
