"""Spiders and requests to test queues with.

Scripts quote the definitions that they need from this file word by word, so each one stands on its own and is short: it
uses nothing but Scrapy and other names of this file, and has no annotations.
"""

import math
from collections.abc import Mapping

from scrapy import Request, Spider


class BaseSpider(Spider):
    name = "example"

    def parse(self, response): ...

    def parse_inherited(self, response): ...


class ExampleSpider(BaseSpider):
    def parse_item(self, response, **cb_kwargs): ...

    def _parse_private(self, response): ...

    def __parse_mangled(self, response): ...

    def handle_error(self, failure): ...


class FalsySpider(ExampleSpider):
    def __len__(self):
        return 0


class OtherSpider(Spider):
    name = "example"

    def parse(self, response): ...


class CustomRequest(Request):
    attributes = (*Request.attributes, "depth")

    def __init__(self, *args, depth=0, **kwargs):
        self.depth = depth
        super().__init__(*args, **kwargs)


class FalsyRequest(Request):
    def __bool__(self):
        return False


class DemandingRequest(Request):
    def __init__(self, *args, secret, **kwargs):
        super().__init__(*args, **kwargs)


class Point:
    def __init__(self, x):
        self.x = x

    def __eq__(self, other):
        return isinstance(other, Point) and self.x == other.x

    def __hash__(self):
        return hash(self.x)

    def __repr__(self):
        return f"Point({self.x})"


class RaisesInReduce:
    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        raise self.error


class RaisesInGetstate:
    def __init__(self, error):
        self.error = error

    def __getstate__(self):
        raise self.error


class Unrelated:
    def parse(self, response): ...


def module_function(response): ...


nameless = lambda *arguments: None  # noqa: E731


def local_request(url):
    """Return a request of a class that no other process can import."""

    class LocalRequest(Request):
        pass

    return LocalRequest(url)


def with_attribute(request, name, value):
    """Give a request an attribute as it is, and return the request."""
    setattr(request, name, value)
    return request


def nested(depth):
    """Return so many lists, one in the other."""
    value = []
    for _ in range(depth):
        value = [value]
    return value


def give_spider(crawler, cls):
    """Give a crawler another spider, as one that resumes a crawl has."""
    crawler.spider = cls.from_crawler(crawler)
    return crawler.spider


def give_prepared_spider(crawler, cls, prepare):
    """Give a crawler another spider, after something was done with it."""
    crawler.spider = cls.from_crawler(crawler)
    prepare(crawler.spider)
    return crawler.spider


def owner_of(request, argument):
    """Return the object whose method a callback or errback is."""
    return getattr(getattr(request, argument, None), "__self__", None)


def name_of(request, argument):
    """Return the name of a callback or errback."""
    return getattr(getattr(request, argument, None), "__name__", None)


def fields(request):
    """Return the class of a request, and its attributes but for callbacks."""
    kept = [name for name in getattr(request, "attributes", ()) if name not in ("callback", "errback")]
    return {"class": type(request).__name__, **{name: getattr(request, name) for name in kept}}


def field(request, name):
    """Return an attribute of a request; of a callback or errback the function, whatever object it is bound to."""
    value = getattr(request, name, None)
    return getattr(value, "__func__", value) if name in ("callback", "errback") else value


class Exactly:
    """A value that equals values of the same types, all the way down."""

    def __init__(self, value):
        self.__wrapped__ = value

    def __eq__(self, other):
        return same(self.__wrapped__, other)

    def __repr__(self):
        return repr(self.__wrapped__)


def types_in(request):
    """Return the types of the values that a request carries."""
    values = {**getattr(request, "meta", {}), **getattr(request, "cb_kwargs", {})}
    return {name: type(value).__name__ for name, value in values.items()}


def same(left, right):
    """Whether two values are equal and of the same types all the way down; NaN equals NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, Mapping):
        keys = {(type(key), key): value for key, value in right.items()}
        return len(left) == len(right) and all(
            (type(key), key) in keys and same(value, keys[type(key), key]) for key, value in left.items()
        )
    if isinstance(left, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, (set, frozenset)):
        return {(type(value), value) for value in left} == {(type(value), value) for value in right}
    if isinstance(left, float) and math.isnan(left):
        return math.isnan(right)
    return bool(left == right)
