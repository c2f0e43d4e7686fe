"""Checks of what passes between the engine and a scheduler in a crawl."""

from __future__ import annotations

from queue_conformance.engine.blocks import subtest, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.crawl.plans import LINKED, Graph

FRESH: Graph = {
    "start": [{"page": 0}],
    0: {"links": [{"page": page, "slot": f"fresh{page}", "unserializable": True} for page in (1, 2, 3)] + [{"page": 4}]},
    **{key: {} for key in (1, 2, 3, 4)},
}
"""Requests that cannot be serialized, each for a slot that the downloader has not seen."""


@check("e2e.lifecycle", "e2e.dropped-signal", "e2e.empty-signal")
def a_scheduler_is_asked_in_order(open_graph):
    """In a crawl a scheduler is built, opened, used, and closed once; nothing is asked of it after that."""
    site = open_graph(LINKED)
    crawl = site.crawl(recorded=True)
    with under_test("e2e.all-once"):
        assert crawl.ending == "finished"
    asked = crawl.asked
    assert asked[:2] == ["from_crawler", "open"]
    assert asked.count("close") == 1
    last_asked = asked[-1]
    assert last_asked == "close", "nothing asked of a closed scheduler"
    refused, dropped = crawl.noted("refused"), crawl.noted("dropped")
    with subtest("e2e.dropped-signal"):
        assert dropped == refused, "request_dropped for each request that enqueue_request refused, and for no other"
    nothing, empty = asked.count("nothing"), len(crawl.noted("empty"))
    with subtest("e2e.empty-signal"):
        assert empty == nothing, "scheduler_empty each time that next_request returned None"


@check("e2e.keep-alive")
def a_crawl_stays_open_while_something_is_pending(open_graph):
    """A crawl stays open as long as `has_pending_requests` is true."""
    site = open_graph({"start": [{"page": 0}], 0: {"links": [{"page": 1}]}, 1: {}}, KEPT_OPEN=0.5)
    crawl = site.crawl(recorded=True)
    with under_test("e2e.all-once"):
        assert crawl.ending == "finished"
    asked = crawl.asked
    times_asked_then = asked.count("released")
    assert times_asked_then > 0, "has_pending_requests asked again when nothing is pending any more"
    assert asked.index("released") < asked.index("close"), "no end before has_pending_requests was false"


@check("e2e.ignored-request")
def an_ignored_request_does_not_reach_the_scheduler(open_graph):
    """A request for which a handler of `request_scheduled` raises IgnoreRequest does not reach the scheduler."""
    site = open_graph({"start": [{"page": 0}], 0: {"links": [{"page": 1}, {"page": 2}]}, 1: {}, 2: {}}, IGNORED=1)
    crawl = site.crawl(recorded=True)
    with under_test("e2e.all-once"):
        assert crawl.ending == "finished"
    enqueued = crawl.noted("accepted", "refused")
    assert enqueued == [0, 2], "pages 0 and 2 enqueued, but not page 1, which a handler ignored"
    assert crawl.hits == [0, 2], "every page but 1, which a handler ignored"


@check("e2e.unserializable-throughput")
def what_cannot_be_serialized_does_not_hold_up_the_crawl(open_graph):
    """Requests that cannot be serialized do not hold up a crawl."""
    site = open_graph(FRESH, JOBDIR="job", CONCURRENT_REQUESTS=1)
    crawl = site.crawl(recorded=True)
    if crawl.hung:
        raise NotCovered("the crawl stood still")
    assert crawl.noted("stalled") == [], "a request each time that one is pending, and nothing is in flight"
