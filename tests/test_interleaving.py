"""Another process does its operation exactly where it is asked to, and a right class is never blamed for what it waits for."""

import os
import signal
import subprocess
import sys
import time

import pytest
from kit import context, examine, failed_rules

from mutants.between import FlockedBytes, Transactions
from queue_conformance.engine.interleaving import Between, cases_between
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.queue.checks.interleaving import operate
from queue_conformance.script_support.interleaving import elsewhere, finished, in_between, is_asleep, step, use_queue

PATH = "mutants.between.FlockedBytes"
CHECKS = ("shared.between", "shared.overtaken", "queue.shared.visible", "shared.gone")


class Counts:
    """Has three lines to stop before."""

    def __init__(self):
        self.lines = []

    def work(self):
        self.lines.append(1)
        self.lines.append(2)
        self.lines.append(3)


@pytest.mark.parametrize(("number", "seen"), [(1, []), (2, [1]), (3, [1, 2]), (4, [1, 2, 3]), (9, [1, 2, 3])])
def test_the_other_process_goes_on_before_that_line(number, seen):
    counts = Counts()

    class Notes:
        def go_on(self):
            self.saw = [*counts.lines]

    notes = Notes()
    with in_between(Counts, number, notes):
        counts.work()
    assert notes.saw == seen
    assert sys.gettrace() is sys.getprofile() is None


def test_calls_of_the_system_on_one_line_are_told_apart(tmp_path):
    class OneLine:
        def work(self):
            return [os.mkdir(f"{tmp_path}/first"), os.mkdir(f"{tmp_path}/second")]

    class Notes:
        def go_on(self):
            self.saw = sorted(os.listdir(tmp_path))

    notes, seen = Notes(), []
    for number in (1, 2, 3):
        with in_between(OneLine, number, notes):
            OneLine().work()
        seen.append(notes.saw)
        for name in ("first", "second"):
            (tmp_path / name).rmdir()
    assert seen == [[], ["first"], ["first", "second"]]


def test_who_waits_for_a_lock_is_left_to_wait_until_it_is_free(tmp_path):
    queue = FlockedBytes(tmp_path / "0")
    with elsewhere(use_queue, lambda: FlockedBytes(tmp_path / "0"), "push", b"x") as other:
        step(other)
        with queue.locked():
            other.go_on()
            assert not other.pipe.poll()
            assert is_asleep(other.pid)
        finished(other)
    assert queue.pop() == b"x"


def test_who_is_only_slow_is_waited_for(tmp_path):
    def slow():
        end = time.process_time() + 0.3
        while time.process_time() < end:
            pass
        yield "done"

    with elsewhere(slow) as other:
        other.go_on(looks=1)
        assert finished(other, timeout=0.01) == "done"


def test_who_waits_for_ever_and_what_it_raises_are_told():
    def waits():
        try:
            time.sleep(60)
        finally:
            yield

    def raises():
        yield from [][0]

    with elsewhere(waits) as other, pytest.raises(TimeoutError, match="still waits after"):
        step(other, timeout=0.1)
    with elsewhere(raises) as other, pytest.raises(IndexError):
        step(other)
    with pytest.raises(ProcessLookupError):
        os.kill(other.pid, signal.SIGCONT)


def test_each_place_of_an_operation_is_one_case_and_its_end_another_one():
    with context(PATH) as b:
        cases = list(cases_between(b, [Between("pop", "push", (1,))], operate))
    assert sorted({case.number for case in cases}) == [*range(1, len(cases) + 1)]
    places = [case.where.removeprefix("another process does push ") for case in cases]
    first = places[: places.index("after pop")]
    assert len(first) < len(places) / 2  # those that come after a call of the system are the first
    assert all("between.py" in place for place in places if place != "after pop")


def test_what_cannot_be_stopped_in_its_midst_is_not_covered():
    def idle(_context, _pair, traced):
        traced(lambda: None)

    with context(PATH) as b, pytest.raises(NotCovered, match="no operation can be stopped in its midst"):
        next(cases_between(b, [Between("pop", "push", (1,))], idle))


def test_the_places_of_a_seed_are_the_same_again():
    def chosen(seed):
        with context(PATH) as b:
            b.seed, b.examples = seed, 5
            return [*cases_between(b, [Between("pop", "push", (1,)), Between("push", "pop", (1,))], operate)]

    assert chosen(1) == chosen(1)


@pytest.mark.further
@pytest.mark.parametrize("cls", [FlockedBytes, pytest.param(Transactions, marks=pytest.mark.further)])
def test_a_right_class_passes_on_a_busy_machine(cls):
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(6)]
    try:
        report = examine(f"mutants.between.{cls.__name__}", {"shared": "yes"}, only=CHECKS, examples=8)
    finally:
        for each in busy:
            each.kill()
            each.wait()
    assert not failed_rules(report)
    assert not [verdict.reason for verdict in report.verdicts if "slow" in verdict.reason]
