"""How dupefilters grow: in what they have seen."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy import Request

from queue_conformance.engine import growth
from queue_conformance.engine.growth import Operation
from queue_conformance.environments.items import grown_request


class Growth(growth.Growth):
    """A filter with a job directory."""

    axes = ("seen",)

    def open(self) -> None:
        self._opened = self.driver.open()
        self.raw = self._opened.raw

    def close(self) -> None:
        self._opened.close()

    def fill(self, count: int) -> None:
        for request in self._news(count):
            self.raw.request_seen(request)

    def operations(self) -> Sequence[Operation]:
        return [
            Operation("request_seen", self.raw.request_seen, self._news),
            Operation("request_seen of what was seen", self.raw.request_seen, self._old),
        ]

    def _news(self, count: int) -> Sequence[Request]:
        return [grown_request(number, "seen") for number in self.numbers(count)]

    def _old(self, count: int) -> Sequence[Request]:
        return [grown_request(number, "seen") for number in range(min(count, self._next))]
