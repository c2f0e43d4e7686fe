"""The driver of Scrapy's downstream queues: ``from_crawler(crawler, key)``, and requests as items."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler, load_object

from queue_conformance.implementations import Implementation, example, kills
from queue_conformance.implementations.driver import Driver, Item
from queue_conformance.implementations.recording import Recorder
from queue_conformance.implementations.scripts import namespace, quoted, source_of_backend, source_of_opener, source_of_settings

_URL = re.compile(r"https://example\.com/(\d+)")


@cache
def _names() -> dict[str, object]:
    return namespace(example)


@lru_cache(maxsize=16)
def _crawler(settings: tuple[tuple[str, Any], ...]) -> Crawler:
    """Return a crawler; it takes long to make, and every check runs in a process that inherits it."""
    crawler = Crawler(example.ExampleSpider, dict(settings))
    crawler.stats = load_object(crawler.settings["STATS_CLASS"])(crawler)
    fingerprinter = load_object(crawler.settings["REQUEST_FINGERPRINTER_CLASS"])
    crawler.request_fingerprinter = build_from_crawler(fingerprinter, crawler)
    crawler.spider = example.ExampleSpider.from_crawler(crawler)
    return crawler


class DownstreamQueueDriver(Driver):
    """Builds queues as ``ScrapyPriorityQueue`` does, with a crawler of the kit's own."""

    constructor_rule: ClassVar[str] = "queue.ctor.from-crawler"
    interface_rule: ClassVar[str] = "queue.ctor.interface"
    definitions: ClassVar[tuple[ModuleType, ...]] = (example, kills)

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        super().__init__(implementation, directory, recorder)
        self.crawler = _crawler(tuple(implementation.values.items()))
        self.names = dict(_names())
        assert self.crawler.spider is not None
        self._first_spider = self.crawler.spider
        self.use_spider(self._first_spider)

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        self.use_spider(self._first_spider)

    def use_spider(self, spider: Spider) -> None:
        """Make a spider the current one of the crawler."""
        self.crawler.spider = spider
        self.names["spider"] = spider

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

    def _item(self, number: int) -> Item:
        body = f', body=b"{number % 10}" * 5000' if number % 7 == 6 else ""
        item = self.evaluate(f'Request("https://example.com/{number}"{body})')
        return Item(item.value, item.source, number)

    def evaluate(self, source: str) -> Item:
        return Item(eval(source, self.names), source)

    def identify(self, value: Any) -> int | None:
        match = _URL.fullmatch(value.url) if isinstance(value, Request) else None
        return int(match[1]) if match else None

    def same(self, value: Any, item: Item) -> bool:
        expected = item.value
        return type(value) is type(expected) and value.url == expected.url and value.body == expected.body

    def key_source(self, variable: str) -> str:
        return f"{variable}.url"

    def key_literal(self, item: Item) -> str:
        return quoted(item.value.url)

    def setup(self, body: str) -> list[str]:
        spider = "ExampleSpider" if "spider." in body else "Spider"
        settings = f", {source_of_settings(self.implementation.settings)}" if self.implementation.settings else ""
        return [
            *(source_of_opener(self.implementation.opener) if self.implementation.opener else []),
            "scratch = tempfile.TemporaryDirectory()",
            "directory = scratch.name",
            *source_of_backend(self.implementation.server),
            f"crawler = get_crawler({spider}{settings})",
            f'crawler.spider = spider = {spider}("example")',
        ]
