"""The fixtures of checks that crawl."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.driver import Driver
from queue_conformance.engine.outcomes import NotApplicable, NotCovered, TooSlow
from queue_conformance.engine.record import Record
from queue_conformance.engine.shown import Shown
from queue_conformance.engine.subject import Subject
from queue_conformance.environments import crawls, site
from queue_conformance.environments.addresses import BY, request_for
from queue_conformance.environments.crawls import ForkedGraph, ForkedShared, ForkedSite, Pages
from queue_conformance.environments.graph import GraphSite
from queue_conformance.faults.servers.running import marked
from queue_conformance.implementation.loading import is_importable, path_of
from queue_conformance.kinds.crawl import has_part
from queue_conformance.kinds.crawl.plans import PLAIN, Graph, Plan, Written, told_apart, without_duplicates
from queue_conformance.kinds.queue.fallback import names_of, transient_errors
from queue_conformance.processes import process
from queue_conformance.specification.pairs import mismatch_behind
from queue_conformance.specification.settings import source_of_settings

SHOWN = 20
"""Pages of a graph that is shown at most."""


DOCUMENTED = "queue_conformance.environments.documented.DocumentedScheduler"
"""A path, for who imports it imports Scrapy's scheduler."""

TIMED_OUT = re.compile(r"[\w.]*timeout\w*(:|$)", re.IGNORECASE)
"""The last line of the traceback of a time-out, in the log of a crawl."""

LEASED = ("killed", "cut_off", "restarted")
"""Accidents after which a request may be lent to a crawler that never got it, for longer than a crawl may take."""


class CrawledSite(Subject):
    """A site, and a project whose crawls have the class under test."""

    __slots__ = ("context", "time_limit")
    record: Record

    def __init__(self, context: CheckContext, raw: Any, name: str, record: Record, rules: Mapping[str, str]) -> None:
        super().__init__(raw, name, record, rules)
        self.context = context
        self.time_limit: float = raw.time_limit

    def crawl(self, **how: Any) -> Any:
        """Run ``scrapy crawl``.

        Raises:
            NotCovered: if nothing can be crawled here.
            TooSlow: if the crawl came too slowly to an end, but did not stand still, or if a time-out of a client ran out in it
                although nothing was done to the server.
        """
        return self._run("crawl", how)

    def crawl_together(self, **how: Any) -> Any:
        """Run several crawlers; as :meth:`crawl`."""
        run = self._run("crawl_together", how)
        if run.hung and run.accident in LEASED:
            raise NotCovered(
                "a crawl did not end after an accident: give a setting with which what a dead crawler had is given out sooner"
            )
        return run

    def _run(self, name: str, how: Mapping[str, Any]) -> Any:
        source = f"{self.name}.{name}({self.record.written(**how)})"
        self.raw.longest_wait = self.context.shown.longest_wait
        time_limit = self._time_limit(held_up="sending" in how or name == "crawl_together")
        self.raw.time_limit, began = time_limit, monotonic()
        run: Any = self.record.run(source, lambda: getattr(self.raw, name)(**how))
        now = monotonic()
        self.context.shown |= Shown(self.raw.waits.longest, took=0.0 if run.hung else now - began)
        waits = self.raw.waits.seconds >= min(self.raw.longest_wait, time_limit / 2)
        stands_still = run.hung and (waits or now - self.raw.latest >= time_limit / 2)
        self.context.stands_still |= stands_still
        if not self.raw.hits and not _can_crawl(Path(self.raw.directory).parent / "control"):
            why = f"`scrapy crawl` does not work here with Scrapy's own scheduler either: {run.error}"
            raise NotCovered(mismatch_behind(str(run.error)) or why)
        if name == "crawl" and (time_out := next(filter(TIMED_OUT.match, run.log), "")):
            self.context.excuse(TimeoutError(time_out))
        if run.hung and not stands_still and self.raw.missing() and not self.raw.repeated():
            raise TooSlow(f"a crawl asked for {len(self.raw.hits)} pages, and was too slow here for the others")
        if isinstance(self.raw, GraphSite) and len(self.raw.pages) <= SHOWN:
            for line in self.raw.picture():
                self.record.note(f"# {line}")
        return run

    def _time_limit(self, *, held_up: bool) -> float:
        """Return the seconds that the next crawl gets: not all of them where another one stood still to their end.

        Args:
            held_up: whether its pages may be held for a while, so that it can be stopped, or something befalls it.
        """
        shown = self.context.shown
        longest = replace(shown, in_vain=shown.in_vain or self.context.stands_still).longest_crawl
        return min(self.time_limit, longest + site.HOLD * held_up)


def _can_crawl(directory: Path) -> bool:
    """Whether a crawl without a job and without the class under test downloads a page."""
    control = ForkedSite({0: []}, str(directory), {})
    try:
        return bool(control.crawl().hits)
    finally:
        control.close()


def _is_crawled(context: CheckContext, graph: Graph) -> bool:
    """Whether a crawl of a graph that nothing befalls is as it should be."""
    longest = context.shown.longest_crawl
    settings = {**context.implementation.values, **part_of(context), **surroundings(context)}
    control = ForkedGraph(
        graph, f"{context.driver.directory}/control", settings, name_of_spider(context), min(crawls.TIMEOUT, longest)
    )
    control.longest_wait = context.shown.longest_wait
    try:
        crawl = control.crawl()
    finally:
        control.close()
    return bool(crawl.ending == "finished" and not crawl.astray and not crawl.left)


def name_of_spider(context: CheckContext) -> str:
    """Return a name by which what a server holds is found again, where there is one."""
    return marked(context.directory, "example", uuid.uuid4().hex[:8]) if context.implementation.server else "example"


def open_as(
    case: Case,
    opened: list[ForkedSite],
    cls: type[ForkedSite],
    pages: Pages,
    part: Mapping[str, Any],
    time_limit: float | None = None,
    **settings: Any,
) -> CrawledSite:
    """Open a site.

    Args:
        case: the case.
        opened: gets the site, which the caller closes.
        cls: its class.
        pages: the pages.
        part: the settings that name the class under test, by the path that the author gave.
        time_limit: seconds that one crawl gets, if not the usual ones.
        settings: further settings.
    """
    context = case.context
    context.owns_process()  # crawls are forks of this process, and may find nothing there that a check has left
    name = name_of_spider(context)
    settings = {**surroundings(context), **settings}
    given = {**context.implementation.values, **part, **settings}

    def build() -> ForkedSite:
        limit = time_limit or max(crawls.TIMEOUT, 3 * context.time_limit)
        opened.append(cls(pages, f"{context.driver.directory}/project", given, name, limit))
        return opened[-1]

    written = source_of_settings({**context.implementation.settings, **part, **settings})
    named = ", name" if context.implementation.server else ""
    written_pages = pages.source if isinstance(pages, Written) else dict(pages)
    source = f"{cls.in_scripts}({written_pages}, directory + '/project', {written}{named})"
    found = case.record.construct(source, case.rule, build, {}, partial(CrawledSite, context), "site")
    assert isinstance(found, CrawledSite)
    return found


def surroundings(context: CheckContext) -> dict[str, Any]:
    """Return the settings by which a crawl has what every check gives the class: a job if the author sets one, a spider prepared.

    What is in the author's job directory belongs to the author.
    """
    found: dict[str, Any] = {"JOBDIR": "job"} if context.implementation.settings.get("JOBDIR") else {}
    if prepare := context.implementation.prepare:
        found["PREPARE"] = path_of(prepare)
    return found


def can_prepare(context: CheckContext) -> bool:
    """Whether a crawl can call the function that prepares spiders, if there is one."""
    prepare = context.implementation.prepare
    return prepare is None or is_importable(path_of(prepare), prepare)


@contextmanager
def opening(case: Case, cls: type[ForkedSite]) -> Iterator[Callable[..., CrawledSite]]:
    """Yield :func:`open_as` for a case and a class of sites, and close what it opens."""
    opened: list[ForkedSite] = []
    try:
        yield partial(open_as, case, opened, cls)
    finally:
        for each in opened:
            each.close()


@fixture
def open_graph(case: Case) -> Iterator[Callable[..., CrawledSite]]:
    """``site = open_graph(graph, CONCURRENT_REQUESTS=1)``: a site that serves a graph, and a project that crawls it."""
    with opening(case, ForkedGraph) as opened:

        def made(graph: Graph, **settings: Any) -> CrawledSite:
            _must_be_crawlable(case.context)
            case.record.recorder.faulty |= "FAULTS" in settings
            graph = _served(case.context, graph)
            if case.own not in PLAIN and case.context.shown_before.loses and not _is_crawled(case.context, graph):
                raise NotCovered("a crawl of the same pages, with nothing special about it, fails as well")
            return opened(graph, part_of(case.context), **settings)

        yield made


def fails_anyway(context: CheckContext, plan: Plan) -> bool:
    """Whether a crawl of the pages of a plan fails though nothing befalls it."""
    return not _is_crawled(context, _served(context, plan.graph))


def _served(context: CheckContext, graph: Graph) -> Graph:
    """Return a graph as a site serves it: of pages that are told apart by all that the filter of the crawl tells apart."""
    filters = context.implementation.kind == "downstream-queue" or context.offers("filters")
    graph = graph if filters else without_duplicates(graph)  # or else the crawl would never end
    return told_apart(graph, differences(context))


def differences(context: CheckContext) -> list[str]:
    """Return what may tell requests for two pages apart: what the fingerprints of the settings do, and no claim denies."""
    fingerprint, ignored = context.driver.crawler.request_fingerprinter.fingerprint, context.implementation.capabilities.ignores
    one, other = ({by: fingerprint(request_for("https://example.com", page, by)) for by in BY} for page in (1, 2))
    return [by for by in BY if one[by] != other[by] and by not in ignored]


@fixture
def open_shared(case: Case) -> Iterator[Callable[..., CrawledSite]]:
    """``site = open_shared(graph)``: a site that serves a graph, and a project that several crawlers crawl."""
    _must_be_crawlable(case.context)
    if not process.AVAILABLE:
        raise NotCovered("this platform cannot stop processes")
    with opening(case, ForkedShared) as opened:
        yield lambda graph, **settings: opened(graph, part_of(case.context), **settings)


@fixture
def documented(case: Case) -> dict[str, Any]:
    """Settings with a scheduler that does what the documents say of errors of queues."""
    return {"SCHEDULER": DOCUMENTED, "TRANSIENT": ",".join(names_of(transient_errors(case.context)))}


def named_in_settings(driver: Driver) -> str:
    """Return how settings name the class under test: by the path that the author gave, or as ``module:Outer.Inner``."""
    return f"{driver.module_name}:{driver.class_name}" if "." in driver.class_name else driver.implementation.path


def part_of(context: CheckContext) -> dict[str, Any]:
    """Return the settings that make the class under test a part of a crawl.

    Raises:
        NotApplicable: if it keeps requests in memory alone, where a crawl shows nothing that the other rules do not.
    """
    found = context.implementation
    if found.kind != "downstream-queue":
        return {"SCHEDULER": named_in_settings(context.driver)}
    if not has_part(found):
        raise NotApplicable("it keeps requests in memory alone")
    return {"SCHEDULER_DISK_QUEUE": named_in_settings(context.driver), "JOBDIR": "job"}


def _must_be_crawlable(context: CheckContext) -> None:
    """Go on only if settings of Scrapy can name the class.

    Raises:
        NotApplicable: if no crawl can ever have it.
        NotCovered: if they cannot, because of how it was given.
    """
    if context.implementation.factory is not None:
        raise NotApplicable("a function of the author builds it, which no crawl of Scrapy calls")
    if not can_prepare(context):
        raise NotCovered("no setting of Scrapy can name the function that prepares spiders, which cannot be imported")
    if not context.implementation.importable:
        raise NotCovered("no setting of Scrapy can name the class, which cannot be imported: give it by its dotted path")
