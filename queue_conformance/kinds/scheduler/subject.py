"""A scheduler as checks use it: each call is recorded, and fails its rule if it raises."""

from __future__ import annotations

from typing import Any

from scrapy import Request

from queue_conformance.engine.subject import Subject

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

    def enqueue_request(self, request: Any) -> Any:
        """Enqueue a request; that the disk queue refuses one is no reason to raise."""
        refused = isinstance(request, Request) and request.meta.get("refuse")
        rule = "scheduler.enqueue.fallback-serialization" if refused else self.rules["enqueue_request"]
        source = f"{self.name}.enqueue_request({self.record.written(request)})"
        return self.record.operate(source, rule, lambda: self.raw.enqueue_request(request))
