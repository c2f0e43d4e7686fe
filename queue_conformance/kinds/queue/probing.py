"""What an implementation offers, found by using it. Nothing is judged here: what fails counts as not offered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from queue_conformance.engine.driver import Driver
from queue_conformance.engine.recording import OperationRaised, TakesTooLong
from queue_conformance.engine.stored_files import MARK, stored_files
from queue_conformance.implementation.capabilities import Capabilities, Order
from queue_conformance.implementation.expectations import hold, is_unsupported, says_memory
from queue_conformance.implementation.signatures import methods_of, parameters, takes_place
from queue_conformance.processes import process
from queue_conformance.script_support.example import same
from queue_conformance.script_support.interleaving import elsewhere, step, use_queue
from queue_conformance.script_support.support import key

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


_PRIORITIES = ((0, 5, -5, 1), (1, -5, 0, 5), (-5, 1, 5, 0))
"""Priorities that are pushed to tell whether a queue orders by them: neither sorted nor reversed."""


_SEQUENCES = ((3, 11, 2), (2, 13, 1), (5, 19, 7), (8, 14, 7), (9, 4, 8), (4, 1, 3, 2), (2, 5, 1, 4, 3), (3, 5, 2, 6, 1))
"""Numbers of the items that are pushed to tell an order: not sorted, by themselves or by their lengths, so that a queue that
sorts them shows none.
"""


class Probe:
    """Small experiments with the queues of one driver.

    Args:
        workdir: makes an empty directory; each experiment gets one.
    """

    def __init__(self, driver: Driver, workdir: Callable[[], Path]) -> None:
        self._driver = driver
        self._workdir = workdir
        self._tries = range(2 if driver.implementation.server else 1)

    def requests(self) -> Capabilities:
        """Find out what a queue of requests offers."""
        found, copies = self._queue(), self.copies()
        serializes = copies or found.persistent  # what is there after a close has been written
        keeps_objects = serializes and not copies
        stores = self.stores(reopened=found.persistent) if serializes else {}
        return self._held(
            replace(
                found,
                priority=self.priority(),
                serializes=serializes,
                keeps_objects=keeps_objects,
                stores=stores,
                refuses=self._refused() if serializes else (),  # what keeps objects has nothing to refuse
            )
        )

    def bytes(self) -> Capabilities:
        """Find out what a queue of bytes offers."""
        builder, cls = self._driver.implementation.builder, self._driver.implementation.cls
        found = replace(self._queue(), chunked="chunksize" in parameters(builder))
        return self._held(found, ["it takes a path"] if takes_place(builder) and not says_memory(cls) else [])

    def _queue(self) -> Capabilities:
        peek, peek_stub = self.peek()
        filesystem, self._writes = self.filesystem()
        persistent = self.persistent()
        return Capabilities(
            order=self.order(),
            persistent=persistent,
            shared_storage=persistent and process.AVAILABLE and bool(self._attempt(self._shows_others, default=False)),
            filesystem=filesystem,
            peek=peek,
            peek_stub=peek_stub,
            clear=bool(methods_of(self._driver.implementation.cls, "clear")),
        )

    def _held(self, shown: Capabilities, stores: Iterable[str] = ()) -> Capabilities:
        """Add what it is held to although it did not show it."""
        evidence = [*(["it writes files below its key"] if self._writes else []), *stores]
        return hold(shown, self._driver.implementation.cls, self._driver.implementation.settings, {"persistent": iter(evidence)})

    def order(self) -> Order:
        """Drain several small queues; the order that most of them show counts: what keeps one in most cases means to."""
        orders = Counter(self._order_of(numbers) for numbers in _SEQUENCES)
        order, count = orders.most_common(1)[0]
        return order if count > len(_SEQUENCES) / 2 else Order.NONE

    def priority(self) -> str:
        """Drain several small queues of requests with different priorities; the direction that most of them show counts."""
        found = Counter(self._attempt(partial(self._direction_of, priorities), default="none") for priorities in _PRIORITIES)
        direction, count = found.most_common(1)[0]
        return direction if count > len(_PRIORITIES) / 2 else "none"

    def _direction_of(self, priorities: Sequence[int]) -> str:
        queue = self._driver.open()
        for number, priority in enumerate(priorities):
            queue.push(self._driver.evaluate(f"Request('https://example.com/{number}', priority={priority})"))
        popped = [self._driver.identify(queue.pop()) for _ in priorities]
        queue.close()
        received = [priorities[number] for number in popped if number is not None and number < len(priorities)]
        if received == sorted(priorities):
            return "lower-first"
        return "higher-first" if received == sorted(priorities, reverse=True) else "none"

    def _order_of(self, numbers: tuple[int, ...]) -> Order:
        popped = [number for number in self._attempt(lambda: self._drained(numbers), default=[]) if number in numbers]
        pushed = [number for number in numbers if number in popped]
        if len(popped) < min(3, len(numbers)):
            return Order.NONE
        if popped == pushed:
            return Order.FIFO
        return Order.LIFO if popped == pushed[::-1] else Order.NONE

    def _drained(self, numbers: Sequence[int]) -> list[int | None]:
        queue = self._filled(numbers)
        popped = [self._driver.identify(queue.pop()) for _ in numbers]
        queue.close()
        return popped

    def _filled(self, numbers: Sequence[int]) -> Any:
        """Open a queue, and push the items of some numbers."""
        queue = self._driver.open()
        for number in numbers:
            queue.push(self._driver.item(number))
        return queue

    def _shows_others(self) -> bool:
        """Let another process pop what is pushed here, and look whether that got it, and whether it is gone here."""
        _, build = self._driver.construction("0")
        with elsewhere(use_queue, build, "pop") as other:
            queue = self._driver.open()
            step(other)
            queue.push(self._driver.item(1))
            counted = len(queue)
            received = step(other)
            step(other)
            is_gone = len(queue) < counted  # it may be wrong, and still see what the other one does
            queue.close()
        return is_gone and bool(received == key(self._driver.item(1).value))

    def persistent(self) -> bool:
        """Close with three items, and look whether any of them is there again."""

        def reopened() -> bool:
            self._filled((1, 2, 3)).close()
            queue = self._driver.open()
            try:
                counted = len(queue)
            except OperationRaised:
                if not self._driver.implementation.server and not any(self._driver.directory.rglob("*")):
                    queue.close()
                    return False  # there is no place to store in, and a pop may wait for ever
                counted = 0
            try:
                with self._driver.recorder.attribute("queue.pop.empty-none"):
                    found = self._driver.identify(queue.pop()) is not None
            except OperationRaised:
                found = counted > 0
            queue.close()
            return bool(found)

        return bool(self._attempt(reopened, default=False))

    def filesystem(self) -> tuple[bool, bool]:
        """Look for files while the queue holds items, and after it was closed with them: any, and such as may store something."""
        seen: set[Path] = set()
        stored: set[Path] = set()
        items = [self._driver.item(number).value for number in (1, 6)]
        marks = [MARK, *(item for item in items if isinstance(item, bytes))]

        def look() -> None:
            directory = self._driver.directory
            seen.update(path for path in directory.rglob("*") if path.is_file())
            stored.update(stored_files(directory, f"{directory}/0", marks))

        def used() -> None:
            queue = self._driver.open()
            look()
            for number in (1, 6):
                queue.push(self._driver.item(number))
                look()
            queue.close()

        self._attempt(used, default=None)
        look()
        return bool(seen), bool(stored)

    def peek(self) -> tuple[bool, bool]:
        """Tell whether peek answers, and whether it is only a stub that raises."""
        if not methods_of(self._driver.implementation.cls, "peek"):
            return False, False

        def peeked() -> bool:
            queue = self._filled((1,))
            try:
                queue.peek()
            except OperationRaised as raised:
                return not is_unsupported(raised.error)
            finally:
                queue.close()
            return True

        works = self._attempt(peeked, default=True)
        return works, not works

    def copies(self) -> bool:
        """Tell whether another object comes out than went in, made anew: one that shares its values is none, if any are taken."""

        def another() -> bool:
            item = self._driver.evaluate("Request('https://example.com/1', meta={'value': [1]})")
            queue = self._driver.open()
            queue.push(item)
            popped = queue.pop()
            queue.close()
            return popped is not item.value and popped.meta["value"] is not item.value.meta["value"]

        return bool(self._attempt(another, default=False) or self._attempt(self._refuses_a_lock, default=False))

    def _refuses_a_lock(self) -> bool:
        """Tell whether a push raises for what no serializer takes."""
        queue = self._driver.open()
        try:
            queue.push(self._driver.evaluate("Request('https://example.com/1', meta={'lock': threading.Lock()})"))
        except OperationRaised:
            return True
        queue.close()
        return False

    def stores(self, *, reopened: bool) -> dict[str, str]:
        """Tell what becomes of values of each type in the meta of a request, in a queue that may be opened again."""
        return {name: self._attempt(partial(self._stored, source, reopened), default="lost") for name, source in _SAMPLES.items()}

    def _refused(self) -> tuple[str, ...]:
        def refuses(name: str) -> bool:
            return all(self._attempt(partial(self._refuses, name), default=False) for _ in self._tries)

        return tuple(filter(refuses, self._driver.variety.fields))

    def _refuses(self, field: str) -> bool:
        """Whether a push of what has this field raises."""
        driver = self._driver
        number = next(number for number in range(driver.variety.period) if [*driver.variety.of(number, {field})] == [field])
        with driver.varying({field}):
            queue = driver.open()
            try:
                queue.push(driver.item(number))
            except OperationRaised:
                return True
            queue.close()
        return False

    def _stored(self, source: str, reopened: bool) -> str:
        item = self._driver.evaluate(f"Request('https://example.com/1', meta={{'value': {source}}})")
        queue = self._driver.open()
        try:
            queue.push(item)
        except OperationRaised as raised:
            if isinstance(raised.error, ValueError):
                return "refused"
            raise
        if reopened:
            queue.close()
            queue = self._driver.open()
        popped = queue.pop()
        queue.close()
        return "kept" if same(item.value.meta, popped.meta) else "changed"

    def _attempt(self, experiment: Callable[[], Any], default: Any) -> Any:
        """Return what an experiment finds, or a default where it raises, twice behind a server: its client may not wait long."""
        for _ in self._tries:
            self._driver.renew(self._workdir())
            self._driver.recorder.restart()
            try:
                return experiment()
            except TakesTooLong:
                break
            except Exception:  # of an operation, or because what came out is nothing that an item could be
                continue
        return default
