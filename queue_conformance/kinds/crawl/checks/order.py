"""Checks of the order in which a scheduler gives the requests of a whole crawl."""

from __future__ import annotations

from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.environments.judge import out_of_order
from queue_conformance.kinds.crawl.plans import Graph

TREE: Graph = {
    "start": [{"page": 0}, {"page": 1}, {"page": 2}],
    0: {"links": [{"page": 3}, {"page": 4}]},
    1: {"links": [{"page": 5}, {"page": 6}]},
    **{page: {} for page in (2, 5, 6, 7, 8)},
    3: {"links": [{"page": 7}]},
    4: {"links": [{"page": 8}]},
}

DEPTH = {
    "DEPTH_PRIORITY": 0,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleLifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.LifoMemoryQueue",
    "SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_START_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
"""The default, whatever the author sets."""

BREADTH = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
"""What the documentation sets for it."""

URGENT: Graph = {
    "start": [{"page": 0}],
    0: {"links": [{"page": 1}, {"page": 2, "priority": 2}, {"page": 3, "priority": 1}, {"page": 4, "priority": -1}]},
    2: {"links": [{"page": 5, "priority": 3}, {"page": 6, "priority": -2}]},
    **{page: {} for page in (1, 3, 4, 5, 6)},
}


ORDERS = {
    "e2e.dfo": (TREE, DEPTH, False, "the deepest request"),
    "e2e.bfo": (TREE, BREADTH, True, "the oldest request"),
    "e2e.priority": (URGENT, {"DEPTH_PRIORITY": 0}, False, "the most urgent request"),
}
"""By its rule, what is crawled with which settings, whether in breadth, and what comes first."""


@check("e2e.priority")
@check("e2e.bfo")
@check("e2e.dfo")
def a_crawl_has_its_order(open_graph, rule):
    """A crawl downloads requests with a higher priority first.

    With the settings that the documentation names for it, a crawl goes in breadth first.

    By default a crawl goes into depth first: what callbacks return last comes first, and start requests come after it, in
    order.
    """
    graph, settings, breadth, first = ORDERS[rule]
    site = open_graph(graph, CONCURRENT_REQUESTS=1, **settings)
    crawl = site.crawl(recorded=True)
    if crawl.hung:
        raise NotCovered("the crawl stood still")
    page_too_early = out_of_order(site.pages, crawl.notes, breadth=breadth)
    assert page_too_early is None, f"{first} that waits each time"
