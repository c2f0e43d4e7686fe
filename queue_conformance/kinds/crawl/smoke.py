"""The first use of a project: a crawl of one page."""

from __future__ import annotations

from queue_conformance.engine.check import run_case
from queue_conformance.engine.context import CheckContext

RULES = ("e2e.all-once",)
SHOWN: tuple[str, ...] = ()


def smoke(context: CheckContext) -> None:
    """Build the scheduler, and crawl one page.

    Raises:
        RuleFailed: for the first thing that fails.
    """
    context.driver.open().close()
    context.restart()
    run_case(context, "e2e.all-once", _a_page_is_downloaded)


def _a_page_is_downloaded(open_graph):
    site = open_graph({"start": [{"page": 0}], 0: {}})
    crawl = site.crawl()
    assert crawl.ending == "finished"
    assert site.missing() == [], "the page downloaded"
