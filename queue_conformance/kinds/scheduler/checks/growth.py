"""Checks of what schedulers cost as they grow, and keep, by counts that are the same on a busy machine."""

from scrapy import Request

from queue_conformance.engine.check import check
from queue_conformance.engine.growing import SIZE
from queue_conformance.kinds.scheduler.fixtures import bytes_kept_of_done, close, growing_costs_of_requests
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


@check("scheduler.scale.kept", job=[jobs])
def what_is_done_takes_no_memory(open_scheduler, job):
    """What was returned is not kept in memory while the scheduler is in use, though it is never empty."""
    scheduler = open_scheduler(job)
    scheduler.enqueue_request(Request("https://example.com/first"))
    kept, passed = bytes_kept_of_done(scheduler, SIZE)
    assert kept < passed // 2 * SIZE, f"less than half of the bytes of {passed} requests of {SIZE} bytes, which are gone"
    close(scheduler)
