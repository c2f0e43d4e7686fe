"""Asynchronous schedulers: what is released, what is right, and how they are tested."""

import asyncio
import inspect
import sys
import warnings
from dataclasses import replace

import pytest

pytest.importorskip("qcrawl", reason="needs qCrawl")

import aiohttp
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from kit import examine, failed_rules, implementation
from qcrawl.core.queues.memory import MemoryPriorityQueue
from qcrawl.core.request import Request

from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.frontends.stateful import state_machine
from queue_conformance.implementation.loading import LoadError, load_class, path_of
from queue_conformance.kinds.async_scheduler.driver import AsyncSchedulerDriver
from queue_conformance.processes.isolation import Watchdog
from queue_reference import async_scheduler

RELEASED = "qcrawl.core.scheduler.Scheduler"
REFERENCE = "queue_reference.async_scheduler.Scheduler"
QUICK = settings(max_examples=20, stateful_step_count=20, database=None, deadline=None, suppress_health_check=list(HealthCheck))

# qCrawl 0.4.0; each was looked at by hand.
FAILED = {
    # get() awaits the future in try/finally: a consumer that is cancelled when its future has a result drops the request.
    "ascheduler.add.direct-cancel",
    # add() counts and remembers before the put, and takes that back for QueueFull alone.
    "ascheduler.add.put-failure",
    # add() ignores what put() returns; RedisQueue returns False for a duplicate.
    "ascheduler.add.put-duplicate",
    # DiskQueue drops a request itself and raises nothing, so add() counts it, and no signal is sent.
    "ascheduler.add.full",
    "ascheduler.add.full-signal",
    # MemoryPriorityQueue waits for room in put(), and add() in put().
    "ascheduler.add.full-no-hang",
    # add() sends request_scheduled before the put, so for what is dropped, too.
    "ascheduler.add.signals",
    # get() looks at size() first and registers its future afterwards: what is added in between stays in the queue.
    "ascheduler.get.no-lost-wakeup",
    # The same window: a close in between finds no future to cancel.
    "ascheduler.close.waiters",
    # join() waits for all that was added, also when nobody can take it any more.
    "ascheduler.close.join",
    # join() and task_done() know only what add() has counted.
    "ascheduler.join.recovered",
    "ascheduler.join.shared",
    # task_done() counts down from add(), not from get().
    "ascheduler.task-done.early",
    # pending is counted from add(); the documentation and the docstring say «being processed».
    "ascheduler.stats.pending",
    # A retry is a copy with the same fingerprint, which add() has seen.
    "ascheduler.retry",
    # normalize_url() preserves the query; the documentation shows it sorted.
    "afingerprint.query-order",
    # get() lets the RuntimeError of DiskQueue.get() through, which ends the worker; nobody marks the request as done.
    "e2e.q.bad-item",
}
BLOCKED = {
    "ascheduler.context": "ascheduler.close.join",
    "e2e.q.resume": "ascheduler.join.recovered",
    "e2e.q.retry": "ascheduler.retry",
}


@pytest.mark.further
def test_the_released_scheduler_breaks_what_it_is_known_to_break(examples):
    report = examine(RELEASED, examples=examples)
    assert failed_rules(report) == FAILED
    blocked = {verdict.rule.id: verdict.reason for verdict in report.verdicts if verdict.verdict is Verdict.BLOCKED}
    assert blocked == {rule: f"blocked by {by}" for rule, by in BLOCKED.items()}


def test_the_queue_of_crawls_can_be_chosen():
    chosen = {"queue": "qcrawl.core.queues.memory.MemoryPriorityQueue"}
    assert not failed_rules(examine(REFERENCE, settings=chosen, only="e2e.q.priority"))  # the lowest number first, as it says
    report = examine(REFERENCE, {"priority": "higher-first"}, settings=chosen, only="e2e.q.priority")
    assert failed_rules(report) == {"e2e.q.priority"}
    assert not failed_rules(examine(REFERENCE, settings=chosen, only="e2e.q.all"))


def test_a_warning_of_a_library_of_qcrawl_ends_no_crawl(monkeypatch):
    connect = aiohttp.TCPConnector.__init__

    def warned(*arguments, **keywords):
        warnings.warn("an argument that does nothing any more", DeprecationWarning, stacklevel=2)  # an error, as for all tests
        connect(*arguments, **keywords)

    monkeypatch.setattr(aiohttp.TCPConnector, "__init__", warned)
    (verdict,) = [found for found in examine(REFERENCE, only="e2e.q.all").verdicts if found.rule.id == "e2e.q.all"]
    assert verdict.verdict is Verdict.PASSED


class MemoryQueue(MemoryPriorityQueue):
    """A queue that is called like one of the kit's own, and serves the lowest number first, which that does not."""


def test_the_queue_of_crawls_may_have_the_name_of_one_of_the_kit():
    chosen = {"queue": f"{__name__}.MemoryQueue"}
    assert not failed_rules(examine(REFERENCE, settings=chosen, only="e2e.q.priority"))
    report = examine(REFERENCE, {"priority": "higher-first"}, settings=chosen, only="e2e.q.priority")
    (violation,) = [verdict.violation for verdict in report.verdicts if verdict.violation]
    assert f"from {__name__} import MemoryQueue as OwnMemoryQueue\n" in violation.script


def test_requests_may_have_another_name(tmp_path):
    tested = replace(implementation(REFERENCE), claims={"request": f"{__name__}.Page"})
    driver = AsyncSchedulerDriver(tested, tmp_path, Recorder(Watchdog()))
    assert f"from {__name__} import Page as Request\n" in driver.script("", ["Request('https://example.com/1')"])


class Page(Request):
    """A request of another name."""


def test_the_fingerprinter_can_be_chosen():
    chosen = {"fingerprinter": "qcrawl.utils.fingerprint.RequestFingerprinter"}
    assert failed_rules(examine(REFERENCE, settings=chosen, only="afingerprint.query-order")) == {"afingerprint.query-order"}
    chosen = {"fingerprinter": "queue_reference.async_scheduler.RequestFingerprinter"}
    assert not failed_rules(examine(RELEASED, settings=chosen, only="afingerprint.query-order"))


def test_another_setting_is_refused_in_one_line():
    with pytest.raises(LoadError, match="has no such argument; did you mean 'queue'"):
        examine(REFERENCE, settings={"queu": "x"})


def test_without_qcrawl_one_line_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(("qcrawl.", "queue_reference.async"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "qcrawl", None)
    for path in (RELEASED, REFERENCE):
        with pytest.raises(LoadError, match=r'pip install "pytest-queue-conformance\[qcrawl\]"'):
            load_class(path)


def test_a_right_scheduler_passes_the_state_machine():
    run_state_machine_as_test(state_machine(REFERENCE), settings=QUICK)


def test_the_state_machine_names_the_rules_that_the_released_scheduler_breaks():
    machine = state_machine(RELEASED)
    quick = settings(QUICK, max_examples=30, derandomize=True, phases=[Phase.generate])
    with pytest.raises((RuleFailed, ExceptionGroup)) as caught:
        run_state_machine_as_test(machine, settings=quick)
    failures = getattr(caught.value, "exceptions", [caught.value])
    assert {failure.rule for failure in failures} <= FAILED


RIGHT = [
    f"mutants.async_controls_schedulers.{name}"
    for name in ("Conditional", "Mailbox", "Dispatches", "Polls", "TakesAhead", "KeepsADistance")
]


@pytest.mark.further
@pytest.mark.parametrize("path", [REFERENCE, *RIGHT])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_right_scheduler_keeps_every_rule_on_other_seeds(path, seed):
    report = examine(path, seed=seed)
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT


@pytest.mark.parametrize("path", RIGHT)
def test_a_right_scheduler_of_another_design_passes_the_machine(path):
    assert not failed_rules(examine(path, examples=20, only="machine"))


def test_a_scheduler_that_needs_sockets_is_not_taken_for_broken():
    report = examine("mutants.async_controls_schedulers.Remembers")
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.PARTIAL
    verdicts = {verdict.rule.id: verdict for verdict in report.verdicts}
    assert "stock event loop" in verdicts["ascheduler.join"].reason
    assert verdicts["e2e.q.all"].verdict is verdicts["e2e.q.resume"].verdict is Verdict.PASSED


def test_what_is_found_on_the_simulated_loop_happens_on_the_stock_one():
    from qcrawl.core.scheduler import Scheduler
    from qcrawl.utils.fingerprint import RequestFingerprinter

    async def lose(scheduler):
        first = asyncio.create_task(scheduler.get())
        await asyncio.sleep(0)
        await scheduler.add("https://example.com/1")
        first.cancel()
        second = asyncio.create_task(scheduler.get())
        done, _ = await asyncio.wait([second], timeout=0.1)
        second.cancel()
        return (not done and not first.done()) or (first.cancelled() and not done)

    released = Scheduler(queue=MemoryPriorityQueue(), fingerprinter=RequestFingerprinter())
    right = async_scheduler.Scheduler(queue=MemoryPriorityQueue(), fingerprinter=RequestFingerprinter())
    assert asyncio.run(lose(released))
    assert not asyncio.run(lose(right))


class FailsTheSecondTime(async_scheduler.Scheduler):
    """Its second add raises."""

    adds, error = 0, RuntimeError

    async def add(self, request):
        self.adds += 1
        if self.adds == 2:
            raise self.error("no")
        await super().add(request)


class RaisesNoException(BaseException):
    """What nobody catches."""


@pytest.mark.parametrize("error", [RuntimeError, RaisesNoException])
def test_a_task_that_raises_breaks_a_rule(monkeypatch, error):
    monkeypatch.setattr(FailsTheSecondTime, "error", error)
    report = examine(path_of(FailsTheSecondTime), only="machine", examples=10)
    assert failed_rules(report) == {"ascheduler.add.forms"}
    (shown,) = [verdict.violation for verdict in report.verdicts if verdict.violation]
    assert (shown.actual, shown.cause) == (f"{error.__name__}('no') raised", f"add raised {error.__name__}")
    _, line = inspect.getsourcelines(FailsTheSecondTime)
    assert shown.line == str((__file__, line + 8))
