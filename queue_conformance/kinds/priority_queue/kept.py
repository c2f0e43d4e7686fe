"""What priority queues are asked for after an upgrade, with disk queues of Scrapy below them, and with their state."""

from __future__ import annotations

import json
from pathlib import Path

from queue_conformance.engine.upgrade import asks_later_versions
from queue_conformance.kinds.queue import kept

STATE = "active.json"
"""Where schedulers keep what a priority queue returns when it is closed."""


@asks_later_versions
class Kept(kept.Kept):
    """A priority queue with requests of several slots and priorities, start requests among them, of which some were popped."""

    def open(self) -> None:
        self.driver.configure_disk()
        self._file = Path(self.driver.directory, STATE)
        state = json.loads(self._file.read_text("utf-8")) if self._file.exists() else ()
        self.raw = self.driver.open("requests.queue", state=state).raw

    def close(self) -> None:
        state = self.raw.close()
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps(state), "utf-8")
