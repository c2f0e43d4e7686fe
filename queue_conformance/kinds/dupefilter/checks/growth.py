"""Checks of what dupefilters cost as they grow, by counts that are the same on a busy machine."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.dupefilter.fixtures import bytes_kept_of, growing_costs_of_answers

MANY, SIZE = 200, 10_000
"""Requests, and the bytes in the body of each."""


@check("dupefilter.scale.seen", job=("job", None))
def answers_cost_the_same_however_many_were_seen(open_filter, job):
    """What `request_seen` costs does not grow in proportion to what was seen."""
    dupefilter = open_filter(job)
    growing = growing_costs_of_answers(dupefilter)
    assert growing == [], "no cost that grows in proportion to what was seen"
    dupefilter.close()


@check("dupefilter.scale.kept")
def requests_are_not_kept(open_filter):
    """A filter keeps what identifies a request, and not the request."""
    dupefilter = open_filter()
    kept = bytes_kept_of(dupefilter, MANY, SIZE)
    assert kept < MANY * SIZE // 2, f"less than half of the {MANY * SIZE} bytes in the bodies of {MANY} requests"
    dupefilter.close()
