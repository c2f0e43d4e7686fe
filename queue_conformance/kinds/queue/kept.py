"""What queues are asked for after an upgrade: requests that differ in every field, or bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queue_conformance.engine import kept
from queue_conformance.engine.kept import Data, Found, as_data
from queue_conformance.engine.upgrade import asks_later_versions

PUSHED, POPPED = 16, 3

MOST = 10 * PUSHED
"""Items after which a queue that never gets empty is left alone."""


@asks_later_versions
class Kept(kept.Kept):
    """A queue of which some items were popped."""

    pending = PUSHED - POPPED

    def open(self) -> None:
        self.raw: Any = self.driver.open().raw

    def close(self) -> None:
        self.raw.close()

    def write(self) -> None:
        for number in range(PUSHED):
            self.push(number)
        for _ in range(POPPED):
            self.raw.pop()

    def push(self, number: int) -> None:
        """Push the item of that number."""
        self.raw.push(self.driver.item(number).value)

    def read(self, asks: Mapping[str, Sequence[Data]], found: Found) -> None:
        while len(found["pending"]) < MOST and (item := self.raw.pop()) is not None:
            self.go_on()
            found["pending"].append(as_data(item))
