"""Checks of what a crawl makes of files of its job that another release would have written."""

from __future__ import annotations

from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.kinds.crawl.kind import CRAWL
from queue_conformance.kinds.crawl.plans import Graph
from queue_conformance.kinds.scheduler.fixtures import list_otherwise

THREE: Graph = {"start": [{"page": 0}], 0: {"links": [{"page": 1}, {"page": 2}]}, 1: {}, 2: {}}


@check("dupefilter.format.unknown", kinds=[CRAWL], binary=(False, True))
def a_finished_crawl_misreads_no_list_of_what_was_seen(open_graph, directory, binary):
    """A file that was written in another format is refused, by an exception or a warning in the log, or understood, but not
    misread in silence.
    """
    site = open_graph(THREE, JOBDIR="job")
    first, resumed = site.crawl(), site.crawl()
    if resumed.hits:
        raise NotCovered("a crawl that has finished is crawled again in any case")
    changed = list_otherwise(directory + "/project/job", site.urls(), binary)
    if changed == 0:
        raise NotApplicable("none of its files lists the fingerprints of what was seen")
    again = site.crawl()
    if again.warnings() <= first.warnings() | resumed.warnings():  # it says nothing that it does not say anyway
        assert again.hits == [], "an exception, a warning, or the 3 pages of the file known"
