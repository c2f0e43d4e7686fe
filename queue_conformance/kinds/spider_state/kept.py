"""What extensions that keep the state of spiders are asked for after an upgrade: each value of the state."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from queue_conformance.engine import kept
from queue_conformance.engine.kept import Data, Found
from queue_conformance.engine.upgrade import asks_later_versions

STATE: Mapping[str, Any] = {
    "count": 3,
    "ratio": 0.5,
    "name": "caf\u00e9",
    "body": b"\x00\xff",
    "flag": True,
    "nothing": None,
    "pages": [1, 2, {"next": "https://example.com/2"}],
    "pair": (1, "a"),
    "since": datetime(2026, 1, 2, tzinfo=UTC),
}


@asks_later_versions
class Kept(kept.Kept):
    """The state of a spider, which a run of a job has ended with."""

    pending = len(STATE)

    def open(self) -> None:
        self._run = self.driver.open()

    def close(self) -> None:
        self._run.finish("shutdown")

    def write(self) -> None:
        self._run.spider.state.update(STATE)

    def read(self, asks: Mapping[str, Sequence[Data]], found: Found) -> None:
        state = self._run.spider.state
        found["pending"] += [{"key": str(name), "is": _told(value)} for name, value in state.items()]


def _told(value: Any) -> Data:
    """Return a value with its type, as data."""
    return json.loads(json.dumps([type(value).__name__, value], default=repr))
