"""How asynchronous schedulers grow: in what waits, and in priorities; over the queue of the kit in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queue_conformance.engine.growth import Operation
from queue_conformance.kinds.async_queue import growth


class Growth(growth.Growth):
    """An asynchronous scheduler; what was taken out is done at once."""

    def open(self) -> None:
        driver = self.driver

        async def built() -> Any:
            parts = {"queue": driver.named("MemoryQueue")(), "fingerprinter": driver.named(driver.fingerprinter)()}
            return self.context.implementation.cls(**{**self.context.implementation.values, **parts})

        self.raw = self._run(built())

    def held(self) -> int:
        size: int = self._run(self.raw.qsize())
        return size

    def operations(self) -> Sequence[Operation]:
        return [
            Operation("add", self._put_one, self._items, undo=lambda count: self._run(self._get(count))),
            Operation("get", lambda _: self._take(), range, undo=self.fill),
            Operation("qsize", lambda _: self.raw.qsize(), range),
        ]

    def _put_one(self, item: tuple[Any, int]) -> Any:
        request, _ = item
        return self.raw.add(request)

    async def _take(self) -> None:
        await self.raw.get()
        self.raw.task_done()

    async def _get(self, count: int) -> None:
        for _ in range(count):
            await self._take()
