"""The driver of Scrapy's downstream queues: ``from_crawler(crawler, key)``, and requests as items."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, ClassVar

from queue_conformance.implementations.crawling import CrawlerDriver
from queue_conformance.implementations.scripts import quoted


class DownstreamQueueDriver(CrawlerDriver):
    """Builds queues as ``ScrapyPriorityQueue`` does, with a crawler of the kit's own."""

    constructor_rule: ClassVar[str] = "queue.ctor.from-crawler"
    interface_rule: ClassVar[str] = "queue.ctor.interface"

    def construction(self, name: str, **options: Any) -> tuple[str, Callable[[], Any]]:
        cls, opener = self.implementation.cls, self.implementation.opener
        key = f"directory + {quoted('/' + name)}"
        source = (
            f"{self.class_name}.from_crawler(crawler, {key})" if hasattr(cls, "from_crawler") else f"{self.class_name}({key})"
        )
        arguments = [f"{self.directory}/{name}"]
        if opener is not None:
            names = inspect.signature(opener).parameters
            sources = {"cls": self.class_name, "crawler": "crawler", "key": key}
            values = {"cls": cls, "crawler": self.crawler, "key": arguments[0]}
            source = f"{opener.__name__}({', '.join(f'{name}={sources[name]}' for name in names)})"
            return source, lambda: opener(**{name: values[name] for name in names})
        if hasattr(cls, "from_crawler"):  # the same distinction as in scrapy.utils.misc.build_from_crawler
            return source, lambda: cls.from_crawler(self.crawler, *arguments)
        return source, lambda: cls(*arguments)
