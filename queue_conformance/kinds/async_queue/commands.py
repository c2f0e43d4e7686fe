"""The commands of asynchronous queues, in lockstep with a model; sequences decide when each task goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.lockstep import command, machine
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.sequences import Command, Commands, simpler
from queue_conformance.environments.asynchronous import FIELDS
from queue_conformance.kinds.async_queue.attribution import ABLATIONS
from queue_conformance.kinds.async_queue.comparison import TaskComparison, moment
from queue_conformance.kinds.async_queue.driver import PLAIN, PRIORITIES, REAL
from queue_conformance.kinds.async_queue.subject import Call, Pending
from queue_conformance.loops import table_of

DELAY = 0.0006
"""Seconds by which a server is delayed while moments are counted, so that at least one lies between any two of its answers."""


_PUTS = ("put", "start_put")


def simulated(*arguments: int) -> Callable[[CheckContext], Sequence[int]]:
    """Return the arguments of a command that is generated only where the kit drives the loop."""
    return lambda context: arguments if context.driver.simulated else ()


class AsyncQueueLockstep(TaskComparison):
    """One queue and its model.

    ``put`` and ``get`` run to their end. ``start_put`` and ``start_get`` only make a task: how far it comes is told by
    ``tick``, ``run_job`` and ``deliver``, and ``cancel_put`` and ``cancel_get`` cancel it there.
    """

    operations: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("tick", "begin_job", "run_job", "deliver", "settle", "size"), ""),
        "start_put": "put",
        "start_get": "get",
        "limit": "maxsize",
    }
    needed = ("put", "get")
    ablations = ABLATIONS
    timed = ("aqueue.get.cancel-safe", "aqueue.put.cancelled-no-trace")
    covers = ("aqueue.persist.reopen",)
    ordinary = (" ".join(f"put:{kind} size get size put:{kind} reopen get" for kind in range(0, PLAIN, len(PRIORITIES))),)

    @classmethod
    def special(cls, command: Command) -> Iterable[str]:
        return ("fields",) if command.name in _PUTS and command.argument >= len(PRIORITIES) else ()

    @classmethod
    def prepare(cls, context: CheckContext) -> int:
        if context.driver.simulated:
            return super().prepare(context)
        context.notes.append(REAL.format("tasks went on"))
        context.examples = min(context.examples, 15)
        return 45

    @classmethod
    def failed(cls, context: CheckContext) -> None:
        context.driver.hurried = True  # where time is real, it waits no longer than needed

    @classmethod
    def table(cls, context: CheckContext) -> dict[Command, int]:
        found = super().table(context)  # with all fields together, requests are put as often as if there were none
        return {each: weight if each.name in _PUTS else weight * FIELDS.period for each, weight in found.items()}

    @classmethod
    def varied(cls, context: CheckContext, sequence: Commands) -> Commands:
        driver, varied = context.driver, []
        for each in sequence:
            if each.name in _PUTS and each.argument < len(PRIORITIES):
                driver.turn += 1
                each = each._replace(argument=each.argument + driver.turn * len(PRIORITIES) % PLAIN)
            varied.append(each)
        return tuple(varied)

    @classmethod
    def simpler(cls, command: Command) -> Iterable[int]:
        return simpler(command.argument, len(PRIORITIES)) if command.name in _PUTS else super().simpler(command)

    # --- Commands that run to their end ----------------------------------------------------------------------------

    @command("aqueue.put.accept", arguments=range(PLAIN))
    def put(self, kind: int) -> None:
        """Put a new request; its kind decides its priority, and what else it has."""
        queue, item = self.queue, self._new_item(kind)
        self._quiesce()
        if self._waiting() or self.model.closed or self.model.may_be_full:
            self._begin_put(item)
            self._quiesce()
            return
        self.model.begin_put(item.number, item.value.priority)
        with self.about("aqueue.bound.usable" if self.model.limit else "aqueue.put.accept"):
            self.loop.run(queue.put(item, priority=item.value.priority))
        self.model.end_put(item.number)
        self.covered["aqueue.put.accept"] += 1
        self.covered["aqueue.bound.usable"] += bool(self.model.limit)

    @command("aqueue.bound.limit", "aqueue.bound.full-signal", "aqueue.bound.usable", arguments=(1, 2), needs=["bounded"])
    def limit(self, size: int) -> None:
        """Give the queue a bound, if it is not open yet."""
        if self._queue is None:
            self.model.limit = size

    @command("aqueue.order.priority", "aqueue.order.fifo", "aqueue.get.blocks", "aqueue.get.concurrent", weight=3)
    def get(self) -> None:
        """Get a request, where there is one."""
        self._quiesce()
        if self._waiting():
            return
        if self.model.closed or not self.model.least:
            self.start_get()
            self._quiesce()
            return
        try:
            value = self._get()
        except OperationRaised as raised:
            self._check_lost()
            self._get_raised(raised)
        self._compare_received(value)

    @command("aqueue.size")
    def size(self) -> None:
        """Compare ``size``."""
        self._quiesce()
        if self.model.closed:
            return
        size, least, most = self._size(), self.model.least, self.model.most
        self.covered["aqueue.bound.limit"] += "full" in self.events
        self._expect_stored(size)
        if self.model.late and size > most:  # what is too much tells itself
            while self._gets_another():
                pass
        expected = f"{least}" if least == most else f"{least} to {most}"
        self.expect("aqueue.size", lambda size: least <= size <= most, size, expected=expected)

    @command("aqueue.clear")
    def clear(self) -> None:
        """Clear."""
        queue = self.queue  # which begins the script, even if it is opened for this
        self._quiesce()
        if not self.model.closed:
            with self.aside():
                self.size()
            self.loop.run(queue.clear())
            self.model.clear()
            self.events.add("clear")
            size = self._size()
            self.expect("aqueue.clear", lambda size: size == 0, size, final=True)

    @command("aqueue.get.close-wakes", "aqueue.get.closed-drains", "aqueue.put.closed")
    def close(self) -> None:
        """Close: what waits ends, what is put is ignored, what is left can still be got."""
        self._quiesce()
        if not self.model.closed:
            self.loop.run(self.queue.close())
            self.model.closed = True
            for task in self._waiting():
                task.closed = True
            self._quiesce()

    @command(weight=2, needs=["persistent"])
    def reopen(self) -> None:
        """Close, and build a persistent queue again."""
        self._cancel_all()
        self.close()
        self._tasks.clear()
        self.model.closed = False
        self._open("aqueue.persist.reopen")
        self.events.add("reopen")

    # --- Tasks -------------------------------------------------------------------------------------------------------

    @command(arguments=simulated(*range(PLAIN)))
    def start_put(self, kind: int) -> None:
        """Begin to put a new request."""
        if not self.model.closed:
            self._begin_put(self._new_item(kind))

    def _begin_put(self, item: Any) -> None:
        queue = self.queue
        if self.model.full and not self._waiting() and not self.model.closed:
            self._check_lost(goes_on=True)  # or else there may be room
        self.model.begin_put(item.number, item.value.priority)
        pending = self._start("putting", queue.put(item, priority=item.value.priority), item.number)
        pending.others = set(self.model.entries) - {item.number}
        for other in self._tasks:
            if other.number is not None:
                other.others.add(item.number)
        self._tasks.append(pending)
        self._puts.append(pending.variable)

    @command(arguments=simulated(0), weight=4)
    def start_get(self) -> None:
        """Begin to get a request."""
        self._tasks.append(self._start("getting", self.queue.get()))
        self._tasks[-1].others = {number for number, entry in self.model.entries.items() if entry.certain}

    def _start(self, name: str, call: Call, number: int | None = None) -> Pending:
        variable = self.driver.new_name(name)
        return Pending(variable, self.loop.start(call, variable), number)

    @command(arguments=simulated(0), weight=4)
    def tick(self) -> None:
        """Run what is ready; on the stock loop, let a moment pass."""
        loop = self.driver.loop
        if self.driver.simulated:
            self._drive("loop.tick()", loop.tick)
        else:
            if self.context.backend is not None:
                self.context.backend.slow(DELAY)  # too little for a fault: a client that gives up is still excused
            source = moment(self._moments)
            self._moments += 1
            self._drive(source, lambda: eval(source, {"loop": loop}))

    @command(weight=0)
    def begin_job(self) -> None:
        """Let a thread of an executor begin with its work, so that nobody can take that back."""
        loop = self.driver.loop
        self._drive("loop.begin_job()", loop.begin_job, needed=any(not job.begun for job in loop.jobs))

    @command(arguments=simulated(0, 1))
    def run_job(self, number: int) -> None:
        """Let a thread of an executor do its work."""
        loop = self.driver.loop
        self._drive(f"loop.run_job({number})", lambda: loop.run_job(number), needed=any(not job.ran for job in loop.jobs))

    @command(arguments=simulated(0, 1))
    def deliver(self, number: int) -> None:
        """Let the result of a thread reach the loop."""
        loop = self.driver.loop
        self._drive(f"loop.deliver({number})", lambda: loop.deliver(number), needed=any(job.ran for job in loop.jobs))

    @command(arguments=simulated(0, 1))
    def cancel_get(self, number: int) -> None:
        """Cancel one of the tasks that get."""
        self._cancel([task for task in self._tasks if task.number is None], number)

    @command(arguments=simulated(0, 1, 2))
    def cancel_put(self, number: int) -> None:
        """Cancel one of the tasks that put: the request may be stored, or not."""
        self._cancel([task for task in self._tasks if task.number is not None], number)

    def _cancel(self, tasks: list[Pending], number: int) -> None:
        tasks = [task for task in tasks if not task.task.done() and not task.cancelled]
        if tasks:
            chosen = tasks[number % len(tasks)]
            self.context.recorder.note(f"{chosen.variable}.cancel()")
            self.context.recorder.remark(table_of([(chosen.variable, chosen.task)]))
            self.driver.loop.call(chosen.task.cancel)
            chosen.cancelled = True
            if chosen.number is None:
                self._cancelled.append(chosen.variable)
            self.events.add("cancel" if chosen.number is None else "cancel_put")

    def _cancel_all(self) -> None:
        """Cancel what waits to get, before the end."""
        self._quiesce()
        for _ in range(len(self._tasks)):
            self.cancel_get(0)
        self._quiesce()

    def _drive(self, source: str, function: Any, *, needed: bool = True) -> None:
        if self._tasks and needed:
            going = [(task.variable, task.task) for task in self._waiting()]
            self.context.recorder.call(source, "aqueue.get.blocks", function)
            self.context.recorder.remark(table_of(going))

    @command(arguments=simulated(0))
    def settle(self) -> None:
        """Let everything happen that can, and compare."""
        self._quiesce()

    def finish(self) -> None:
        if self._queue is None:
            return
        self._cancel_all()
        self._drain()
        if not self.model.closed:
            self.size()
            if not self.driver.without_close:
                self.loop.run(self.queue.close())
            self.covered["aqueue.fault.recovers"] += "full" in self.events
            self.model.closed = True
        if self.misplaced is not None and self.driver.simulated:
            raise self.misplaced

    def _drain(self) -> None:
        while self.model.least:
            self.get()
        if self.model.closed:
            while self._gets_another():
                pass
            return
        while self.model.most and self._size() > 0 and self._gets_another():
            pass
        if not self._waiting():
            self.model.entries.clear()

    def _gets_another(self) -> bool:
        """Begin to get, and return whether a request came out."""
        before = len(self.model.delivered)
        self.start_get()
        self._quiesce()
        return len(self.model.delivered) > before


LOCKSTEP = AsyncQueueLockstep

machine(AsyncQueueLockstep)
