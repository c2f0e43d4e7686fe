"""The fixtures of checks on jobs."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import chdir
from pathlib import Path
from typing import Any

from queue_conformance.engine import process
from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import block, operation
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.scripts import source_of_settings
from queue_conformance.engine.subject import Subject
from queue_conformance.environments import crawls, site
from queue_conformance.environments.crawls import ForkedSite, Pages
from queue_conformance.environments.site import Crawl
from queue_conformance.script_support import metadata

crawls.preload()  # once, and not in every process that is forked

block(chdir)
operation(site.spoil)
operation(metadata.close_under_limit)
operation(metadata.tear_file)


class CrawledSite(Subject):
    """A site, and a project whose crawls have the scheduler under test."""

    __slots__ = ()

    def crawl(self, **how: Any) -> Crawl:
        """Run ``scrapy crawl``.

        Raises:
            NotCovered: if nothing can be crawled here.
        """
        source = f"{self.name}.crawl({self.record.written((), how)})"
        run: Crawl = self.record.run(source, lambda: self.raw.crawl(**how))
        if not self.raw.hits and not _can_crawl(Path(self.raw.directory).parent / "control"):
            raise NotCovered(f"`scrapy crawl` does not work here with Scrapy's own scheduler either: {run.error}")
        return run


@fixture
def open_site(case: Case) -> Iterator[Callable[..., CrawledSite]]:
    """``site = open_site(pages, CONCURRENT_REQUESTS=1)``: a site whose pages have these links, and a project with a job."""
    context = case.context
    opened: list[ForkedSite] = []

    def made(pages: Pages, **settings: Any) -> CrawledSite:
        _must_be_crawlable(context)
        pages = pages if context.offers("filters") else crawls.tree(pages)  # or else the crawl would never end
        # What a server holds is found by the name of the spider.
        name = f"example-{uuid.uuid4().hex[:8]}" if context.implementation.server else "example"
        given = {"SCHEDULER": context.implementation.cls, **context.implementation.values, "JOBDIR": "job", **settings}

        def build() -> ForkedSite:
            limit = max(crawls.TIMEOUT, 3 * context.time_limit)
            opened.append(ForkedSite(pages, f"{context.driver.directory}/project", given, name, limit))
            return opened[-1]

        found = case.record.construct(_source(context, pages, settings), case.rule, build, {}, CrawledSite, "site")
        assert isinstance(found, CrawledSite)
        return found

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        case.sources.give(number, f"signal.{number.name}")
    try:
        yield made
    finally:
        for each in opened:
            each.close()


def _source(context: CheckContext, pages: Pages, settings: Mapping[str, Any]) -> str:
    """Return the expression that makes a site."""
    given = source_of_settings({**context.implementation.settings, "JOBDIR": "job", **settings})
    name = ", name" if context.implementation.server else ""
    return f"Site({dict(pages)}, directory + '/project', {{'SCHEDULER': {context.driver.class_name}, {given[1:]}{name})"


def _must_be_crawlable(context: CheckContext) -> None:
    """Go on only if the command line of Scrapy can use the scheduler.

    Raises:
        NotCovered: if it cannot.
    """
    if not process.AVAILABLE:
        raise NotCovered("this platform cannot fork")
    if context.implementation.factory is not None:
        raise NotCovered("the command line of Scrapy does not call the function that builds the scheduler")
    if context.implementation.prepare is not None:
        raise NotCovered("the command line of Scrapy does not call the function that prepares spiders")
    if not context.implementation.importable:
        raise NotCovered("the command line of Scrapy cannot import the class")


def _can_crawl(directory: Path) -> bool:
    """Whether a crawl without a job and without the class under test downloads a page."""
    control = ForkedSite({0: []}, str(directory), {})
    try:
        return bool(control.crawl().hits)
    finally:
        control.close()
