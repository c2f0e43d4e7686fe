"""How queues grow: in what they store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scrapy import Request

from queue_conformance.engine import growth
from queue_conformance.engine.growth import Operation
from queue_conformance.kinds.queue.kind import BYTE_QUEUE


class Growth(growth.Growth):
    """A queue of plain requests, or of bytes that are as long as these are."""

    shared = True

    def open(self) -> None:
        self.raw = self.driver.open().raw

    def close(self) -> None:
        self.raw.close()

    def fill(self, count: int) -> None:
        push = self.pushes
        for item in self._items(count):
            push(item)

    @property
    def pushes(self) -> Callable[[Any], object]:
        """What pushes one item."""
        push: Callable[[Any], object] = self.raw.push
        return push

    def held(self) -> int:
        return len(self.raw)

    def drain(self, size: int) -> int:
        self._pop(size)
        return size

    def operations(self) -> Sequence[Operation]:
        found = [
            Operation("push", self.pushes, self._items, undo=self._pop),
            Operation("pop", lambda _: self.raw.pop(), range, undo=self.fill),
            Operation("len", lambda _: len(self.raw), range),
        ]
        if self.context.offers("peek"):
            found.append(Operation("peek", lambda _: self.raw.peek(), range))
        return found

    def _items(self, count: int) -> Sequence[Any]:
        return [*map(self._item, self.numbers(count))]

    def _item(self, number: int) -> Any:
        if self.context.implementation.kind is BYTE_QUEUE:
            return b"https://example.com/%d".ljust(300) % number
        return Request(f"https://example.com/{number}")

    def _pop(self, count: int) -> None:
        for _ in range(count):
            self.raw.pop()
