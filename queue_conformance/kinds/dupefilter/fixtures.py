"""The fixtures of checks on dupefilters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from scrapy import Request
from scrapy.dupefilters import BaseDupeFilter

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.child import expect_fork
from queue_conformance.engine.fixtures import operation
from queue_conformance.engine.growing import counted
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.recording import TakesTooLong
from queue_conformance.engine.subject import Subject
from queue_conformance.environments import fixtures, runs  # noqa: F401  registers the fixtures of components
from queue_conformance.kinds.dupefilter.driver import RULES, Filter
from queue_conformance.script_support import processes


@fixture
def begin_crawl(case: Case) -> Callable[..., Any]:
    """``dupefilter, spider = begin_crawl(DUPEFILTER_DEBUG=True)``: build a filter as the scheduler does, and open it.

    Its arguments are settings, and ``job``, the name of its job directory: no two jobs are of one spider. Where there is no job,
    ``spider`` is what is added to the name of the spider.
    """
    driver, record = case.context.driver, case.record

    def begun(job: str | None = "job", **settings: Any) -> Any:
        source, build = driver.construction(job, **settings)

        def make() -> tuple[Filter, Any]:
            raw, crawler = build()
            opened = Filter(driver.waited, raw, "dupefilter", record, driver.rules, spider=crawler.spider)
            return opened, opened.spider

        rule = driver.constructor_rule if job else "dupefilter.no-jobdir"
        return record.make(source, rule, make, "dupefilter, spider", shown=False)

    return begun


@fixture
def open_filter(case: Case) -> Callable[..., Any]:
    """``dupefilter = open_filter()``: begin a crawl whose spider does not matter; see ``begin_crawl``.

    ``open_filter(mixin=ByURL)`` opens a filter of a subclass of the class and of another one.
    """
    driver = case.context.driver

    def opened(job: str | None = "job", **settings: Any) -> Any:
        source, build = driver.construction(job, **settings)
        rule = driver.constructor_rule if job else "dupefilter.no-jobdir"
        kind = partial(Filter, driver.waited)
        return case.record.construct(f"{source}[0]", rule, lambda: build()[0], RULES, kind, "dupefilter")

    return opened


@fixture
def build_filter(case: Case) -> Callable[[], Any]:
    """``dupefilter = build_filter()``: build a filter, and do not open it."""
    driver = case.context.driver
    values, settings = driver.settings_of("job")
    crawler = driver.crawler_with(values)
    case.record.note(f"crawler = crawler_with({settings}{driver.name_source()})")
    source, build = driver.building(crawler, driver.class_name)
    rules = dict.fromkeys(("open", *RULES), driver.constructor_rule)
    return lambda: case.record.construct(source, driver.constructor_rule, build, rules, name="dupefilter")


@fixture
def request_of(case: Case) -> Callable[[int], Any]:
    """``request_of(number)``: a request; equal numbers give equal ones."""

    def made(number: int) -> Any:
        found = case.context.driver.item(number)
        return case.sources.give(found.value, found.source)

    return made


@fixture
def site(case: Case) -> str:
    """The beginning of URLs that nothing else has seen."""
    return str(case.context.driver.site)


BUDGET = 30.0
"""Seconds within which a filter must answer for many requests; only slow ones come near."""


@fixture
def count_seen(case: Case) -> Callable[..., int]:
    """``count_seen(dupefilter, range(300))``: how many requests of these numbers it has seen, as one operation.

    With a ``body``, each second request is a POST.
    """
    context = case.context

    def asked(dupefilter: Subject, numbers: range, path: str = "{n}", hosts: int = 1, body: bytes = b"") -> int:
        site = context.driver.site if hosts == 1 else context.driver.site.replace("://", f"://{{n % {hosts}}}.")
        posted = f", method=['GET', 'POST'][n % 2], body=[b'', {body!r}][n % 2]" if body else ""
        request = f"Request(f'{site}/{path}'{posted})"
        requests = context.driver.evaluate(f"[{request} for n in {numbers}]").value

        def ask() -> int:
            seen = [bool(dupefilter.raw.request_seen(each)) for each in context.watchdog.each(requests, BUDGET)]
            if len(seen) < len(requests):
                raise TakesTooLong(f"it takes more than {BUDGET:g} s to ask for {len(requests)} requests")
            return sum(seen)

        source = f"sum(bool({dupefilter.name}.request_seen({request})) for n in {numbers})".replace("range(0, ", "range(")
        seen: int = case.record.make(source, dupefilter.rules["request_seen"], ask, "result")
        return seen

    return asked


@fixture
def growing_costs_of_answers(case: Case) -> Callable[[Subject], list[str]]:
    """``growing_costs_of_answers(dupefilter)``: the costs of ``request_seen`` that grow in proportion to what was seen."""

    def found(dupefilter: Subject) -> Any:
        site, ask = case.context.driver.site, f"{dupefilter.name}.request_seen"
        calls = f"new={ask}, seen=lambda: {ask}(Request('{site}/0'))"
        source = f"growing_costs((Request(f'{site}/{{number}}') for number in itertools.count()), {calls})"
        return counted(case, dupefilter, dupefilter.rules["request_seen"], source, Request=Request)

    return found


@fixture
def bytes_kept_of(case: Case) -> Callable[[Subject, int, int], int]:
    """``bytes_kept_of(dupefilter, 200, 10_000)``: the bytes that it keeps of so many requests with such bodies."""

    def found(dupefilter: Subject, many: int, size: int) -> Any:
        body = f"b'%{size}d' % number"
        requests = f"(Request('{case.context.driver.site}', method='POST', body={body}) for number in range({many}))"
        source = f"bytes_kept({dupefilter.name}.request_seen, {requests})"
        return counted(case, dupefilter, dupefilter.rules["request_seen"], source, Request=Request)

    return found


@fixture
def logs_itself(case: Case) -> None:
    """The class has a ``log`` of its own."""
    if getattr(case.context.implementation.cls, "log", None) is BaseDupeFilter.log:
        raise NotApplicable("it inherits the log of BaseDupeFilter, which says nothing but that it is deprecated")


@fixture
def filter_factory(case: Case) -> Callable[[], Any]:
    """A function with which another process opens the filter."""
    expect_fork()
    source, build = case.context.driver.construction("job")
    found: Callable[[], Any] = case.sources.give(lambda: build()[0], f"lambda: {source}[0]")
    return found


wait = operation(runs.wait)
times_new = operation(processes.times_new)
