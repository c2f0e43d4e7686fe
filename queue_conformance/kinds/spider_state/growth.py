"""How the state of a spider grows: in what its callbacks keep there."""

from __future__ import annotations

from collections.abc import Sequence

from queue_conformance.engine import growth
from queue_conformance.engine.growth import Operation
from queue_conformance.environments import runs


class Growth(growth.Growth):
    """An extension with a job directory: it reads the state when the spider opens, and writes it when that closes."""

    def open(self) -> None:
        self.raw = self.driver.construction("job")[1]()

    def close(self) -> None:
        runs.finish(self.raw)

    def fill(self, count: int) -> None:
        self.raw.state.update((f"https://example.com/{number}", number) for number in self.numbers(count))

    def held(self) -> int:
        return len(self.raw.state)

    def operations(self) -> Sequence[Operation]:
        return []
