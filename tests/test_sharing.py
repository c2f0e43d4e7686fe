"""Checks that leave their process in order share one; nothing is blamed for what others have left there."""

import os
import threading
import time

import pytest
from kit import examine, failed_rules
from test_isolation import alive

from queue_conformance.engine.budget import Budget
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.running.sharing import MOST
from queue_reference.memory import FifoMemoryQueue

CHECKS = {
    "queue.push.accept",
    "queue.push.returns-none",
    "queue.pop.empty-none",
    "queue.len.count",
    "queue.len.truth",
    "queue.len.pop-none",
}
FILE = "QUEUE_CONFORMANCE_TEST_PROCESSES"


class Noted(FifoMemoryQueue):
    """Notes in which processes it is used."""

    def __init__(self):
        super().__init__()
        with open(os.environ[FILE], "a") as file:
            print(os.getpid(), file=file)


class Slow(Noted):
    def push(self, request):
        time.sleep(0.02)
        super().push(request)


class Threaded(Noted):
    def __init__(self):
        super().__init__()
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()


class Forking(Noted):
    def __init__(self):
        super().__init__()
        if (pid := os.fork()) == 0:
            time.sleep(60)
            os._exit(0)
        with open(f"{os.environ[FILE]}-left", "a") as file:
            print(pid, file=file)


class WearsOut(Noted):
    """Loses what it gets once it was built too often in its process."""

    built = 0

    def __init__(self):
        super().__init__()
        WearsOut.built += 1

    def push(self, request):
        if WearsOut.built < 8:
            super().push(request)


class Exits(Noted):
    def __len__(self):
        os._exit(3)


class Hangs(Noted):
    def __len__(self):
        time.sleep(3600)


@pytest.fixture
def used(tmp_path, monkeypatch):
    """Run some checks of a class; return the rules that failed, and the number of processes in which it was used."""
    monkeypatch.setenv(FILE, str(tmp_path / "processes"))

    def run(name, only=CHECKS, **how):
        report = examine(f"test_sharing.{name}", only=only, **how)
        return failed_rules(report), len(set((tmp_path / "processes").read_text().split())), report

    return run


def test_checks_that_leave_their_process_in_order_share_it(used):
    failed, processes, _ = used("Noted")
    assert (failed, processes) == (set(), 4)  # the discovery has three


def test_a_slow_class_runs_each_check_in_a_process_of_its_own_as_a_failure_would_run_it_again(used):
    failed, processes, _ = used("Slow")
    assert (failed, processes) == (set(), 3 + len(CHECKS))


@pytest.mark.parametrize("name", ["Threaded", "Forking"])
def test_what_leaves_threads_or_processes_behind_runs_in_a_process_of_its_own(used, name, monkeypatch):
    monkeypatch.setattr(ImplementationRun, "_waits", False)  # as it would where the machine is not busy
    monkeypatch.setattr(Budget, "short", False)
    failed, processes, report = used(name)
    assert failed == set()
    assert processes == 3 + MOST + len(CHECKS)  # in the shared one, and again
    assert any("leaves processes behind" in note for note in report.notes) == (name == "Forking")


def test_what_a_shared_process_leaves_behind_ends_before_the_check_runs_again(used, tmp_path, monkeypatch):
    alone, seen = ImplementationRun._alone, tmp_path / "seen"

    def looks(*arguments):
        left = (tmp_path / "processes-left").read_text().split()
        with seen.open("a") as file:
            print(*(pid for pid in left if alive(int(pid))), "end", file=file)
        return alone(*arguments)

    monkeypatch.setattr(ImplementationRun, "_alone", looks)
    assert used("Forking")[0] == set()
    assert {*seen.read_text().splitlines()} == {"end"}


def test_nothing_is_blamed_for_what_other_checks_have_left(used):
    assert used("WearsOut")[0] == set()


@pytest.mark.parametrize(
    ("name", "how"), [("Exits", "ended the interpreter with status 3"), ("Hangs", "did not return within 1 s")]
)
def test_a_check_that_hangs_or_dies_is_told_as_if_it_had_run_alone(used, name, how):
    _, _, report = used(name, {"queue.push.accept", "queue.len.count", "queue.pop.empty-none"}, time_limit=1.0)
    (evidence,) = (verdict.violation.actual for verdict in report.verdicts if verdict.rule.id == "queue.len.count")
    assert how in evidence
