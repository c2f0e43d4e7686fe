"""What collections of byte queues are asked for after an upgrade, with disk queues of queuelib in them, and what they return."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from queuelib import FifoDiskQueue

from queue_conformance.engine.upgrade import asks_later_versions
from queue_conformance.kinds.queue import kept

STATE = "active.json"
"""Where this keeps the priorities, or the keys, that a collection returns when it is closed."""


@asks_later_versions
class Kept(kept.Kept):
    """A collection with items of several priorities, or keys, of which some were popped."""

    def open(self) -> None:
        directory = Path(self.driver.directory)
        directory.mkdir(parents=True, exist_ok=True)
        self._file = directory / STATE
        start = json.loads(self._file.read_text("utf-8")) if self._file.exists() else []
        tested = self.driver.implementation
        self.raw: Any = tested.cls(lambda key: FifoDiskQueue(str(directory / str(key))), start, **tested.values)

    def close(self) -> None:
        self._file.write_text(json.dumps([*(self.raw.close() or ())]), "utf-8")

    def push(self, number: int) -> None:
        self.raw.push(self.driver.item(number).value, self.driver.place_of(number))
