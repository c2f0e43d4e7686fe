"""The fixtures of checks on queues."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from scrapy import Request

from queue_conformance.engine.check import Context, fixture
from queue_conformance.engine.subject import Subject
from queue_conformance.suites.outcomes import NotApplicable
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues import pair

RULES = {
    "push": "queue.push.accept",
    "pop": "queue.pop.exactly-once",
    "peek": "queue.peek.equals-pop",
    "len": "queue.len.count",
    "bool": "queue.len.truth",
    "clear": "queuelib.clear",
    "close": "queue.close.releases",
}
"""The rule that is broken if an operation raises, or does not return."""


@fixture
def open_queue(context: Context) -> Callable[..., Subject]:
    """``open_queue(key)``: build a queue; other arguments are those of its constructor."""

    def opened(key: str = "0", **options: Any) -> Subject:
        driver = context.bench.driver
        source, build = driver.construction(key, **options)
        return context.record.construct(source, driver.constructor_rule, build, RULES)

    return opened


@fixture
def queue(context: Context) -> Iterator[Subject]:
    """An open queue, which is closed at the end."""
    opened = open_queue(context)()
    yield opened
    opened.close()


@fixture
def item(context: Context) -> Callable[[int], Any]:
    """``item(number)``: an item; equal numbers give equal ones."""

    def made(number: int) -> Any:
        found = context.bench.driver.item(number)
        return context.sources.give(found.value, found.source)

    return made


@fixture
def request(context: Context) -> Callable[..., Request]:
    """``request(priority=1)``: a new request each time, with these arguments besides its URL."""
    count = itertools.count(1)

    def made(**arguments: Any) -> Request:
        url = f"https://example.com/{next(count)}"
        new = Request(url, **arguments)
        context.sources.give(new, f"Request({context.record.written((url,), arguments)})")
        return new

    return made


@fixture
def play(context: Context) -> Callable[[str], None]:
    """``play(program)``: compare with a model, operation by operation."""
    return lambda text: pair.run(context.bench, program(text))


@fixture
def refusals(context: Context) -> list[int]:
    """The numbers of what a push refuses, for programs: ``push_refused:0``."""
    found = pair.refusals(context.bench)
    if not found:
        raise NotApplicable("nothing is known that this queue refuses to store")
    return found


@fixture
def spider(context: Context) -> Any:
    """The spider of the crawler."""
    return context.sources.give(context.bench.driver.names["spider"], "spider")
