"""What checks of asynchronous queues share."""

from __future__ import annotations

from typing import Any, NamedTuple

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.recording import describe
from queue_conformance.engine.scripts import quoted
from queue_conformance.kinds.async_queue.driver import Pending
from queue_conformance.kinds.async_queue.kind import ASYNC_QUEUE

ASYNC = frozenset({ASYNC_QUEUE})

REAL = "it works on the stock event loop alone, so time is real and waits are bounded: {} at moments that are not under control"


class Left(NamedTuple):
    """What is left in a queue.

    Attributes:
        numbers: the items that came out, in order; ``None`` for what is none of the pool.
        errors: the exceptions of gets.
        waits: whether the queue said at last that there is nothing more, by letting a get wait.
    """

    numbers: tuple[int | None, ...]
    errors: tuple[str, ...]
    waits: bool


def finish(bench: Bench, *tasks: Pending) -> None:
    """Let tasks that must end go on until they do."""
    loop = bench.driver.loop
    if bench.driver.simulated:
        bench.recorder.call("loop.settle()", "aqueue.get.blocks", loop.settle)
    else:
        names = ", ".join(task.variable for task in tasks)
        bench.recorder.call(f"loop.settle({names})", "aqueue.get.blocks", loop.settle, *(task.task for task in tasks))


def stays(bench: Bench) -> None:
    """Let everything happen that can, where something is expected not to."""
    bench.recorder.call("loop.stays()", "aqueue.get.blocks", bench.driver.loop.stays)


def drained(bench: Bench, queue: Any, most: int) -> Left:
    """Get until a get waits, and cancel that.

    Args:
        bench: where the check works.
        queue: the open queue.
        most: how often to try.
    """
    numbers: list[int | None] = []
    errors: list[str] = []
    for _ in range(most):
        sure = not bench.driver.simulated and queue.size() > 0  # then a slow one gets its time
        task = queue.start_get()
        if sure:
            finish(bench, task)
        else:
            stays(bench)
        kind, value = task.outcome
        if kind == "waiting":
            bench.recorder.note(f"{task.variable}.cancel()")
            bench.driver.loop.call(task.task.cancel)
            stays(bench)
            return Left(tuple(numbers), tuple(errors), waits=True)
        if kind == "returned":
            numbers.append(bench.driver.identify(value))
        else:
            errors.append(describe(value) if value else "CancelledError")
    return Left(tuple(numbers), tuple(errors), waits=False)


def expect_outcome(bench: Bench, rule: str, task: Pending, right: str, expected: str) -> Any:
    """Examine what became of a task.

    Args:
        bench: where the check works.
        rule: the rule.
        task: the task.
        right: ``waiting``, ``cancelled``, ``raised`` or ``returned``.
        expected: that in words.

    Returns:
        Its result, or its error.

    Raises:
        RuleBroken: if something else became of it.
    """
    bench.examined[rule] += 1
    kind, value = task.outcome
    if kind != right:
        actual = {"waiting": "it waits", "cancelled": "CancelledError", "raised": f"{describe(value)} raised"}
        bench.recorder.note(f"outcome = outcome_of({task.variable})[0]")
        tail = [f"assert outcome == {right!r}, {quoted(f'expected: {expected}; the task: ')} + outcome"]
        bench.fail(rule, expected, actual.get(kind, f"returned {describe(value)}"), tail)
    return value
