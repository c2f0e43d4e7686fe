"""A crawler, spiders and requests to examine queues with.

Scripts quote the definitions that they need from this file word by word, so each one stands on its own: it uses nothing
but Scrapy, the standard library and other names of this file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.utils.misc import build_from_crawler, load_object


class BaseSpider(Spider):
    name = "example"

    def parse(self, response: Any) -> None: ...

    def parse_inherited(self, response: Any) -> None: ...


class ExampleSpider(BaseSpider):
    def parse_item(self, response: Any, **cb_kwargs: Any) -> None: ...

    def _parse_private(self, response: Any) -> None: ...

    def __parse_mangled(self, response: Any) -> None: ...

    def handle_error(self, failure: Any) -> None: ...


class OtherSpider(Spider):
    name = "other"

    def parse(self, response: Any) -> None: ...


class CustomRequest(Request):
    attributes = (*Request.attributes, "depth")

    def __init__(self, *args: Any, depth: int = 0, **kwargs: Any) -> None:
        self.depth = depth
        super().__init__(*args, **kwargs)


class FalsyRequest(Request):
    def __bool__(self) -> bool:
        return False


class DemandingRequest(Request):
    def __init__(self, *args: Any, secret: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)


class Point:
    def __init__(self, x: int) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Point) and self.x == other.x

    def __hash__(self) -> int:
        return hash(self.x)

    def __repr__(self) -> str:
        return f"Point({self.x})"


class RaisesInReduce:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __reduce__(self) -> Any:
        raise self.error


class RaisesInGetstate:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __getstate__(self) -> Any:
        raise self.error


class Unrelated:
    def parse(self, response: Any) -> None: ...


def module_function(response: Any) -> None: ...


def local_request(url: str) -> Request:
    class LocalRequest(Request):
        pass

    return LocalRequest(url)


def with_attribute(request: Request, name: str, value: Any) -> Request:
    setattr(request, name, value)
    return request


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def make_crawler(spider_class: type[Spider], settings: Mapping[str, Any]) -> Crawler:
    crawler = Crawler(spider_class, dict(settings))
    crawler.stats = load_object(crawler.settings["STATS_CLASS"])(crawler)
    crawler.request_fingerprinter = build_from_crawler(
        load_object(crawler.settings["REQUEST_FINGERPRINTER_CLASS"]), crawler
    )
    crawler.spider = spider_class.from_crawler(crawler)
    return crawler
