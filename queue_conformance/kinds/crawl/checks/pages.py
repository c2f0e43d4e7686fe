"""Checks of what a whole crawl downloads."""

from __future__ import annotations

import math

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.faults.disk import AVAILABLE
from queue_conformance.kinds.crawl.fixtures import fails_anyway
from queue_conformance.kinds.crawl.plans import Written, drawn, each, paused

TIME, MOST = 12, 60
"""Seconds that a broad crawl may take by what operations cost, and on a busy machine; one that stands still ends sooner."""

CALLS = 4
"""Calls of a scheduler for each page, and some more."""

STAR = Written(
    "{'start': [{'page': 0}], 0: {'links': [{'page': page, 'slot': f'slot{page}'} for page in range(1, 300)]}, "
    "**{page: {} for page in range(1, 300)}}"
)


@check("e2e.all-once", "e2e.no-early-end", plan=[each(drawn)])
def every_page_is_downloaded_once(open_graph, plan):
    """Every accepted request of a crawl reaches the downloader once, with all its fields, and its response the callback; then
    the crawl finishes.
    """
    site = open_graph(plan.graph, **plan.settings)
    crawl = site.crawl()
    with under_test("e2e.no-early-end"):
        assert crawl.left == [], "no request in the scheduler when it says that none is pending"
    assert crawl.ending == "finished"
    assert site.missing() == [], "every page downloaded"
    assert site.repeated() == [], "no page downloaded more often than requested"
    assert site.strangers() == [], "every response in the callback of its request"
    assert site.changed() == [], "every request with all its fields"


@check("e2e.pause-resume", plan=[each(paused, fails_anyway)])
def a_paused_crawl_goes_on(open_graph, plan):
    """A crawl on the queue that was stopped cleanly is continued by the same command: both crawls download each page once."""
    site = open_graph(plan.graph, **plan.settings)
    site.crawl(closing=3)
    crawl = site.crawl()
    assert crawl.ending == "finished"
    assert site.missing() == [], "every page downloaded by one of both crawls"
    assert site.repeated() == [], "no page downloaded by both"
    assert site.changed() == [], "every request with all its fields"


@check("e2e.two-crawlers")
def two_crawls_in_one_process_do_not_mix(open_graph):
    """Two crawls in one process, with job directories of their own, download what each would download alone."""
    site = open_graph({"start": [{"page": 0}], 0: {"links": [{"page": 1}, {"page": 2}]}, 1: {}, 2: {}}, JOBDIR="job")
    crawl = site.crawl(OTHER_JOB="other")
    assert crawl.noted("foreign") == [], "no response for the spider of the other crawl"
    assert sorted(crawl.hits) == [0, 0, 1, 1, 2, 2], "each page downloaded by each of two crawls"


@check("e2e.broad")
def many_slots_need_few_descriptors(context, open_graph):
    """A crawl of many sites with a job directory needs fewer descriptors than it has sites."""
    if not AVAILABLE:
        raise NotCovered("this platform cannot limit how many files are open")
    if context.budget.calls(TIME) < len(STAR):
        raise NotCovered(f"a crawl of {len(STAR)} pages takes more than {TIME} s{context.budget.more}")
    seconds = math.ceil(CALLS * len(STAR) * context.implementation.cost)
    site = open_graph(STAR, JOBDIR="job", DESCRIPTORS=256, time_limit=max(MOST, seconds))
    site.crawl()
    assert site.missing() == [], "every page downloaded"
