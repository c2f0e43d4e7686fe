"""What an implementation offers, found by using it. Nothing is judged here: what fails is not offered."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from queue_conformance.implementations.capabilities import Capabilities, Order
from queue_conformance.implementations.drivers.base import Driver
from queue_conformance.implementations.quoted.example import same
from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.specification import Kind

_SAMPLES: Mapping[str, str] = {
    "str": "'text'",
    "bytes": "b'bytes'",
    "bytearray": "bytearray(b'bytes')",
    "float": "1.5",
    "big int": "2**80",
    "tuple": "(1, 2)",
    "set": "{1}",
    "frozenset": "frozenset([1])",
    "non-str keys": "{1: 2}",
    "datetime": "datetime.datetime(2026, 1, 2)",
    "Decimal": "Decimal('1.10')",
    "array": "array('i', [1])",
    "object": "Point(1)",
}
"""Values of the types that requests carry, by what reports call them."""


@runtime_checkable
class ProbesItself(Protocol):
    """A driver of a kind with experiments of its own."""

    def probe(self, room: Callable[[], Path]) -> Capabilities:
        """Find out what an implementation offers; ``room`` makes an empty directory for each experiment."""


def probe(driver: Driver, room: Callable[[], Path]) -> Capabilities:
    """Find out what an implementation offers.

    Args:
        driver: opens it.
        room: makes an empty directory; each probe gets one.

    Returns:
        What was found.
    """
    kind = driver.implementation.kind
    if isinstance(driver, ProbesItself):
        return driver.probe(room)
    if kind in (Kind.BYTE_PRIORITY_QUEUE, Kind.ROUND_ROBIN_QUEUE):
        cls = driver.implementation.cls
        return Capabilities(persistent=True, peek=hasattr(cls, "peek"), clear=hasattr(cls, "clear"))
    found = Probe(driver, room)
    persistent = found.persistent()
    peek, peek_stub = found.peek()
    serializes = kind is Kind.DOWNSTREAM_QUEUE and found.serializes()
    return Capabilities(
        order=found.order(),
        persistent=persistent,
        filesystem=found.filesystem(),
        serializes=serializes,
        peek=peek,
        peek_stub=peek_stub,
        clear=callable(getattr(driver.implementation.cls, "clear", None)),
        chunked=kind is Kind.BYTE_QUEUE and "chunksize" in _parameters(driver.implementation.builder),
        stores=found.stores() if serializes else {},
    )


class Probe:
    """Small experiments with the queues of one driver."""

    def __init__(self, driver: Driver, room: Callable[[], Path]) -> None:
        self._driver = driver
        self._room = room

    def order(self) -> Order:
        """Drain several small queues; an order must show in all of them."""
        orders = {self._order_of(numbers) for numbers in ((1, 2), (4, 3), (7, 5), (2, 8), (9, 1), (6, 7), (3, 1, 2), (2, 3, 1))}
        return orders.pop() if len(orders) == 1 else Order.NONE

    def _order_of(self, numbers: tuple[int, ...]) -> Order:
        popped = self._attempt(lambda: self._drained(numbers), default=[])
        if popped == list(numbers):
            return Order.FIFO
        return Order.LIFO if popped == list(reversed(numbers)) else Order.NONE

    def _drained(self, numbers: Sequence[int]) -> list[int | None]:
        queue = self._driver.open()
        for number in numbers:
            queue.push(self._driver.item(number))
        popped = [self._driver.identify(queue.pop()) for _ in numbers]
        queue.close()
        return popped

    def persistent(self) -> bool:
        """Close with three items, and look whether any of them is there again."""

        def reopened() -> bool:
            queue = self._driver.open()
            for number in (1, 2, 3):
                queue.push(self._driver.item(number))
            queue.close()
            queue = self._driver.open()
            found = queue.length() > 0 or self._driver.identify(queue.pop(owner="queue.pop.empty-none")) is not None
            queue.close()
            return bool(found)

        return bool(self._attempt(reopened, default=False))

    def filesystem(self) -> bool:
        """Look for files while the queue holds items, and after it was closed with them."""

        def files_seen() -> bool:
            directory = self._driver.directory
            queue = self._driver.open()
            queue.push(self._driver.item(1))
            seen = any(path.is_file() for path in directory.rglob("*"))
            queue.close()
            return seen or any(path.is_file() for path in directory.rglob("*"))

        return bool(self._attempt(files_seen, default=False))

    def peek(self) -> tuple[bool, bool]:
        """Tell whether peek answers, and whether it is only a stub that raises."""
        if not callable(getattr(self._driver.implementation.cls, "peek", None)):
            return False, False

        def peeked() -> bool:
            queue = self._driver.open()
            queue.push(self._driver.item(1))
            try:
                queue.peek()
            except OperationRaised as raised:
                return not isinstance(raised.error, (NotImplementedError, AttributeError))
            finally:
                queue.close()
            return True

        works = self._attempt(peeked, default=True)
        return works, not works

    def serializes(self) -> bool:
        """Tell whether another object comes out than went in."""

        def another() -> bool:
            queue = self._driver.open()
            queue.push(self._driver.item(1))
            popped = queue.pop()
            queue.close()
            return popped is not self._driver.item(1).value

        return bool(self._attempt(another, default=False))

    def stores(self) -> dict[str, str]:
        """Tell what becomes of values of each type in the meta of a request."""
        return {name: self._attempt(partial(self._stored, source), default="lost") for name, source in _SAMPLES.items()}

    def _stored(self, source: str) -> str:
        item = self._driver.evaluate(f"Request('https://example.com/1', meta={{'value': {source}}})")
        queue = self._driver.open()
        try:
            queue.push(item)
        except OperationRaised as raised:
            return "refused" if isinstance(raised.error, ValueError) else "lost"
        popped = queue.pop()
        queue.close()
        return "kept" if same(item.value.meta, popped.meta) else "changed"

    def _attempt(self, experiment: Callable[[], Any], default: Any) -> Any:
        self._driver.renew(self._room())
        self._driver.recorder.restart()
        try:
            return experiment()
        except Exception:  # of an operation, or because what came out is nothing that an item could be
            return default


def _parameters(builder: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(builder).parameters
    except (TypeError, ValueError):
        return {}
