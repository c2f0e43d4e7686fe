"""What dupefilters are asked for after an upgrade: whether they still know what was seen, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from scrapy import Request

from queue_conformance.engine import kept
from queue_conformance.engine.kept import Data, Found
from queue_conformance.engine.upgrade import asks_later_versions


@asks_later_versions
class Kept(kept.Kept):
    """A filter with a job directory."""

    asks: ClassVar[Mapping[str, Sequence[Data]]] = {
        "seen": [
            *({"url": f"https://example.com/{number}"} for number in range(8)),
            {"url": "https://example.com/search?b=2&a=1"},
            {"url": "https://example.com/form", "method": "POST", "body": "a=1"},
        ],
        "new": [{"url": "https://example.com/new"}, {"url": "https://example.com/form", "method": "POST", "body": "a=2"}],
    }

    def open(self) -> None:
        self._opened = self.driver.open()
        self._seen = self._opened.raw.request_seen

    def close(self) -> None:
        self._opened.close()

    def write(self) -> None:
        for asked in self.asks["seen"]:
            self._seen(Request(**asked))

    def read(self, asks: Mapping[str, Sequence[Data]], found: Found) -> None:
        found["again"] += [asked for asked in self.each(asks["seen"]) if not self._seen(Request(**asked))]
        found["dropped"] += [asked for asked in self.each(asks["new"]) if self._seen(Request(**asked))]
