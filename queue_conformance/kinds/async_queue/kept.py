"""What asynchronous queues are asked for after an upgrade: requests that differ in every field."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from queue_conformance.engine import kept
from queue_conformance.engine.kept import Data, Found, as_data
from queue_conformance.engine.upgrade import asks_later_versions

PUT, GOT = 16, 3

MOST = 10 * PUT
"""Requests after which a queue that never gets empty is left alone."""

PATIENCE = 8.0
"""Seconds within which a queue that says that it holds something must give it: less than an operation may take."""


@asks_later_versions
class Kept(kept.Kept):
    """An asynchronous queue, on a stock loop, of which some requests were taken."""

    pending = PUT - GOT

    def open(self) -> None:
        self._runner = asyncio.Runner()

        async def built() -> Any:
            return self.driver.implementation.cls(**self.driver.keywords("0", **self.driver.unlimited))

        self.raw = self._runner.run(built())

    def close(self) -> None:
        with self._runner:
            self._runner.run(self.raw.close())

    def write(self) -> None:
        async def written() -> None:
            for number in range(PUT):
                request = self.driver.item(number).value
                await self.raw.put(request, priority=request.priority)
            for _ in range(GOT):
                await self.raw.get()

        self._runner.run(written())

    def read(self, asks: Mapping[str, Sequence[Data]], found: Found) -> None:
        async def taken() -> None:
            while len(found["pending"]) < MOST and await self.raw.size():
                self.go_on()
                found["pending"].append(as_data(await asyncio.wait_for(self.raw.get(), PATIENCE)))

        self._runner.run(taken())
