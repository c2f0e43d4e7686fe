"""What became of the tasks of an asynchronous scheduler, compared with its model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from queue_conformance.engine.case import Case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.difference import ALTERED, DOUBLED, EARLY, FOREIGN, difference_of_limits
from queue_conformance.engine.lockstep import Lockstep
from queue_conformance.engine.outcomes import NotCovered, Received, operation_of
from queue_conformance.engine.ran import by_task
from queue_conformance.engine.recording import describe
from queue_conformance.environments.asynchronous import FIELDS
from queue_conformance.kinds.async_queue.subject import Call, RecordedLoop
from queue_conformance.kinds.async_scheduler.common import ITEMS, MEMORY, ON_STOCK_LOOP, SLOW, SUSPENDING
from queue_conformance.kinds.async_scheduler.fixtures import RULES, SchedulerSubject, page
from queue_conformance.kinds.async_scheduler.model import AsyncSchedulerModel
from queue_conformance.loops import outcome_of, stuck

PRIORITIES = (0, 0, 10, -5, 3, 10, 0, -5) * FIELDS.period
"""The priorities of the items that sequences add, by their numbers."""

CANCELLED = "cancelled"

QUEUES = (MEMORY, SUSPENDING, SLOW)
"""The classes of the queues below the scheduler, by the number that ``reopen`` names."""


@dataclass(eq=False)
class Running:
    """A task of the scheduler that has not ended yet.

    Attributes:
        name: its variable.
        operation: the coroutine function of the scheduler that it runs.
        number: how many others began before it.
        task: the task.
        item: the number of the item that it adds.
        alone: whether nothing else was under way when it began, and nothing has begun since.
        may_end: whether a join may have ended by now.
        cancelled: whether it was cancelled.
        after: the items one of which must come, where that is known.
    """

    name: str
    operation: str
    number: int
    task: Any
    item: int = -1
    alone: bool = False
    may_end: bool = False
    cancelled: bool = False
    after: frozenset[int] | None = None


class SchedulerComparison(Lockstep):
    """Accounts for the tasks of one scheduler, and compares what came of them with its model."""

    def __init__(self, context: CheckContext, number: int) -> None:
        if not context.driver.simulated:
            raise NotCovered(ON_STOCK_LOOP)
        super().__init__(context, number)
        self.case = Case(context, "ascheduler.join")
        self.record, self.sources = self.case.record, self.case.sources
        self.loop = RecordedLoop(context.driver, self.record, lambda: "ascheduler.join")
        self.request = page(self.case)
        self._started = 0
        self._first = 0
        self._remembered: int | None = 0  # how many requests of earlier runs it knows
        self._begin(QUEUES[0])

    def _begin(self, kind: str) -> None:
        driver = self.context.driver
        queue = self.record.make(f"{kind}()", "ascheduler.join", driver.named(kind), "queue", shown=False)
        self.queue = self.sources.give(queue, "queue")
        source, build = driver.construction("0", queue=("queue", self.queue))
        self.scheduler: Any = self.record.construct(source, driver.constructor_rule, build, RULES, SchedulerSubject, "scheduler")
        self.model = AsyncSchedulerModel(PRIORITIES)
        self.adds: list[Running] = []
        self.gets: list[Running] = []
        self.joins: list[Running] = []
        self.closing: list[Running] = []
        self.handed: list[Running] = []  # the tasks whose requests are not done
        self.last: Running | None = None
        self.retried: set[int] = set()  # a copy of a request need not have all that it has
        self.puts = 0
        self.at_rest = True

    def _request(self, item: int) -> Any:
        return self.request(self._first + item, item // ITEMS, priority=PRIORITIES[item])

    def _start(self, kind: str, call: Call) -> Running:
        self._started += 1
        self._interfere()
        name = f"{kind}{self._started}"
        return Running(name, operation_of(call.source), self._started, self.sources.give(self.loop.start(call, name), name))

    def _interfere(self) -> None:
        """Note that something is under way, so that nothing is alone any more."""
        self.at_rest = False
        for running in (*self.adds, *self.gets):
            running.alone = False

    def _item_of(self, request: Any) -> int | None:
        """Return the item that a request is, of those since the last reopening."""
        number = self.context.driver.identify(request)
        return number - self._first if number is not None and number >= self._first else None

    def _may_be_idle(self) -> bool:
        adding = sum(running.item >= 0 for running in self.adds)
        return not self.model.processing and (self.model.closed or self.model.queued <= adding)

    def _let_joins_end(self) -> None:
        if self._may_be_idle():
            for joining in self.joins:
                joining.may_end = True

    def _look(self) -> None:
        """Take notice of the tasks that have ended."""
        for getting in _ended(self.gets):
            self._compare_received(getting)
        for adding in _ended(self.adds):
            self._expect_returned("ascheduler.add.forms", adding, "add")
            if adding.alone:
                self._compare_direct(adding)
        for joining in _ended(self.joins):
            if not joining.may_end and not self._may_be_idle():
                waits = f"it waits, {self.model.queued} queued, {self.model.processing} being processed"
                how = {"actual": "it has ended", "difference": "too early"}
                self.expect("ascheduler.join", lambda: not joining.task.done(), expected=waits, **how)  # noqa: B023
            self.covered["ascheduler.join"] += 1
        for closing in _ended(self.closing):
            self._expect_returned("ascheduler.close.queue", closing, "close")
        self._let_joins_end()

    def _compare_received(self, getting: Running) -> None:
        """Compare what a consumer ended with."""
        task = getting.task
        kind, value = outcome_of(task)
        if kind == "cancelled":
            if not getting.cancelled and not self.model.closed:
                how = {"actual": "CancelledError", "difference": CANCELLED}
                self.expect("ascheduler.get.waits", lambda: not task.cancelled(), expected="it waits", **how)
            if getting.alone and getting.after:
                size = self.loop.run(self.scheduler.qsize(), "size")
                rule = "ascheduler.get.closed" if size >= self.model.queued else "ascheduler.get.no-lost-wakeup"
                self._expect_one_of(rule, task, getting.after, "CancelledError")
            self.covered["ascheduler.get.closed"] += not getting.cancelled
            return
        if kind == "raised":
            how = {"expected": "a request", "actual": f"{describe(value)} raised"}
            with by_task(getting.operation, value):
                self.expect("ascheduler.add.forms", lambda: task.exception() is None, **how)
        item = self._item_of(value)
        if not self.model.can_deliver(item):
            rule, expected = "ascheduler.add.dedupe", "a request that was not handed out before"
            if item in self.model.ignored:
                rule, expected = "ascheduler.add.closed", "none that was added after close"
            differs = DOUBLED if item in self.model.seen else FOREIGN
            tail = [f"raise AssertionError({getting.name}.result())"]
            self.context.fail(rule, expected, Received(value), tail, difference=differs)
        if getting.alone and getting.after and item not in getting.after:
            self._expect_one_of("ascheduler.get.order", task, getting.after, describe(value))
        self.covered["ascheduler.get.order"] += bool(getting.alone and getting.after)
        assert item is not None
        if item not in self.retried:
            self._compare_fields(getting, value, self._request(item))
        self.model.deliver(item)
        self.handed.append(getting)
        self.last = getting

    def _compare_fields(self, getting: Running, value: Any, request: Any) -> None:
        """Report a request of another class, or a field that is not as it was; what a scheduler adds to one is its own."""
        task, class_ = getting.task, f"a {type(request).__name__}"
        self.expect(
            "ascheduler.add.forms", lambda: isinstance(task.result(), type(request)), expected=class_, actual=describe(value)
        )
        for name in self.context.driver.differences(value, request):
            asked, got = (getattr(each, name, None) for each in (request, value))
            if isinstance(asked, dict) and isinstance(got, dict) and asked.items() <= got.items():
                continue
            tail = [f"assert {getting.name}.result().{name} == {asked!r}"]
            said = f"{name}={self.context.describe(got)}"
            self.context.fail("ascheduler.add.forms", f"{name}={asked!r}", said, tail, difference=f"{ALTERED} {name}")

    def _expect_one_of(self, rule: str, task: Any, items: frozenset[int], actual: str) -> None:
        urls = [self._request(item).url for item in sorted(items)]
        expected = f"{' or '.join(urls)} (priority {PRIORITIES[min(items)]})"
        how = {"actual": actual, "difference": CANCELLED if task.cancelled() else EARLY}
        self.expect(rule, lambda: not task.cancelled() and task.result().url in urls, expected=expected, **how)

    def _compare_direct(self, adding: Running) -> None:
        """Compare who got a request that was added while all else was at rest."""
        if self.model.waiting[adding.item] or self.last is None:
            return  # nobody has got it yet
        queue, put = self.queue, f"{len(self.queue.puts) - self.puts} put"
        nothing = "nothing put into the queue"
        self.expect("ascheduler.add.direct", lambda: len(queue.puts) == self.puts, expected=nothing, actual=put, final=True)
        if passed := [getting for getting in self.gets if getting.number < self.last.number]:
            self._expect_done("ascheduler.add.direct-fifo", passed[0], f"{passed[0].name} gets the request", final=True)
        self.covered["ascheduler.add.direct-fifo"] += 1

    def _compare_tasks(self) -> None:
        """Compare what still waits when all is at rest with what may wait."""
        for adding in self.adds:
            self._expect_done("ascheduler.add.forms", adding, "add ends")
        for closing in self.closing:
            self._expect_done("ascheduler.close.queue", closing, "close ends")
        for getting in self.gets:
            rule = "ascheduler.close.waiters" if self.model.closed else "ascheduler.get.no-lost-wakeup"
            if self.model.queued or self.model.closed or getting.cancelled:
                self._expect_done(rule, getting, f"{getting.name} ends, as {self._why()}")
        self.covered["ascheduler.get.no-lost-wakeup"] += 1
        if self.model.idle and not self.model.unsure:
            for joining in self.joins:
                rule = "ascheduler.close.join" if self.model.closed and self.queue.items else "ascheduler.join"
                self._expect_done(rule, joining, "join ends, as nothing is left to do")

    def _why(self) -> str:
        return "the scheduler is closed" if self.model.closed else f"{self.model.queued} were added and not handed out"

    def _expect_done(self, rule: str, running: Running, expected: str, *, final: bool = False) -> None:
        actual = ", ".join(stuck(running.task))
        with by_task(running.operation):
            self.expect(rule, lambda: running.task.done(), expected=expected, actual=actual, final=final)

    def _expect_returned(self, rule: str, running: Running, operation: str) -> None:
        how, value = outcome_of(running.task)
        actual = f"{describe(value)} raised" if how == "raised" else f"{how} {describe(value)}"
        returned = f"{operation} returns"
        told = {"expected": returned, "actual": actual, "difference": how}
        with by_task(operation, value if how == "raised" else None):
            self.expect(rule, lambda: outcome_of(running.task)[0] == "returned", **told)

    def _expect_size(self, rule: str, holds: Callable[..., bool], value: Any, size: object) -> None:
        """Test a rule on how much is queued; if the queue holds what it must, no other rule can be the cause."""
        least, most, stored = self.model.queued, self.model.most, len(self.queue.items)
        if self.model.ignored and stored > most:
            rule = "ascheduler.add.closed"
        expected = f"{least} queued" if least == most else f"{least} to {most} queued"
        differs, final = difference_of_limits(size, least, most), least <= stored <= most
        self.expect(rule, holds, value, expected=expected, actual=describe(size), final=final, difference=differs)


def _ended(tasks: list[Running]) -> list[Running]:
    """Take those that have ended out of a list, and return them."""
    ended = [running for running in tasks if running.task.done()]
    tasks[:] = [running for running in tasks if running not in ended]
    return ended
