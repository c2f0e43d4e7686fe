"""An asynchronous queue and its oracle, side by side; programs decide when each task goes on."""

from __future__ import annotations

from functools import partial
from typing import Any

from queue_conformance.implementations.drivers.asyncqueue import PRIORITIES, Pending
from queue_conformance.implementations.recording import NOTHING, OperationRaised, Remark
from queue_conformance.loops import table_of
from queue_conformance.suites.aqueues.attribution import EXPERIMENTS
from queue_conformance.suites.aqueues.judgement import LOST, MOMENT, Judge
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import RuleBroken
from queue_conformance.suites.programs import Operation, Play, Player, Program, drop

DELAY = 2 * MOMENT
"""Seconds by which a server is delayed while moments are counted, so that some of them lie between any two of its answers."""


class AsyncQueuePair(Judge):
    """One queue and its oracle; the operations of programs are its methods.

    ``put`` and ``get`` run to their end. ``start_put`` and ``start_get`` only make a task: how far it comes is told by
    ``tick``, ``run_job`` and ``deliver``, and ``cancel_put`` and ``cancel_get`` cancel it there.

    Args:
        bench: where the check works.
        number: which of the queues that are open side by side this is; only one is used.

    Every method raises ``RuleBroken`` at a difference, and ``OperationRaised`` if the implementation raises.
    """

    def __init__(self, bench: Bench, number: int) -> None:
        super().__init__(bench)

    # --- Operations that run to their end ----------------------------------------------------------------------------

    def limit(self, size: int) -> None:
        """Give the queue a bound, if it is not open yet."""
        if self._queue is None and self.bench.offers("bounded"):
            self.model.limit = size

    def put(self, kind: int) -> None:
        """Put a new request; its kind decides its priority."""
        queue, item = self.queue, self._new_item(kind)
        self._quiesce()
        if self._waiting() or self.model.closed or self.model.may_be_full:
            self._begin_put(item)
            self._quiesce()
            return
        self.model.begin_put(item.number, item.value.priority)
        queue.put(item, owner="aqueue.bound.usable" if self.model.limit else LOST)
        self.model.end_put(item.number)
        self.bench.examined[LOST] += 1
        self.bench.examined["aqueue.bound.usable"] += bool(self.model.limit)

    def get(self, _item: int = 0) -> None:
        """Get a request, where there is one."""
        self._quiesce()
        if self._waiting():
            return
        if self.model.closed or not self.model.least:
            self.start_get()
            self._quiesce()
            return
        try:
            value = self.queue.get()
        except OperationRaised as raised:
            self._lost_or(partial(self._get_raised, raised))
        self._from = ""
        self._judge(value, "got", ordered=True)

    def size(self, _item: int = 0) -> None:
        """Compare ``size``."""
        self._quiesce()
        if self.model.closed:
            return
        size, least, most = self.queue.size(), self.model.least, self.model.most
        self.bench.examined["aqueue.size"] += 1
        self.bench.examined["aqueue.bound.limit"] += "full" in self._seen
        if type(size) is int and least <= size <= most:
            return
        expected = f"{least}" if least == most else f"{least} to {most}"
        if type(size) is int:
            self._expect_stored(size)
        self._fail("aqueue.size", expected, size, f"{least} <= size <= {most}", "size")

    def clear(self, _item: int = 0) -> None:
        """Clear."""
        self._quiesce()
        if not self.model.closed:
            self.size()
            if self.bench.recorder.steps[-1].source.startswith("size = "):
                self.bench.recorder.steps.pop()
            self.queue.clear()
            self.model.clear()
            self._seen.add("clear")
            size = self.queue.size()
            self.bench.expect("aqueue.clear", size == 0, "size 0", size, "size == 0", final=True)

    def close(self, _item: int = 0) -> None:
        """Close: what waits ends, what is put is ignored, what is left can still be got."""
        self._quiesce()
        if not self.model.closed:
            self.queue.close()
            self.model.closed = True
            for task in self._waiting():
                task.closed = True
            self._quiesce()

    def reopen(self, _item: int = 0) -> None:
        """Close, and build a persistent queue again."""
        if not self.bench.offers("persistent"):
            return
        self._cancel_all()
        self.close()
        self._tasks.clear()
        self.model.closed = False
        self._open("aqueue.persist.reopen")
        self._seen.add("reopen")

    # --- Tasks -------------------------------------------------------------------------------------------------------

    def start_put(self, kind: int) -> None:
        """Begin to put a new request."""
        if not self.model.closed:
            self._begin_put(self._new_item(kind))

    def _begin_put(self, item: Any) -> None:
        queue = self.queue
        if self.model.full and not self._waiting() and not self.model.closed:
            self._check_lost()  # or else there may be room
        self.model.begin_put(item.number, item.value.priority)
        pending = queue.start_put(item)
        pending.crowd = set(self.model.entries) - {item.number}
        for other in self._tasks:
            if other.number is not None:
                other.crowd.add(item.number)
        self._tasks.append(pending)
        self._puts.append(pending.variable)

    def start_get(self, _item: int = 0) -> None:
        """Begin to get a request."""
        self._tasks.append(self.queue.start_get())
        self._tasks[-1].crowd = {number for number, entry in self.model.entries.items() if entry.certain}

    def tick(self, _item: int = 0) -> None:
        """Run what is ready; on the stock loop, let a moment pass."""
        loop = self.driver.loop
        if self.driver.simulated:
            self._drive("loop.tick()", loop.tick)
        else:
            if self.bench.backend is not None:
                self.bench.backend.proxy.slow(DELAY)  # too little for a fault: a client that gives up is still excused
            self._drive(f"loop.advance({MOMENT})", lambda: loop.advance(MOMENT))

    def run_job(self, number: int) -> None:
        """Let a thread of an executor do its work."""
        self._drive(f"loop.run_job({number})", lambda: self.driver.loop.run_job(number), needed=not_run(self.driver.loop))

    def deliver(self, number: int) -> None:
        """Let the result of a thread reach the loop."""
        loop = self.driver.loop
        self._drive(f"loop.deliver({number})", lambda: loop.deliver(number), needed=any(job.ran for job in loop.jobs))

    def cancel_get(self, number: int) -> None:
        """Cancel one of the tasks that get."""
        self._cancel([task for task in self._tasks if task.number is None], number)

    def cancel_put(self, number: int) -> None:
        """Cancel one of the tasks that put: the request may be stored, or not."""
        self._cancel([task for task in self._tasks if task.number is not None], number)

    def _cancel(self, tasks: list[Pending], number: int) -> None:
        tasks = [task for task in tasks if not task.task.done() and not task.cancelled]
        if tasks:
            chosen = tasks[number % len(tasks)]
            self.bench.recorder.note(f"{chosen.variable}.cancel()")
            self.bench.recorder.steps[-1].result = Remark(table_of([(chosen.variable, chosen.task)]))
            self.driver.loop.call(chosen.task.cancel)
            chosen.cancelled = True
            if chosen.number is None:
                self._cancelled.append(chosen.variable)
            self._seen.add("cancel" if chosen.number is None else "cancel_put")

    def _cancel_all(self) -> None:
        """Cancel what waits to get, before the end."""
        self._quiesce()
        for _ in range(len(self._tasks)):
            self.cancel_get(0)
        self._quiesce()

    def _drive(self, source: str, function: Any, *, needed: bool = True) -> None:
        if self._tasks and needed:
            going = [(task.variable, task.task) for task in self._waiting()]
            self.bench.recorder.call(source, "aqueue.get.blocks", function)
            self.bench.recorder.steps[-1].result = Remark(table_of(going)) if going else NOTHING

    def settle(self, _item: int = 0) -> None:
        """Let everything happen that can, and compare."""
        self._quiesce()

    def finish(self) -> None:
        """Take out and judge everything that is left, and close."""
        if self._queue is None:
            return
        self._cancel_all()
        self._drain()
        if not self.model.closed:
            self.size()
            self.queue.close()
            self.model.closed = True

    def _drain(self) -> None:
        while self.model.least:
            self.get()
        if self.model.closed:
            while not self._tasks or self._waiting():
                before = len(self.model.delivered)
                self.start_get()
                self._quiesce()
                if len(self.model.delivered) == before:
                    return
            return
        while self.model.most and self.queue.size() > 0:
            self.start_get()
            before = len(self.model.delivered)
            self._quiesce()
            if len(self.model.delivered) == before:
                break
        if not self._waiting():
            self.model.entries.clear()


def not_run(loop: Any) -> bool:
    """Whether a job of an executor waits for its thread."""
    return any(not job.ran for job in loop.jobs)


def operations(bench: Bench) -> list[Operation]:
    """Return what programs are drawn from, simple operations first."""
    kinds = range(len(PRIORITIES))
    table = [*(Operation("put", 0, kind) for kind in kinds), *[Operation("get")] * 3, Operation("size")]
    if bench.driver.simulated:
        table += [*(Operation("start_put", 0, kind) for kind in kinds), *[Operation("start_get")] * 4]
        table += [*[Operation("tick")] * 4, Operation("settle")]
        table += [Operation(name, 0, number) for name in ("run_job", "deliver", "cancel_get", "cancel_put") for number in (0, 1)]
    table += [Operation("clear"), Operation("close")]
    if bench.offers("bounded"):
        table += [Operation("limit", 0, 1), Operation("limit", 0, 2)]
    if bench.offers("persistent"):
        table += [Operation("reopen")] * 2
    return table


class AsyncPlayer(Player):
    """Plays programs; where time is real, it waits no longer than needed once something is known to be broken."""

    def attribute(self, play: Play, failure: RuleBroken) -> RuleBroken:
        self.bench.driver.hurried = True
        found = super().attribute(play, failure)
        return found.as_rule(LOST, final=False) if LOST in self.known and self._is_no_matter_of_bounds(play, found) else found

    def _is_no_matter_of_bounds(self, play: Play, failure: RuleBroken) -> bool:
        """Whether what a bounded queue has dropped, as it seems, is lost without a bound, too."""
        if failure.rule != "aqueue.bound.full-signal":
            return False
        excused, self.excused = self.excused, frozenset()
        try:
            return not self.passes(drop("limit")(play))
        finally:
            self.excused = excused


def player(bench: Bench) -> Player:
    """Return what plays programs of :class:`AsyncQueuePair`."""
    return AsyncPlayer(bench, AsyncQueuePair, EXPERIMENTS, operations(bench))


def run(bench: Bench, operations: Program) -> None:
    """Play one program on a bench.

    Raises:
        RuleBroken: for a difference, attributed to a rule.
    """
    player(bench).show(operations)
