"""Checks of the order of a whole crawl, one request at a time."""

from __future__ import annotations

from queue_conformance.engine.check import check
from queue_conformance.environments.graph import out_of_order
from queue_conformance.kinds.crawl.plans import Graph

DFO, BFO, PRIORITY = "e2e.dfo", "e2e.bfo", "e2e.priority"

LONG = {"seconds": 0.05}  # so that the links of the page before are there

TREE: Graph = {
    "start": [{"page": 0}, {"page": 1}, {"page": 2}],
    0: {"links": [{"page": 3}, {"page": 4}], **LONG},
    1: {"links": [{"page": 5}, {"page": 6}], **LONG},
    **dict.fromkeys((2, 5, 6, 7, 8), LONG),
    3: {"links": [{"page": 7}], **LONG},
    4: {"links": [{"page": 8}], **LONG},
}

BREADTH = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}
"""What the documentation sets for it."""

URGENT: Graph = {
    "start": [{"page": 0}],
    0: {"links": [{"page": 1}, {"page": 2, "priority": 2}, {"page": 3, "priority": 1}, {"page": 4, "priority": -1}], **LONG},
    2: {"links": [{"page": 5, "priority": 3}, {"page": 6, "priority": -2}], **LONG},
    **dict.fromkeys((1, 3, 4, 5, 6), LONG),
}


@check(DFO)
def the_crawl_goes_into_depth(open_graph):
    site = open_graph(TREE, CONCURRENT_REQUESTS=1)
    site.crawl()
    assert out_of_order(site.pages, site.hits) is None, "the deepest request that waits each time"


@check(BFO)
def the_crawl_goes_in_breadth(open_graph):
    site = open_graph(TREE, CONCURRENT_REQUESTS=1, **BREADTH)
    site.crawl()
    assert out_of_order(site.pages, site.hits, breadth=True) is None, "the oldest request that waits each time"


@check(PRIORITY)
def what_is_urgent_comes_first(open_graph):
    site = open_graph(URGENT, CONCURRENT_REQUESTS=1)
    site.crawl()
    assert out_of_order(site.pages, site.hits) is None, "the most urgent request that waits each time"
