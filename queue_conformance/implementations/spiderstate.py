"""The driver of extensions that keep the state of spiders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from queue_conformance.implementations.crawling import CrawlerDriver


class SpiderStateDriver(CrawlerDriver):
    """Builds extensions that keep the state of spiders as Scrapy does."""

    constructor_rule: ClassVar[str] = "state.fresh"
    interface_rule: ClassVar[str] = "state.fresh"

    def construction(self, name: str, **options: Any) -> tuple[str, Callable[[], Any]]:
        raise NotImplementedError
