"""Checks of crawls whose server is away or refuses for a while, or whose disk is full."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.environments.together import OF_THE_SERVER
from queue_conformance.faults.disk import AVAILABLE
from queue_conformance.faults.outages import Condition, OutOfSpace, ReadOnly, Stopped
from queue_conformance.kinds.crawl.fixtures import DOCUMENTED
from queue_conformance.kinds.crawl.plans import Graph
from queue_conformance.kinds.queue.faults import offered

WIDE: Graph = {
    "start": [{"page": 0}],
    0: {"links": [{"page": page} for page in range(1, 9)]},
    **{page: {"links": [{"page": page + 8}], "seconds": 0.15} for page in range(1, 9)},
    **{page: {} for page in range(9, 17)},
}
"""In the middle of it a queue holds several requests in either order; so none is closed, and built anew, during a fault."""

MIDDLE = 4

FULL_DISK = {
    "SCHEDULER": DOCUMENTED,
    "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",  # the usual one stores, too; the graph has no duplicates
    "FULL_DISK": MIDDLE,
}


NAMES = {kind: name for name, kind in OF_THE_SERVER.items()}


def accidents(*kinds: type[Condition]) -> Callable[[CheckContext], Iterator[dict[str, int]]]:
    """Return what yields what befalls the server in the middle of a crawl, where it offers faults of these kinds."""

    def cases(context: CheckContext) -> Iterator[dict[str, int]]:
        for fault in offered(*kinds)(context):
            yield {NAMES[type(fault)]: MIDDLE}

    return cases


@check("e2e.server-away", accident=[accidents(Stopped)])
def a_server_that_is_away_for_a_while_costs_nothing(open_shared, backend, documented, accident):
    """A server that restarts, and keeps what it acknowledged, delays a crawl, and costs it no page."""
    site = open_shared(WIDE, **documented)
    crawl = site.crawl_together(number=1, backend=backend, **accident)
    if not crawl.met:
        raise NotCovered("it asked nothing of its server while that was away")
    assert crawl.ending == "finished"
    assert site.missing() == [], "every page downloaded"


@check("e2e.server-refuses", accident=[accidents(OutOfSpace, ReadOnly)])
def a_server_that_refuses_costs_only_what_push_said(open_shared, backend, documented, accident):
    """A server that refuses to store for a while costs a crawl, which then ends and is continued, only those pages whose
    `push` raised.
    """
    site = open_shared(WIDE, **documented)
    crawl = site.crawl_together(number=1, backend=backend, **accident)
    if not crawl.met:
        raise NotCovered("it asked nothing of its server while that refused to store")
    if crawl.ending != "finished":
        site.crawl_together(number=1)
    refused = site.below(crawl.unstored)
    lost = [page for page in site.missing() if page not in refused]
    assert lost == [], "every page downloaded whose push did not raise"


@check("e2e.disk-full")
def a_full_disk_costs_only_what_push_said(open_graph):
    """A disk that is full for a while costs a crawl only those pages whose `push` raised."""
    if not AVAILABLE:
        raise NotCovered("this platform cannot limit the size of files")
    site = open_graph(WIDE, CONCURRENT_REQUESTS=1, **FULL_DISK)
    crawl = site.crawl()
    if not crawl.noted("fault"):
        raise NotCovered("it wrote to no file while the disk was full")
    assert crawl.ending == "finished"
    refused = site.below(crawl.noted("unstored"))
    lost = [page for page in site.missing() if page not in refused]
    assert lost == [], "every page downloaded whose push did not raise"
