"""How schedulers grow: in what waits, in hosts, in priorities, and in what they have seen."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy import Request

from queue_conformance.engine import growth
from queue_conformance.engine.growth import Operation
from queue_conformance.environments.items import grown_request


class Growth(growth.Growth):
    """A scheduler with a job directory."""

    axes = ("stored", "hosts", "priorities", "seen")

    def open(self) -> None:
        self._opened = self.driver.open(job="job")
        self.raw = self._opened.raw
        self._next = 0

    def close(self) -> None:
        self._opened.close("shutdown")

    def fill(self, count: int) -> None:
        for _ in range(count):
            self.raw.enqueue_request(self._new())
            if self.axis == "seen":
                self.raw.next_request()

    def held(self) -> int | None:
        return len(self.raw) if self.context.offers("length") and self.axis != "seen" else None

    def drain(self, size: int) -> None:
        self._take(0 if self.axis == "seen" else size)

    def operations(self) -> Sequence[Operation]:
        if self.axis == "seen":
            seen = Operation("enqueue of what was seen", self.raw.enqueue_request, self._old)
            return [Operation("enqueue", self.raw.enqueue_request, self._news, undo=self._take), seen]
        found = [
            Operation("enqueue", self.raw.enqueue_request, self._news, undo=self._take),
            Operation("next", lambda _: self.raw.next_request(), range, undo=self.fill),
            Operation("has_pending_requests", lambda _: self.raw.has_pending_requests(), range),
        ]
        if self.context.offers("length"):
            found.append(Operation("len", lambda _: len(self.raw), range))
        return found

    def _new(self) -> Request:
        """Return a request that it has not seen."""
        self._next += 1
        return grown_request(self._next, self.axis)

    def _news(self, count: int) -> Sequence[Request]:
        return [self._new() for _ in range(count)]

    def _old(self, count: int) -> Sequence[Request]:
        return [grown_request(number, self.axis) for number in range(1, min(count, self._next) + 1)]

    def _take(self, count: int) -> None:
        for _ in range(count):
            self.raw.next_request()
