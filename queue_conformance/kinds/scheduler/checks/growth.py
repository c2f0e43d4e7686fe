"""Checks of what schedulers cost as they grow, by counts that are the same on a busy machine."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.scheduler.fixtures import close, growing_costs_of_requests
from queue_conformance.kinds.scheduler.layout import jobs


@check("scheduler.scale.stored", job=[jobs])
def operations_cost_the_same_however_much_is_stored(open_scheduler, job):
    """What `enqueue_request`, `next_request`, `has_pending_requests` and `len()` cost does not grow in proportion to what is
    stored.
    """
    scheduler = open_scheduler(job)
    growing = growing_costs_of_requests(scheduler)
    assert growing == [], "no cost that grows in proportion to what is stored"
    close(scheduler)
