"""The fixtures of checks on jobs."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.child import expect_fork
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import operation
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.environments import crawls, site
from queue_conformance.environments.addresses import BY
from queue_conformance.environments.crawls import ForkedSite, Pages
from queue_conformance.kinds.crawl.fixtures import CrawledSite, can_prepare, differences, named_in_settings, opening
from queue_conformance.kinds.scheduler import metadata
from queue_conformance.processes import process

spoil = operation(site.spoil)
close_under_limit = operation(metadata.close_under_limit)
tear_file = operation(metadata.tear_file, damages=True)


@fixture
def open_site(case: Case) -> Iterator[Callable[..., CrawledSite]]:
    """``site = open_site(pages, CONCURRENT_REQUESTS=1)``: a site whose pages have these links, and a project with a job."""
    context = case.context
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL) if process.AVAILABLE else ():
        case.sources.give(number, f"signal.{number.name}")
    with opening(case, ForkedSite) as opened:

        def made(pages: Pages, **settings: Any) -> CrawledSite:
            _must_be_crawlable(context)
            pages = pages if context.offers("filters") else crawls.tree(pages)  # or else the crawl would never end
            found = differences(context)
            given = {} if len(found) == len(BY) else {"PAGES_BY": found}
            return opened(pages, {"SCHEDULER": named_in_settings(context.driver)}, JOBDIR="job", **given, **settings)

        yield made


def _must_be_crawlable(context: CheckContext) -> None:
    """Go on only if the command line of Scrapy can use the scheduler.

    Raises:
        NotCovered: if it cannot.
    """
    expect_fork()
    if context.implementation.factory is not None:
        raise NotCovered("the command line of Scrapy does not call the function that builds the scheduler")
    if not can_prepare(context):
        raise NotCovered("the command line of Scrapy cannot import the function that prepares spiders")
    if not context.implementation.importable:
        raise NotCovered("the command line of Scrapy cannot import the class: give it by its dotted path")
