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
    shared = True

    def open(self) -> None:
        self._opened = self.driver.open(job="job")
        self.raw = self._opened.raw

    def close(self) -> None:
        self._opened.close("shutdown")

    def fill(self, count: int) -> None:
        for number in self.numbers(count):
            self.raw.enqueue_request(grown_request(number, self.axis))
            if self.axis == "seen":
                self.raw.next_request()

    def held(self) -> int | None:
        return len(self.raw) if self.context.offers("length") and self.axis != "seen" else None

    def drain(self, size: int) -> int:
        taken = 0 if self.axis == "seen" else size
        self._take(taken)
        return taken

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

    def _news(self, count: int) -> Sequence[Request]:
        """Return requests that it has not seen."""
        return [grown_request(number, self.axis) for number in self.numbers(count)]

    def _old(self, count: int) -> Sequence[Request]:
        return [grown_request(number, self.axis) for number in range(min(count, self._next))]

    def _take(self, count: int) -> None:
        for _ in range(count):
            self.raw.next_request()
