"""Checks of crawls whose queues fail."""

from __future__ import annotations

import json
from collections.abc import Iterator

from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.errors import TransientError
from queue_conformance.implementation.loading import own_name
from queue_conformance.kinds.crawl.plans import Graph

WIDE: Graph = {
    "start": [{"page": 0}, {"page": 1}],
    0: {"links": [{"page": 2}, {"page": 3}]},
    **{page: {} for page in (1, 2, 3)},
}

SILENT = {
    "SCHEDULER_MEMORY_QUEUE": "queue_conformance.environments.faulty.FaultyMemoryQueue",
    "SCHEDULER_START_MEMORY_QUEUE": "queue_conformance.environments.faulty.FaultyMemoryQueue",
    "FAULTS": '{"pop": [0, 2, 3]}',
}
"""The first pop of the crawl returns nothing, and two later ones."""


@check("e2e.pop-transient")
def a_queue_that_returns_nothing_for_a_while_costs_nothing(open_graph):
    """A queue whose `pop` returns `None` for a while delays a crawl, and costs it nothing."""
    site = open_graph(WIDE, **SILENT)
    crawl = site.crawl()
    if not crawl.noted("fault"):
        raise NotCovered("it asked the queue of the settings for nothing")
    assert crawl.left == [], "no request in the scheduler when it says that none is pending"
    assert crawl.ending == "finished"
    assert site.missing() == [], "every page downloaded"
    assert site.repeated() == [], "no page downloaded twice"


FAULTY = "queue_conformance.environments.faulty.FaultyDiskQueue"
DONE = ("finished", "still running when the time was over")
DISK = {"JOBDIR": "job", "SCHEDULER_DISK_QUEUE": FAULTY, "SCHEDULER_START_DISK_QUEUE": FAULTY}


def transient(context: CheckContext) -> Iterator[str]:
    """Yield what a push faces if the queue fails for a while: for requests of the start, and of callbacks."""
    error = context.implementation.claims.get("transient-error", own_name(TransientError))
    for push in (0, 2):
        yield json.dumps({"push": [push], "error": error})


@check("e2e.push-transient", faults=[transient])
def what_cannot_be_stored_for_a_while_is_crawled(open_graph, faults):
    """A transient error of `push` costs a crawl nothing: the request is kept in memory, and downloaded."""
    site = open_graph(WIDE, **DISK, FAULTS=faults)
    crawl = site.crawl()
    if not crawl.noted("fault"):
        raise NotCovered("it stored nothing in the disk queue of the settings")
    assert crawl.ending == "finished"
    assert site.missing() == [], "every page downloaded"


@check("e2e.push-permanent", faults=['{"push": [1], "error": "builtins.RuntimeError"}'])
@check("e2e.pop-permanent", faults=[json.dumps({"pop": [*range(100)], "error": "builtins.RuntimeError"})])
@check("e2e.ctor-error", faults=['{"open": [0], "error": "builtins.RuntimeError"}'])
def a_permanent_error_stops_the_crawl(open_graph, faults, rule):
    """Any other error of `push` for a start request ends the crawl, with another reason than `finished`.

    An error of `pop` ends the crawl, with another reason than `finished`; it neither hangs nor goes on.

    A queue that cannot be built ends the crawl before any page is downloaded.
    """
    site = open_graph(WIDE, **DISK, FAULTS=faults)
    crawl = site.crawl()
    if not crawl.noted("fault"):
        raise NotCovered("it did not use the disk queue of the settings")
    if rule == "e2e.ctor-error":
        assert site.hits == [], "no page downloaded"
    assert crawl.ending not in DONE, "an end for another reason than that all is done"
