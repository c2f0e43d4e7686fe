"""How asynchronous queues grow: in what they store, and in priorities."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import perf_counter
from typing import Any

from queue_conformance.engine import growth
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.growth import Operation


class Growth(growth.Growth):
    """An asynchronous queue; the calls of one operation are awaited one after the other, in one task."""

    axes = ("stored", "priorities")
    shared = True

    def __init__(self, context: CheckContext, axis: str) -> None:
        super().__init__(context, axis)
        self._run = asyncio.Runner().run  # a stock loop, whose time is that of the machine

    def open(self) -> None:
        async def built() -> Any:
            return self.driver.implementation.cls(**self.driver.keywords("0", **self.driver.unlimited))

        self.raw = self._run(built())

    def close(self) -> None:
        self._run(self.raw.close())

    def fill(self, count: int) -> None:
        self._run(self._put(self._items(count)))

    def held(self) -> int:
        size: int = self._run(self.raw.size())
        return size

    def drain(self, size: int) -> int:
        self._run(self._get(size))
        return size

    def operations(self) -> Sequence[Operation]:
        return [
            Operation("put", self._put_one, self._items, undo=lambda count: self._run(self._get(count))),
            Operation("get", lambda _: self.raw.get(), range, undo=self.fill),
            Operation("size", lambda _: self.raw.size(), range),
        ]

    def timed(self, operation: Operation, made: Sequence[Any]) -> float:
        async def all_of_them() -> float:
            begun = perf_counter()
            for one in made:
                await operation.call(one)  # type: ignore[misc]
            return perf_counter() - begun

        taken: float = self._run(all_of_them())
        return taken

    def _items(self, count: int) -> Sequence[tuple[Any, int]]:
        priorities, made = self.axis == "priorities", self.driver.request_class
        return [
            (made(url=f"https://example.com/{number}", priority=number if priorities else 0), number if priorities else 0)
            for number in self.numbers(count)
        ]

    def _put_one(self, item: tuple[Any, int]) -> Any:
        request, priority = item
        return self.raw.put(request, priority=priority)

    async def _put(self, items: Sequence[tuple[Any, int]]) -> None:
        for item in items:
            await self._put_one(item)

    async def _get(self, count: int) -> None:
        for _ in range(count):
            await self.raw.get()
