"""The commands of asynchronous schedulers, in lockstep with a model; the sequence is the interleaving."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from queue_conformance.engine.case import Case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.lockstep import Lockstep, command, machine
from queue_conformance.engine.outcomes import NotCovered, Received, RuleFailed, operation_of
from queue_conformance.engine.recording import describe
from queue_conformance.engine.sequences import Command, Commands, simpler
from queue_conformance.environments.asynchronous import FIELDS
from queue_conformance.kinds.async_queue.fixtures import Call, RecordedLoop
from queue_conformance.kinds.async_scheduler.attribution import ABLATIONS
from queue_conformance.kinds.async_scheduler.common import ITEMS, LOST, MEMORY, NUMBERS, ON_STOCK_LOOP, SLOW, SUSPENDING
from queue_conformance.kinds.async_scheduler.fixtures import RULES, SchedulerSubject, page
from queue_conformance.kinds.async_scheduler.model import AsyncSchedulerModel
from queue_conformance.loops import outcome_of, stuck

FORMS, JOIN, KEYS = "ascheduler.add.forms", "ascheduler.join", "ascheduler.stats.keys"

PRIORITIES = (0, 0, 10, -5, 3, 10, 0, -5) * FIELDS.period
"""The priorities of the items that sequences add, by their numbers."""

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


class AsyncSchedulerLockstep(Lockstep):
    """A scheduler and its model."""

    operations: ClassVar[Mapping[str, str]] = dict.fromkeys(("tick", "wait", "settle", "qsize", "stats"), "")
    ordinary = (" ".join(f"add:{item} settle get settle done settle" for item in range(0, len(PRIORITIES), ITEMS)),)
    needed = ("add", "get", "cancel", "join", "close", "reopen")
    ablations = ABLATIONS
    covers = ("ascheduler.close.queue", "ascheduler.close.join", "ascheduler.close.waiters", "ascheduler.add.closed")

    def __init__(self, context: CheckContext, number: int) -> None:
        if not context.driver.simulated:
            raise NotCovered(ON_STOCK_LOOP)
        super().__init__(context, number)
        self.case = Case(context, JOIN)
        self.record, self.sources = self.case.record, self.case.sources
        self.loop = RecordedLoop(context.driver, self.record, lambda: JOIN)
        self.request = page(self.case)
        self._started = 0
        self._first = 0
        self._remembered: int | None = 0  # how many requests of earlier runs it knows
        self._begin(QUEUES[0])

    @classmethod
    def table(cls, context: CheckContext) -> dict[Command, int]:
        found, fields = super().table(context), FIELDS.period
        share = {each: fields // 2 if each.argument < ITEMS else 1 for each in found if each.name == "add"}
        return {each: share.get(each, weight * fields) for each, weight in found.items()}  # half of what is added is plain

    @classmethod
    def varied(cls, context: CheckContext, sequence: Commands) -> Commands:
        turns: dict[int, int] = {}
        for each in sequence:
            if each.name == "add" and each.argument not in turns:
                turns[each.argument] = context.driver.turn = (context.driver.turn + 1) % FIELDS.period
        return tuple(
            each._replace(argument=each.argument + turns[each.argument] * ITEMS) if each.name == "add" else each
            for each in sequence
        )

    @classmethod
    def special(cls, command: Command) -> Iterable[str]:
        return ("fields",) if command.name == "add" and command.argument >= ITEMS else ()

    @classmethod
    def simpler(cls, command: Command) -> Iterable[int]:
        return simpler(command.argument, ITEMS) if command.name == "add" else super().simpler(command)

    def _request(self, item: int) -> Any:
        return self.request(self._first + item, item // ITEMS, priority=PRIORITIES[item])

    def _begin(self, kind: str) -> None:
        driver = self.context.driver
        queue = self.record.make(f"{kind}()", JOIN, driver.named(kind), "queue", shown=False)
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

    # --- Commands --------------------------------------------------------------------------------------------------

    @command(
        *("ascheduler.add.forms", "ascheduler.add.dedupe", "ascheduler.add.direct", "ascheduler.add.direct-fifo"),
        arguments=range(len(PRIORITIES)),
        weight=2,
    )
    def add(self, item: int) -> None:
        """Begin to add an item."""
        self._add(self._request(item), item, False)

    @command("ascheduler.retry", weight=2)
    def retry(self, _argument: int = 0) -> None:
        """Add a copy of the request that was handed out last, as the retry mechanism does, while all else is at rest."""
        self.settle()
        if not self.handed or self.model.unsure:
            return
        last = self.handed[-1]
        self.context.recorder.note(f"if not {last.name}.done(): sys.exit()  # another consumer got it, which may be right, too")
        again = self.record.make(f"{last.name}.result().copy()", JOIN, last.task.result().copy, "again", shown=False)
        item = self._item_of(again)
        if item is None:
            return
        retry = {"retry_count": 1, "retry_delay": 0.0}
        self.record.operate(f"again.meta.update({self.record.written(**retry)})", JOIN, lambda: again.meta.update(**retry))
        self.retried.add(item)
        right = len(self.queue.items) == self.model.queued
        self._add(self.case.sources.give(again, "again"), item, True)
        self.loop.settle()
        self._look()
        if right and not self.model.unsure:
            queue, expected = self.queue, f"{self.model.queued} queued"
            self.expect(
                "ascheduler.retry",
                lambda: len(queue.items) >= self.model.queued,
                expected=expected,
                actual=f"{len(queue.items)} queued",
                final=True,
            )
        self.settle()

    def _add(self, request: Any, item: int, retry: bool) -> None:
        alone = self.at_rest
        began = self._start("adding", self.scheduler.add(request))
        if self.model.add(item, retry, closing=bool(self.closing)):
            began.item = item
        began.alone = alone and began.item >= 0
        self.puts = len(self.queue.puts)
        self.adds.append(began)

    @command("ascheduler.get.order", "ascheduler.get.waits", "ascheduler.get.closed", LOST, weight=10)
    def get(self, _argument: int = 0) -> None:
        """Begin to get a request."""
        alone = self.at_rest and not self.gets
        began = self._start("consumer", self.scheduler.get())
        if alone and not self.model.unsure:
            began.alone, began.after = True, frozenset(self.model.next())
        self.gets.append(began)

    @command("ascheduler.join", weight=2)
    def join(self, _argument: int = 0) -> None:
        """Begin to join."""
        began = self._start("joining", self.scheduler.join())
        began.may_end = self._may_be_idle()
        self.joins.append(began)

    @command(weight=2)
    def close(self, _argument: int = 0) -> None:
        """Begin to close; what is being added may come too late."""
        for adding in self.adds:
            if adding.item >= 0 and self.model.waiting[adding.item]:
                self.model.make_uncertain(adding.item)
        self.closing.append(self._start("closing", self.scheduler.close()))
        self.model.closed = True
        self._let_joins_end()

    @command("ascheduler.add.direct-cancel", arguments=range(3), weight=2)
    def cancel(self, number: int) -> None:
        """Cancel a consumer that has not ended."""
        if self.gets:
            chosen = self.gets[number % len(self.gets)]
            self._interfere()
            self.record.operate(f"{chosen.name}.cancel()", JOIN, lambda: chosen.task.cancel() and None)
            chosen.cancelled = True

    @command("ascheduler.task-done.extra", "ascheduler.task-done.early", weight=6)
    def done(self, _argument: int = 0) -> None:
        """Mark a request as done; if none is being processed, that is refused."""
        if self.model.processing:
            self._interfere()
            self.loop.call(self.scheduler.task_done)
            self.handed.pop(0)
            self.model.processing -= 1
            self._let_joins_end()
        elif self.at_rest and not self.gets and not (self.model.most and self.last):
            rule = "ascheduler.task-done.early" if self.model.most else "ascheduler.task-done.extra"
            self.context.expect_raises(rule, (ValueError,), lambda: self.loop.call(self.scheduler.task_done))

    @command(weight=10)
    def tick(self, _argument: int = 0) -> None:
        """Run one iteration of the loop."""
        self.loop.tick()
        self.at_rest = False
        self._look()

    @command(weight=4)
    def wait(self, _argument: int = 0) -> None:
        """Let a moment pass, half of what slow queues need."""
        self.loop.advance(0.05)
        self.at_rest = False
        self._look()

    @command(weight=4)
    def settle(self, _argument: int = 0) -> None:
        """Run until nothing can happen any more, and compare."""
        self.loop.settle()
        self._look()
        self._compare_tasks()
        self.at_rest = True

    @command("ascheduler.qsize", weight=2)
    def qsize(self, _argument: int = 0) -> None:
        """Compare ``qsize`` when all is at rest."""
        self.settle()
        size = self.loop.run(self.scheduler.qsize(), "size")
        least, most = self.model.queued, self.model.most
        self._expect_size("ascheduler.qsize", lambda size: isinstance(size, int) and least <= size <= most, size, size)

    @command(KEYS, "ascheduler.stats.pending", weight=2)
    def stats(self, _argument: int = 0) -> None:
        """Compare the statistics when all is at rest."""
        self.settle()
        stats = self.loop.run(self.scheduler.stats(), "stats")
        self.expect(
            KEYS,
            lambda stats: isinstance(stats, dict) and all(isinstance(stats.get(name), int) for name in NUMBERS),
            stats,
            expected=f"numbers for {', '.join(NUMBERS)}",
        )
        least, most = self.model.queued, self.model.most
        self._expect_size("ascheduler.stats.pending", lambda stats: least <= stats["queued"] <= most, stats, stats["queued"])
        expected = [("pending", "ascheduler.stats.pending", self.model.processing)]
        expected += [("waiting_consumers", KEYS, len(self.gets)), ("closed", KEYS, int(self.model.closed))]
        if not self.model.unsure:
            before = stats["seen"] - len(self.model.seen)
            if self._first and 0 <= before <= self._first:  # what it says first, it says to the end
                self._remembered = self._remembered if self._remembered is not None else before
            seen = len(self.model.seen) + (self._remembered or 0)
            expected.append(("seen", "ascheduler.add.closed" if self.model.ignored else KEYS, seen))
        for name, rule, number in expected:
            said = describe(stats[name])
            self.expect(rule, lambda stats: stats[name] == number, stats, expected=f"{name} {number}", actual=said)  # noqa: B023

    @command(arguments=range(len(QUEUES)))
    def reopen(self, number: int) -> None:
        """Finish, and begin again over another queue, with other requests: the scheduler may remember those that it has seen."""
        self.finish()
        self._first += len(PRIORITIES)
        self._remembered = None
        self._begin(QUEUES[number])

    def finish(self) -> None:
        """Take out everything that is left, and join."""
        self.settle()
        for _ in range(self.model.most + 1):
            if self.gets or not self.model.queued:
                break
            self.get()
            self.settle()
        while self.model.processing:
            self.done()
        self.join()
        self.settle()

    # --- Comparisons ---------------------------------------------------------------------------------------------------

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
            self._expect_returned(FORMS, adding, "add")
            if adding.alone:
                self._compare_direct(adding)
        for joining in _ended(self.joins):
            if not joining.may_end and not self._may_be_idle():
                waits = f"it waits, {self.model.queued} queued, {self.model.processing} being processed"
                self.expect(JOIN, lambda: not joining.task.done(), expected=waits, actual="it has ended")  # noqa: B023
            self.covered[JOIN] += 1
        for closing in _ended(self.closing):
            self._expect_returned("ascheduler.close.queue", closing, "close")
        self._let_joins_end()

    def _compare_received(self, getting: Running) -> None:
        """Compare what a consumer ended with."""
        task = getting.task
        kind, value = outcome_of(task)
        if kind == "cancelled":
            if not getting.cancelled and not self.model.closed:
                waits = "ascheduler.get.waits"
                self.expect(waits, lambda: not task.cancelled(), expected="it waits", actual="CancelledError")
            if getting.alone and getting.after:
                size = self.loop.run(self.scheduler.qsize(), "size")
                rule = "ascheduler.get.closed" if size >= self.model.queued else LOST
                self._expect_one_of(rule, task, getting.after, "CancelledError")
            self.covered["ascheduler.get.closed"] += not getting.cancelled
            return
        if kind == "raised":
            raised = f"{describe(value)} raised"
            self.expect(FORMS, lambda: task.exception() is None, expected="a request", actual=raised)
        item = self._item_of(value)
        if not self.model.can_deliver(item):
            rule, expected = "ascheduler.add.dedupe", "a request that was not handed out before"
            if item in self.model.ignored:
                rule, expected = "ascheduler.add.closed", "none that was added after close"
            self.context.fail(rule, expected, Received(value), [f"raise AssertionError({getting.name}.result())"])
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
        """Report a field that is not as it was; what a scheduler adds to one is its own."""
        for name in self.context.driver.differences(value, request):
            asked, got = (getattr(each, name, None) for each in (request, value))
            if isinstance(asked, dict) and isinstance(got, dict) and asked.items() <= got.items():
                continue
            tail = [f"assert {getting.name}.result().{name} == {asked!r}"]
            self.context.fail(FORMS, f"{name}={asked!r}", f"{name}={self.context.describe(got)}", tail)

    def _expect_one_of(self, rule: str, task: Any, items: frozenset[int], actual: str) -> None:
        urls = [self._request(item).url for item in sorted(items)]
        expected = f"{' or '.join(urls)} (priority {PRIORITIES[min(items)]})"
        self.expect(rule, lambda: not task.cancelled() and task.result().url in urls, expected=expected, actual=actual)

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
            self._expect_done(FORMS, adding, "add ends")
        for closing in self.closing:
            self._expect_done("ascheduler.close.queue", closing, "close ends")
        for getting in self.gets:
            rule = "ascheduler.close.waiters" if self.model.closed else LOST
            if self.model.queued or self.model.closed or getting.cancelled:
                self._expect_done(rule, getting, f"{getting.name} ends, as {self._why()}")
        self.covered[LOST] += 1
        if self.model.idle and not self.model.unsure:
            for joining in self.joins:
                rule = "ascheduler.close.join" if self.model.closed and self.queue.items else JOIN
                self._expect_done(rule, joining, "join ends, as nothing is left to do")

    def _why(self) -> str:
        return "the scheduler is closed" if self.model.closed else f"{self.model.queued} were added and not handed out"

    def _expect_done(self, rule: str, running: Running, expected: str, *, final: bool = False) -> None:
        actual = ", ".join(stuck(running.task))
        try:
            self.expect(rule, lambda: running.task.done(), expected=expected, actual=actual, final=final)
        except RuleFailed as failure:
            failure.operation = running.operation
            raise

    def _expect_returned(self, rule: str, running: Running, operation: str) -> None:
        how, value = outcome_of(running.task)
        actual = f"{describe(value)} raised" if how == "raised" else f"{how} {describe(value)}"
        returned = f"{operation} returns"
        self.expect(rule, lambda: outcome_of(running.task)[0] == "returned", expected=returned, actual=actual)

    def _expect_size(self, rule: str, holds: Callable[..., bool], value: Any, size: object) -> None:
        """Test a rule on how much is queued; if the queue holds what it must, no other rule can be the cause."""
        least, most, stored = self.model.queued, self.model.most, len(self.queue.items)
        if self.model.ignored and stored > most:
            rule = "ascheduler.add.closed"
        expected = f"{least} queued" if least == most else f"{least} to {most} queued"
        self.expect(rule, holds, value, expected=expected, actual=describe(size), final=least <= stored <= most)


def _ended(tasks: list[Running]) -> list[Running]:
    """Take those that have ended out of a list, and return them."""
    ended = [running for running in tasks if running.task.done()]
    tasks[:] = [running for running in tasks if running not in ended]
    return ended


LOCKSTEP = AsyncSchedulerLockstep

machine(AsyncSchedulerLockstep)
