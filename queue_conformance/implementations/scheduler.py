"""The driver of schedulers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from queue_conformance.implementations.crawling import CrawlerDriver


class SchedulerDriver(CrawlerDriver):
    """Builds schedulers as Scrapy does."""

    constructor_rule: ClassVar[str] = "scheduler.ctor.from-crawler"
    interface_rule: ClassVar[str] = "scheduler.iface"

    def construction(self, name: str, **options: Any) -> tuple[str, Callable[[], Any]]:
        raise NotImplementedError
