"""The fixtures of checks on asynchronous queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from queue_conformance.engine.context import Context, fixture
from queue_conformance.engine.subject import Subject
from queue_conformance.implementations.quoted import consumers
from queue_conformance.loops import Loop


@fixture
def loop(context: Context) -> Loop:
    """What drives the queue."""
    found: Loop = context.bench.driver.loop
    return found


@fixture
def open_async_queue(context: Context) -> Callable[..., Subject]:
    """``open_async_queue(name)``: build a queue."""

    def opened(name: str = "0") -> Subject:
        driver = context.bench.driver
        source, build = driver.construction(name)
        return context.record.construct(source, driver.constructor_rule, build, {})

    return opened


@fixture
def drained(context: Context) -> Callable[[Loop, Subject, int], list[Any]]:
    """``drained(loop, queue, most)``: get until a get waits, so many times at most; errors are among what came."""

    def taken(loop: Loop, queue: Subject, most: int) -> list[Any]:
        source = f"drained(loop, {queue.name}, {most})"
        found: list[Any] = context.record.operate(source, "aqueue.get.blocks", lambda: consumers.drained(loop, queue.raw, most))
        return found

    return taken
