"""The fixtures of checks on asynchronous queues."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from queue_conformance.engine.context import Context, fixture
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.record import Record
from queue_conformance.engine.subject import Subject
from queue_conformance.kinds.async_queue import script_support as consumers

RULES = {
    "put": "aqueue.put.accept",
    "get": "aqueue.get.blocks",
    "size": "aqueue.size",
    "clear": "aqueue.clear",
    "close": "aqueue.close.releases",
}
"""The rule that is broken if an operation raises, or does not return."""


class Call(NamedTuple):
    """A call that is an operation only when a loop runs it.

    Attributes:
        source: the coroutine as Python.
        rule: the rule that is broken if it raises, or does not return.
        make: makes the coroutine.
    """

    source: str
    rule: str
    make: Callable[[], Any]


class AsyncSubject(Subject):
    """An asynchronous queue; each call on it waits for ``loop.run``."""

    __slots__ = ()

    def __getattr__(self, method: str) -> Callable[..., Call]:
        def call(*arguments: Any, **keywords: Any) -> Call:
            source = f"{self.name}.{method}({self.record.written(arguments, keywords)})"
            return Call(source, self.rules.get(method, ""), lambda: getattr(self.raw, method)(*arguments, **keywords))

        return call


class RecordedLoop:
    """The loop of a driver; what it runs is an operation.

    Args:
        driver: whose loop it is.
        record: keeps the operations.
    """

    def __init__(self, driver: Any, record: Record) -> None:
        self._driver = driver
        self._record = record

    def run(self, call: Call) -> Any:
        """Run one operation to its end."""
        return self._record.operate(f"loop.run({call.source})", call.rule, lambda: self._driver.loop.run(call.make()))


@fixture
def loop(context: Context) -> RecordedLoop:
    """``loop.run(queue.put(request))``: run one operation to its end."""
    return RecordedLoop(context.bench.driver, context.record)


@fixture
def open_async_queue(context: Context) -> Callable[..., AsyncSubject]:
    """``open_async_queue(name)``: build a queue; with ``placed=False`` nobody tells it where to store."""

    def opened(name: str = "0", *, placed: bool = True) -> AsyncSubject:
        driver, record = context.bench.driver, context.record
        source, build = driver.construction(name, placed=placed)
        variable = record.target or "queue"

        def subject() -> AsyncSubject:
            return AsyncSubject(build(), variable, record, RULES)

        made: AsyncSubject = record.make(source, driver.constructor_rule, subject, variable)
        return made

    return opened


@fixture
def default_place(context: Context) -> Iterator[None]:
    """What is stored in a temporary directory by default is stored below the scratch directory."""
    driver = context.bench.driver
    if driver.place is None or driver.requires(driver.place):
        raise NotApplicable("the place of storage has no default")
    context.record.note("tempfile.tempdir = directory")
    before, tempfile.tempdir = tempfile.tempdir, str(driver.directory)
    driver.directory.mkdir(exist_ok=True)
    try:
        yield
    finally:
        tempfile.tempdir = before


@fixture
def prioritized(context: Context) -> Callable[[int], Any]:
    """``prioritized(number)``: a request, which is put with its own priority; equal numbers give equal ones."""

    def made(number: int) -> Any:
        found = context.bench.driver.item(number)
        return context.sources.give(found.value, found.source)

    return made


@fixture
def drained(context: Context) -> Callable[[RecordedLoop, AsyncSubject, int], list[Any]]:
    """``drained(loop, queue, most)``: get until a get waits, so many times at most; errors are among what came."""

    def taken(_loop: RecordedLoop, queue: AsyncSubject, most: int) -> list[Any]:
        def run() -> list[Any]:
            left: list[Any] = consumers.drained(context.bench.driver.loop, queue.raw, most)
            return left

        found: list[Any] = context.record.operate(f"drained(loop, {queue.name}, {most})", RULES["get"], run)
        return found

    return taken


@fixture
def urls_of(context: Context) -> Callable[[Iterable[int]], list[str]]:
    """``urls_of(numbers)``: the URLs of the requests with these numbers."""
    return lambda numbers: [context.bench.driver.item(number).value.url for number in numbers]
