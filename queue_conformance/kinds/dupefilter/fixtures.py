"""The fixtures of checks on dupefilters."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import ScrapyDeprecationWarning

from queue_conformance.engine import process
from queue_conformance.engine.accidents import ACCIDENTS, is_accident
from queue_conformance.engine.context import Context, NotCovered, fixture
from queue_conformance.engine.fixtures import Uncertain, operation
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.recording import OperationRaised, TakesTooLong
from queue_conformance.engine.subject import Subject
from queue_conformance.environments import fixtures  # noqa: F401  registers those of components
from queue_conformance.environments import runs as running
from queue_conformance.script_support import processes

RULES = {"request_seen": "dupefilter.seen.first", "close": "dupefilter.close.releases"}
"""The rule that is broken if an operation raises, or does not return."""


class FilterSubject(Subject):
    """A dupefilter; whoever closes it waits for the end."""

    __slots__ = ("_wait",)

    def __init__(self, wait: Callable[[Any], Any], *arguments: Any) -> None:
        super().__init__(*arguments)
        self._wait = wait

    def close(self, reason: str) -> None:
        """Close, and wait for the end."""
        source = f"{self.name}.close({reason!r})"
        self.record.operate(source, self.rules["close"], lambda: self._wait(self.raw.close(reason)))


@fixture
def begin_crawl(context: Context) -> Callable[..., Any]:
    """``dupefilter, spider = begin_crawl(DUPEFILTER_DEBUG=True)``: build a filter as the scheduler does, and open it.

    Its arguments are settings, and ``job``, the name of its job directory: no two jobs are of one spider.
    """
    driver, record = context.bench.driver, context.record
    rules = {**RULES, "log": driver.log_rule}

    def begun(job: str | None = "job", **settings: Any) -> Any:
        source, build = driver.construction(job, **settings)

        def make() -> tuple[FilterSubject, Any]:
            raw, crawler = build()
            return FilterSubject(driver.waited, raw, "dupefilter", record, rules), context.sources.give(crawler.spider, "spider")

        rule = driver.constructor_rule if job else "dupefilter.no-jobdir"
        return record.make(source, rule, make, "dupefilter, spider", shown=False)

    return begun


@fixture
def open_filter(context: Context) -> Callable[..., Any]:
    """``dupefilter = open_filter()``: begin a crawl whose spider does not matter; see ``begin_crawl``."""
    driver = context.bench.driver

    def opened(job: str | None = "job", **settings: Any) -> Any:
        source, build = driver.construction(job, **settings)
        rule = driver.constructor_rule if job else "dupefilter.no-jobdir"
        kind = partial(FilterSubject, driver.waited)
        return context.record.construct(f"{source}[0]", rule, lambda: build()[0], RULES, kind, "dupefilter")

    return opened


@fixture
def build_filter(context: Context) -> Callable[[], Any]:
    """``dupefilter = build_filter()``: build a filter, and do not open it."""
    driver = context.bench.driver
    values, settings = driver.settings_of("job")
    crawler = driver.crawler_with(values)
    context.record.note(f"crawler = crawler_with({settings}{driver.name_source()})")
    source, build = driver.building(crawler, driver.class_name)
    rules = dict.fromkeys(("open", *RULES), driver.constructor_rule)
    return lambda: context.record.construct(source, driver.constructor_rule, build, rules, name="dupefilter")


@fixture
def open_subclass(context: Context) -> Callable[[type[Any]], Any]:
    """``dupefilter = open_subclass(ByURL)``: open a filter of a subclass of the class and of another one."""

    def opened(mixin: type[Any]) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ScrapyDeprecationWarning)
            return open_filter(context)(mixin=mixin)

    return opened


@fixture
def request_of(context: Context) -> Callable[[int], Any]:
    """``request_of(number)``: a request; equal numbers give equal ones."""

    def made(number: int) -> Any:
        found = context.bench.driver.item(number)
        return context.sources.give(found.value, found.source)

    return made


@fixture
def site(context: Context) -> str:
    """The beginning of URLs that nothing else has seen."""
    return str(context.bench.driver.site)


BUDGET = 30.0
"""Seconds after which a filter is asked for no more of many requests; only slow ones come near."""


@fixture
def count_seen(context: Context) -> Callable[..., int]:
    """``count_seen(dupefilter, range(300))``: how many requests of these numbers it has seen, as one operation."""
    bench = context.bench

    def asked(dupefilter: Subject, numbers: range, path: str = "{n}") -> int:
        request = f"Request(f'{bench.driver.site}/{path}')"
        requests = bench.driver.evaluate(f"[{request} for n in {numbers}]").value

        def ask() -> int:
            seen = [bool(dupefilter.raw.request_seen(each)) for each in bench.flight.each(requests, BUDGET)]
            if len(seen) < len(requests):
                raise TakesTooLong(f"it takes more than {BUDGET:g} s to ask for {len(requests)} requests")
            return sum(seen)

        source = f"sum(bool({dupefilter.name}.request_seen({request})) for n in {numbers})".replace("range(0, ", "range(")
        seen: int = context.record.make(source, dupefilter.rules["request_seen"], ask, "result")
        return seen

    return asked


@fixture
def logs_itself(context: Context) -> None:
    """The class has a ``log`` of its own."""
    if getattr(context.bench.implementation.cls, "log", None) is BaseDupeFilter.log:
        raise NotApplicable("it inherits the log of BaseDupeFilter, which says nothing but that it is deprecated")


@fixture
def refusable(context: Context) -> Callable[[str], Uncertain]:
    """``with refusable(expected) as refused``: what is inside may raise, but not by accident, as a dict that lacks a key does."""
    return partial(Refusable, context)


class Refusable(Uncertain):
    """A block in which an operation may raise on purpose.

    Args:
        context: of the check.
        expected: what is expected of it, in words.
    """

    def __init__(self, context: Context, expected: str) -> None:
        super().__init__(context, expected=expected)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        by_accident = isinstance(error, OperationRaised) and is_accident(error.error)
        self.never: Sequence[str] = [cls.__name__ for cls in ACCIDENTS] if by_accident else []
        return super().__exit__(kind, error, trace)


@fixture
def filter_opener(context: Context) -> Callable[[], Any]:
    """What another process opens the filter with."""
    if not process.AVAILABLE:
        raise NotCovered("this platform cannot fork")
    source, build = context.bench.driver.construction("job")
    found: Callable[[], Any] = context.sources.give(lambda: build()[0], f"lambda: {source}[0]")
    return found


operation(running.wait)
operation(processes.times_new)
