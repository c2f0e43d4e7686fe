"""What schedulers are asked for after an upgrade: what waits, of several hosts and priorities, and what was seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from scrapy import Request

from queue_conformance.engine import kept
from queue_conformance.engine.kept import Data, Found, as_data
from queue_conformance.engine.upgrade import asks_later_versions

ENQUEUED, TAKEN = 24, 6

MOST = 10 * ENQUEUED
"""Requests after which a scheduler that never gets empty is left alone."""


def _url(number: int) -> str:
    return f"https://host{number % 2}.example/{number}"


@asks_later_versions
class Kept(kept.Kept):
    """A scheduler with a job directory, of which some requests were taken."""

    pending = ENQUEUED - TAKEN
    asks: ClassVar[Mapping[str, Sequence[Data]]] = {
        "seen": [{"url": _url(number)} for number in range(ENQUEUED)],
        "new": [{"url": "https://host0.example/new"}],
    }

    def __init__(self, driver: Any, go_on: Callable[[], object]) -> None:
        super().__init__(driver, go_on)
        self.driver.spider_name = "example"  # some store by the name of the spider, which is that of another run here

    def open(self) -> None:
        self._opened = self.driver.open(job="job")
        self.raw: Any = self._opened.raw

    def close(self) -> None:
        self._opened.close("shutdown")

    def write(self) -> None:
        for number in range(ENQUEUED):
            self.raw.enqueue_request(Request(_url(number), priority=number % 3, meta={"depth": number % 2}))
        for _ in range(TAKEN):
            self.raw.next_request()

    def read(self, asks: Mapping[str, Sequence[Data]], found: Found) -> None:
        self._take(found["pending"])
        for name, wanted in (("again", "seen"), ("dropped", "new")):
            for asked in self.each(asks[wanted]):
                taken: list[Data] = []
                self.raw.enqueue_request(Request(**asked))
                self._take(taken)
                found[name] += [asked] * (bool(taken) is (wanted == "seen"))

    def _take(self, taken: list[Data]) -> None:
        while len(taken) < MOST and (request := self.raw.next_request()) is not None:
            self.go_on()
            taken.append(as_data(request))
