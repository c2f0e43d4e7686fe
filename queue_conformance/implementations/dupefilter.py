"""The driver of duplicates filters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from queue_conformance.implementations.crawling import CrawlerDriver


class DupeFilterDriver(CrawlerDriver):
    """Builds duplicates filters as Scrapy does."""

    constructor_rule: ClassVar[str] = "dupefilter.iface"
    interface_rule: ClassVar[str] = "dupefilter.iface"

    def construction(self, name: str, **options: Any) -> tuple[str, Callable[[], Any]]:
        raise NotImplementedError
