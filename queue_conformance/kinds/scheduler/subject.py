"""A scheduler as checks use it: each call is recorded, and fails its rule if it raises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from scrapy import Request
from twisted.internet.defer import Deferred

from queue_conformance.compat.scrapy import settle
from queue_conformance.engine.recording import is_a
from queue_conformance.engine.subject import Subject, unwrapped

RULES = {
    "open": "scheduler.ctor.from-crawler",
    "enqueue_request": "scheduler.enqueue.answers",
    "next_request": "scheduler.enqueue.true",
    "has_pending_requests": "scheduler.pending.exact",
    "len": "scheduler.len",
    "close": "scheduler.close.reason",
}
"""The rule that fails if an operation raises, or does not return."""


class Scheduler(Subject):
    """A scheduler, and the crawler that it was built from."""

    __slots__ = ("crawler",)
    crawler: Any
    results: ClassVar[Mapping[str, str]] = {"next_request": "popped", "has_pending_requests": "pending"}

    def enqueue_request(self, request: Any) -> Any:
        """Enqueue a request; that the disk queue refuses one is no reason to raise."""
        refused = isinstance(request, Request) and request.meta.get("refuse")
        rule = "scheduler.enqueue.fallback-serialization" if refused else self.rules["enqueue_request"]
        source = f"{self.name}.enqueue_request({self.record.written(request)})"
        return self.record.operate(source, rule, lambda: self.raw.enqueue_request(unwrapped(request)), "accepted")

    def open(self, rule: str = RULES["open"]) -> None:
        """Open it, if it can be opened, and wait until it is."""
        if self.has("open"):
            source, _, call = self.operation("open", wait=True)
            self.record.operate(source, rule, call)

    def close(self, reason: str = "shutdown") -> None:
        """Close it, if it can be closed, and wait until it is."""
        if self.has("close"):
            self.record.operate(*self.operation("close", reason, wait=True))

    def has(self, method: str) -> bool:
        """Whether it has a method."""
        return callable(getattr(self.raw, method, None))

    def operation(self, method: str, reason: str = "", *, wait: bool) -> tuple[str, str, Callable[[], Any]]:
        """Return how open or close is written, the rule that it fails if it raises, and what does it, and waits."""
        written, given = (repr(reason), reason) if method == "close" else ("crawler.spider", self.crawler.spider)
        source = f"{self.name}.{method}({written})"

        def call() -> Any:
            result = getattr(self.raw, method)(given)
            if wait and is_a(result, Deferred):
                self.record.amend(f"settle({source})")
                return settle(result)
            return result

        return source, self.rules[method], call
