"""The commands of asynchronous schedulers, in lockstep with a model; the sequence is the interleaving."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.lockstep import command, machine
from queue_conformance.engine.recording import describe
from queue_conformance.engine.sequences import Command, Commands, simpler
from queue_conformance.environments.asynchronous import FIELDS
from queue_conformance.kinds.async_scheduler.attribution import ABLATIONS
from queue_conformance.kinds.async_scheduler.common import ITEMS, NUMBERS
from queue_conformance.kinds.async_scheduler.comparison import PRIORITIES, QUEUES, SchedulerComparison


class AsyncSchedulerLockstep(SchedulerComparison):
    """A scheduler and its model."""

    operations: ClassVar[Mapping[str, str]] = dict.fromkeys(("tick", "wait", "settle", "qsize", "stats"), "")
    ordinary = (" ".join(f"add:{item} settle get settle done settle" for item in range(0, len(PRIORITIES), ITEMS)),)
    needed = ("add", "get", "cancel", "join", "close", "reopen")
    ablations = ABLATIONS
    covers = ("ascheduler.close.queue", "ascheduler.close.join", "ascheduler.close.waiters", "ascheduler.add.closed")

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
    def retry(self) -> None:
        """Add a copy of the request that was handed out last, as the retry mechanism does, while all else is at rest."""
        self.settle()
        if not self.handed or self.model.unsure:
            return
        last = self.handed[-1]
        self.context.recorder.note(f"if not {last.name}.done(): sys.exit()  # another consumer got it, which may be right, too")
        again = self.record.make(f"{last.name}.result().copy()", "ascheduler.join", last.task.result().copy, "again", shown=False)
        item = self._item_of(again)
        if item is None:
            return
        retry = {"retry_count": 1, "retry_delay": 0.0}
        self.record.operate(
            f"again.meta.update({self.record.written(**retry)})", "ascheduler.join", lambda: again.meta.update(**retry)
        )
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

    @command("ascheduler.get.order", "ascheduler.get.waits", "ascheduler.get.closed", "ascheduler.get.no-lost-wakeup", weight=10)
    def get(self) -> None:
        """Begin to get a request."""
        alone = self.at_rest and not self.gets
        began = self._start("consumer", self.scheduler.get())
        if alone and not self.model.unsure:
            began.alone, began.after = True, frozenset(self.model.next())
        self.gets.append(began)

    @command("ascheduler.join", weight=2)
    def join(self) -> None:
        """Begin to join."""
        began = self._start("joining", self.scheduler.join())
        began.may_end = self._may_be_idle()
        self.joins.append(began)

    @command(weight=2)
    def close(self) -> None:
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
            self.record.operate(f"{chosen.name}.cancel()", "ascheduler.join", lambda: chosen.task.cancel() and None)
            chosen.cancelled = True

    @command("ascheduler.task-done.extra", "ascheduler.task-done.early", weight=6)
    def done(self) -> None:
        """Mark a request as done; if none is being processed, that is refused."""
        if self.model.processing:
            self._interfere()
            self.loop.call(self.scheduler.task_done)
            self.handed.pop(0)
            self.model.processing -= 1
            self._let_joins_end()
        elif self.at_rest and not self.gets and not (self.model.most and self.last):
            rule = "ascheduler.task-done.early" if self.model.most else "ascheduler.task-done.extra"
            self.expect_raises(rule, (ValueError,), lambda: self.loop.call(self.scheduler.task_done))

    @command(weight=10)
    def tick(self) -> None:
        """Run one iteration of the loop."""
        self.loop.tick()
        self.at_rest = False
        self._look()

    @command(weight=4)
    def wait(self) -> None:
        """Let a moment pass, half of what slow queues need."""
        self.loop.advance(0.05)
        self.at_rest = False
        self._look()

    @command(weight=4)
    def settle(self) -> None:
        """Run until nothing can happen any more, and compare."""
        self.loop.settle()
        self._look()
        self._compare_tasks()
        self.at_rest = True

    @command("ascheduler.qsize", weight=2)
    def qsize(self) -> None:
        """Compare ``qsize`` when all is at rest."""
        self.settle()
        size = self.loop.run(self.scheduler.qsize(), "size")
        least, most = self.model.queued, self.model.most
        self._expect_size("ascheduler.qsize", lambda size: isinstance(size, int) and least <= size <= most, size, size)

    @command("ascheduler.stats.keys", "ascheduler.stats.pending", weight=2)
    def stats(self) -> None:
        """Compare the statistics when all is at rest."""
        self.settle()
        stats = self.loop.run(self.scheduler.stats(), "stats")
        self.expect(
            "ascheduler.stats.keys",
            lambda stats: isinstance(stats, dict) and all(isinstance(stats.get(name), int) for name in NUMBERS),
            stats,
            expected=f"numbers for {', '.join(NUMBERS)}",
        )
        least, most = self.model.queued, self.model.most
        self._expect_size("ascheduler.stats.pending", lambda stats: least <= stats["queued"] <= most, stats, stats["queued"])
        expected = [("pending", "ascheduler.stats.pending", self.model.processing)]
        expected += [
            ("waiting_consumers", "ascheduler.stats.keys", len(self.gets)),
            ("closed", "ascheduler.stats.keys", int(self.model.closed)),
        ]
        if not self.model.unsure:
            before = stats["seen"] - len(self.model.seen)
            if self._first and 0 <= before <= self._first:  # what it says first, it says to the end
                self._remembered = self._remembered if self._remembered is not None else before
            seen = len(self.model.seen) + (self._remembered or 0)
            expected.append(("seen", "ascheduler.add.closed" if self.model.ignored else "ascheduler.stats.keys", seen))
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


LOCKSTEP = AsyncSchedulerLockstep

machine(AsyncSchedulerLockstep)
