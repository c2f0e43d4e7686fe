"""What became of the tasks of an asynchronous queue, compared with its model."""

from __future__ import annotations

import contextlib
import re
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NoReturn

from queue_conformance.engine import difference
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.difference import ALTERED, DOUBLED, EARLY, FOREIGN
from queue_conformance.engine.lockstep import Lockstep
from queue_conformance.engine.outcomes import Received, RuleFailed, shown_by
from queue_conformance.engine.ran import by_task
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.scripts import lines_of
from queue_conformance.kinds.async_queue.attribution import CLOSED_ENDS, GET_ENDS, PUT_RETURNS
from queue_conformance.kinds.async_queue.driver import PLAIN
from queue_conformance.kinds.async_queue.model import AsyncQueueModel
from queue_conformance.kinds.async_queue.subject import Pending
from queue_conformance.loops import NeverAtRest, NeverReturns, place_of, table_of

MOMENTS = 20
"""How many moments a task gets at most where time is real."""

LAST = 0.0048
"""Seconds from its beginning to the last one, which is long enough for a few answers of a server."""

TRIED = 60
"""How many moments a script tries for a cancellation where time is real."""


def moment(number: int) -> str:
    """Return the line that lets time pass from one moment to the next; the first ones are closer, for what is fast."""
    return f"loop.advance({LAST * (2 * min(number, MOMENTS) + 1) / MOMENTS**2:.6f})"


_MOMENT = re.compile(r"loop\.advance\(0\.00\d+\)")


class TaskComparison(Lockstep):
    """Accounts for the tasks of one queue, and compares what came of them with its model."""

    after: ClassVar[Mapping[str, str]] = {
        "reopen": "aqueue.persist.reopen",
        "full": "aqueue.put.failed-no-trace",
        "cancel": "aqueue.get.cancel-safe",
        "cancel_put": "aqueue.put.cancelled-no-trace",
    }

    def __init__(self, context: CheckContext, number: int) -> None:
        super().__init__(context, number)
        self.driver = context.driver
        self.loop = context.driver.running
        self.model = AsyncQueueModel(higher_first=context.driver.higher_first)
        self._queue: Any = None
        self._tasks: list[Pending] = []
        self._count = 0
        self._moments = 0
        self._getters: dict[int, str] = {}
        self._puts: list[str] = []
        self._cancelled: list[str] = []
        self.misplaced: RuleFailed | None = None

    @property
    def queue(self) -> Any:
        """The queue, opened when it is first used, so that a sequence can begin with its limit."""
        if self._queue is None:
            self._open("aqueue.ctor.kwargs")
        return self._queue

    def _open(self, rule: str) -> None:
        options = {"maxsize": self.model.limit} if self.model.limit else {}
        self._queue = self.context.open(rule=rule, **options)

    # --- What became of tasks ----------------------------------------------------------------------------------------

    def _new_item(self, kind: int) -> Any:
        self._count += 1
        return self.driver.item(self._count * PLAIN + kind % PLAIN)

    def _waiting(self) -> list[Pending]:
        return [task for task in self._tasks if not task.task.done()]

    def _quiesce(self) -> None:
        """Let everything happen that can happen, and account for what ended."""
        if not self._tasks:
            return
        loop = self.driver.loop
        waiting = self._waiting()
        gets = [task for task in self._tasks if task.number is None]
        puts = [task for task in self._tasks if task.number is not None]
        stored = sum(not task.task.done() or task.outcome[0] == "returned" for task in puts)
        enough = self.model.closed or self.model.least + stored >= len(gets)
        sure = [task for task in waiting if enough or task.number is not None]
        try:
            if self.driver.simulated:
                if self.context.recorder.steps[-1].source != "loop.settle()":
                    self.context.recorder.call("loop.settle()", "aqueue.get.blocks", loop.settle)
                    self.context.recorder.remark(table_of([(task.variable, task.task) for task in self._waiting()]))
            elif waiting:
                if sure:
                    names = ", ".join(task.variable for task in sure)
                    self.context.recorder.call(f"loop.settle({names})", "aqueue.get.blocks", loop.settle, *(t.task for t in sure))
                self._give_time(gets, self.model.least + stored)
                self.context.recorder.call("loop.stays()", "aqueue.get.blocks", loop.stays)
        except OperationRaised as raised:
            if not isinstance(raised.error, NeverAtRest):
                raise
            self.context.fail("aqueue.get.blocks", "a loop that comes to rest", str(raised.error), final=True)
        self._account()

    def _give_time(self, gets: list[Pending], requests: int) -> None:
        """Let some of several gets end where time is real; nobody knows which, and a slow queue is no broken one."""
        loop = self.driver.loop
        expected = min(sum(not task.cancelled for task in gets), requests)
        deadline = self.context.watchdog.now + loop.must_come

        def late() -> bool:
            # A get that was cancelled ends without a request, or too late to be cancelled, with one.
            ended = [task for task in gets if task.task.done() and not (task.cancelled and task.task.cancelled())]
            return len(ended) < expected

        if late():
            self.context.recorder.note("loop.advance(1)")
        while late() and self.context.watchdog.now < deadline:
            loop.advance(0.01)
        loop.waited |= late()

    def _account(self) -> None:
        ended = [task for task in self._tasks if task.task.done()]
        self._tasks = self._waiting()
        for task in ended:
            if task.number is not None:
                self._account_put(task)
        cancelled = any(task.cancelled for task in [*ended, *self._tasks])
        # What one get took is no request that another one should have got.
        for task in sorted(ended, key=lambda task: task.outcome[0] != "returned"):
            if task.number is None:
                self._account_get(task)
        for task in ended:
            if task.number is None and not cancelled and task.outcome[0] == "returned":
                self._compare_order(task)
        self._check_bound()
        for task in self._tasks:
            self._compare_waiting(task)

    def _account_put(self, task: Pending) -> None:
        kind, error = task.outcome
        number: int = task.number  # type: ignore[assignment]
        closed = number in self.model.late
        if kind == "returned":
            self.model.end_put(number)
            self.covered["aqueue.put.closed"] += closed
            self.covered["aqueue.bound.usable"] += bool(self.model.limit)
            return
        if kind == "cancelled" and task.cancelled:
            return
        self.context.recorder.refused |= kind == "raised"
        if kind == "raised" and type(error).__name__ == "QueueFull" and self.model.limit:
            if len(task.others) >= self.model.limit:
                self.model.fail_put(number)
                self.covered["aqueue.bound.full-signal"] += 1
                self.events.add("full")
                return
            if not closed:
                self._fail_task("aqueue.bound.usable", task, f"room for {self.model.limit}", "returned")
        if kind == "raised" and task.cancelled:
            self.model.fail_put(number)
            return
        rule = "aqueue.put.closed" if closed else "aqueue.bound.full-signal" if self.model.full else "aqueue.put.accept"
        self._fail_task(rule, task, "put is ignored" if closed else PUT_RETURNS, "returned")

    def _account_get(self, task: Pending) -> None:
        kind, value = task.outcome
        if kind == "returned":
            self.context.recorder.note(f"got = outcome_of({task.variable})[1]")
            self._compare_received(value, task.variable)
            return
        if task.cancelled:
            self.covered["aqueue.get.cancel-safe"] += 1
            return
        if kind == "cancelled" and self.model.closed:
            if self.model.least:
                self._check_lost()
                self._fail_task("aqueue.get.closed-drains", task, "the request that is left", "returned")
            self.covered["aqueue.get.close-wakes"] += 1
            return
        if self.model.least or not self.model.closed:
            right = ("waiting", "returned") if self.model.most else ("waiting",)
            expected = "get returns the request, or waits for another one" if self.model.most else "get waits for a request"
            self._check_lost()
            self._fail_task("aqueue.get.blocks", task, expected, *right)
        rule = "aqueue.get.close-wakes" if task.closed else "aqueue.get.closed-drains"
        self._fail_task(rule, task, CLOSED_ENDS, "cancelled")

    def _compare_waiting(self, task: Pending) -> None:
        """Report a task that nothing wakes any more, unless it may wait."""
        if task.number is not None:
            rule = "aqueue.bound.full-signal" if self.model.limit else "aqueue.put.accept"
            if task.number in self.model.late:
                self._fail_task("aqueue.put.closed", task, PUT_RETURNS, "returned")
            self._fail_task(rule, task, "QueueFull" if self.model.limit else PUT_RETURNS, "raised")
        if task.cancelled:
            return
        if self.model.closed:
            rule = "aqueue.get.close-wakes" if task.closed else "aqueue.get.closed-drains"
            self._fail_task(rule, task, GET_ENDS, "cancelled")
        if self.model.least:
            self._check_lost()
            self._fail_task("aqueue.get.blocks", task, "a waiting get gets what is put", "returned")
        self.covered["aqueue.get.blocks"] += 1

    def _compare_order(self, task: Pending) -> None:
        """Compare what a get returned with what was there before it began, and is there still."""
        number = self.driver.identify(task.outcome[1])
        mine = self.driver.priority_of(number)
        for other in task.others & self.model.entries.keys():
            theirs = self.driver.priority_of(other)
            if theirs != mine and (theirs > mine) == self.model.higher_first:
                self._check_lost()
                self._fail_among("aqueue.order.priority", {other}, task.outcome[1], EARLY)
        self.covered["aqueue.get.concurrent"] += 1

    def _check_bound(self) -> None:
        limit = self.model.limit
        if not limit or self.model.least <= limit:
            return
        size = self._size()
        if size > limit + len(self._cancelled):  # one too many, which a cancelled get gave back, is better than one too few
            self.expect("aqueue.bound.limit", lambda size: size <= limit, size, final=True)
        refused = f"any(outcome_of(task)[0] == 'raised' for task in [{', '.join(self._puts)}])"
        tail = [f"assert size >= {self.model.least} or {refused}, f'no put raised, but size is {{size}}'"]
        self.fail("aqueue.bound.full-signal", "QueueFull from a full queue", "put returned", tail, difference=difference.LOST)

    # --- Comparison --------------------------------------------------------------------------------------------------

    def _compare_received(self, value: Any, getter: str = "") -> None:
        """Compare what came out with what may come.

        Args:
            getter: the variable of the task that got it, beside others; without one, it must come in its turn.
        """
        model, driver = self.model, self.driver
        number: int | None = driver.identify(value)
        if number in model.entries and driver.same(value, driver.item(number)):
            first = model.first()
            if not getter and number not in first and not self._waiting():
                self._fail_out_of_turn(number, first, value)
                return
            if not getter:
                self.covered["aqueue.order.priority"] += model.most > 1
                self.covered["aqueue.order.fifo"] += model.most > 1
            model.take(number)
            self._getters[number] = getter
            self.covered["aqueue.get.concurrent"] += 1
            self.covered["aqueue.put.rebuildable"] += 1
            self.covered["aqueue.get.closed-drains"] += model.closed
            self.cover_after()
            return
        if number in model.delivered:
            rule = "aqueue.get.concurrent"
            if getter and (first_getter := self._getters.get(number)):
                tail = [
                    f"first = outcome_of({first_getter})[1]",
                    "assert None in (got, first) or got.url != first.url, f'two getters got {got!r}'",
                ]
                self.context.fail(rule, "another request, or none", Received(value), tail, difference=DOUBLED)
        elif number in model.cleared:
            rule = "aqueue.clear"
        elif number in model.failed:
            rule = "aqueue.put.failed-no-trace"
        elif number in model.late:
            rule = "aqueue.put.closed"
        else:
            rule = "aqueue.put.rebuildable"
        differs = DOUBLED if number in model.delivered else ALTERED if number in model.entries else FOREIGN
        self._fail_among(rule, set(model.entries), value, differs)

    def _fail_out_of_turn(self, number: int, first: set[int], value: Any) -> None:
        """Report a request that came before its turn; where only those of equal priority changed places, go on."""
        better = self.model.better(number)
        self.model.take(number)
        if better:
            self._check_lost()
            self._fail_among("aqueue.order.priority", first, value, EARLY)
        if "reopen" in self.events and not self.misplaced and "aqueue.order.fifo" not in self.context.failed:
            self._check_lost()
            self._fail_among("aqueue.order.fifo", first, value, EARLY)
        if self.model.most > self.model.least:
            return  # nothing shows whether the one that should have come is lost, but taking out everything
        self._check_lost()
        try:
            self._fail_among("aqueue.order.fifo", first, value, EARLY)
        except RuleFailed as failure:
            failure.survived = True
            if not self.driver.simulated:
                self.context.keep(failure)  # where time is real, no sequence is shortened for this
            self.misplaced = self.misplaced or failure

    def _check_lost(self, *, goes_on: bool = False) -> None:
        """Report a lost request, if there is one: then that is the reason for any other failure.

        Args:
            goes_on: whether the sequence goes on where none is lost, and its script must take out what is taken out here.
        """
        steps, delivered = self.context.recorder.steps, len(self.model.delivered)
        before = list(steps)
        if steps[-1].error is not None:
            steps.pop()  # a get that found nothing
        with shown_by("size"), contextlib.suppress(OperationRaised):
            self._expect_stored(size := self._size())
            while size and self.model.most > self.model.least:  # what came of a cancelled put may stand for what is lost
                number = self.driver.identify(self._get())
                if number not in self.model.entries:
                    break
                self.model.take(number)
                self._expect_stored(size := self._size())
        if not goes_on or delivered == len(self.model.delivered):
            steps[:] = before

    def _get(self) -> Any:
        return self.loop.run(self.queue.get(), "got")

    def _size(self) -> int:
        """Ask for the size, which must be a number."""
        size: int = self.loop.run(self.queue.size(), "size")
        self.expect("aqueue.size", lambda size: type(size) is int, size, expected="an int", final=True)
        return size

    def _expect_stored(self, size: int) -> None:
        """Report a size that says that a request is lost."""
        if size < self.model.least:
            ended = "".join(f" + {task.variable}.done()" for task in self._tasks)
            tail = [f"assert size{ended} >= {self.model.least}, f'got {{size!r}}'"]
            # Lost, and no ablation says why.
            self.fail("aqueue.put.accept", f"{self.model.least} stored", f"{size} left", tail, difference=difference.LOST)

    def _get_raised(self, raised: OperationRaised) -> NoReturn:
        error = raised.error
        self.context.excuse(error)
        actual = str(error) if isinstance(error, NeverReturns) else f"{type(error).__name__} raised by get"
        steps = self.context.recorder.steps
        while steps[-1] is not raised.step:
            steps.pop()
        self.context.fail(raised.rule, "a request", actual)

    def fail(self, rule: str, expected: str, actual: str | Received, tail: Sequence[str], **how: Any) -> NoReturn:
        """Report a failure with a script which ends well if a task ended before it was cancelled, as it may elsewhere."""
        if not self._cancelled:
            self.context.fail(rule, expected, actual, tail, **how)
        ended = f"if any(outcome_of(task)[0] == 'returned' for task in [{', '.join(self._cancelled)}]):"
        if self.driver.simulated:
            right = "    sys.exit()  # it ended before it was cancelled, which is right too"
            self.context.fail(rule, expected, actual, [ended, right, *tail], **how)
        lines = [line for step in self.context.recorder.steps for line in lines_of([step])]  # no loops: they are edited
        moved = [line for before, line in pairwise(["", *lines]) if not all(map(_MOMENT.fullmatch, (before, line)))]
        text = "\n".join([*moved, ended, "    continue  # it ended before it was cancelled, which is right too", *tail])
        text = _MOMENT.sub(f"loop.advance({LAST} * (moment / {TRIED}) ** 2)", text)
        text = text.replace("directory + '/0'", 'f"{directory}/{moment}"')
        body = [f"for moment in range({TRIED}):  # until the cancellation hits where it hurts", textwrap.indent(text, "    ")]
        self.context.fail(rule, expected, actual, write=lambda: body, **how)

    def _fail_among(self, rule: str, numbers: set[int], value: Any, differs: str) -> NoReturn:
        self.fail_among(rule, sorted(numbers), value, name="got", nothing="nothing", difference=differs, operation="get")

    def _fail_task(self, rule: str, task: Pending, expected: str, *right: str) -> NoReturn:
        """Report what became of a task."""
        kind, value = task.outcome
        if kind == "raised" and task.number is not None:  # a get may run out of time because nothing is there
            self.context.excuse(value)
        actual = {
            "waiting": f"it waits forever in {place_of(task.task)}",
            "cancelled": "CancelledError",
            "raised": f"{self.context.describe(value)} raised",
            "returned": f"returned {self.context.describe(value)}",
        }[kind]
        self.context.recorder.note(f"outcome = outcome_of({task.variable})[0]")
        test = f"outcome == {right[0]!r}" if len(right) == 1 else f"outcome in {right!r}"
        tail = f"assert {test}, {f'expected: {expected}; the task: '!r} + outcome"
        with by_task("get" if task.number is None else "put", value if kind == "raised" else None):
            self.fail(rule, expected, actual, [tail], difference=kind)
