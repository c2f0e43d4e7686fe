"""The driver of Scrapy's priority queues."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from queue_conformance.implementations.crawling import CrawlerDriver


class PriorityQueueDriver(CrawlerDriver):
    """Builds Scrapy's priority queues as Scrapy does."""

    constructor_rule: ClassVar[str] = "pq.ctor.signature"
    interface_rule: ClassVar[str] = "pq.ctor.signature"

    def construction(self, name: str, **options: Any) -> tuple[str, Callable[[], Any]]:
        raise NotImplementedError
