"""Checks of the order that the default scheduler promises, and of what it counts."""

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.kinds.scheduler.fixtures import drain, urls
from queue_conformance.kinds.scheduler.layout import FIFO, jobs


@check("scheduler.next.priority-across")
def priority_counts_across_memory_and_disk(open_scheduler, faulty_queues):
    """A request of higher priority on disk comes before one of lower priority in memory."""
    scheduler = open_scheduler("job", holding=(15, 3), **faulty_queues)
    left = drain(scheduler)
    with under_test("scheduler.enqueue.true"):
        assert sorted(left) == sorted(urls([3, 15]))
    assert left == urls([3, 15])


@check("scheduler.next.fifo-settings", job=[jobs], settings=(FIFO,), numbers=((0, 1, 2),), expected=((0, 1, 2),))
@check(
    "scheduler.next.default-order",
    job=[jobs],
    settings=({},),
    numbers=((0, 8, 1, 9, 2, 10),),
    expected=((2, 1, 0, 8, 9, 10),),  # start requests last, and in order
)
def requests_come_in_the_order_of_the_settings(open_scheduler, default_queues, job, settings, numbers, expected):
    """With FIFO queues in `SCHEDULER_DISK_QUEUE` and `SCHEDULER_MEMORY_QUEUE` requests of equal priority come first in, first
    out.

    With Scrapy's default settings requests of equal priority come last in, first out, and start requests after them, in the
    order in which they were enqueued.
    """
    scheduler = open_scheduler(job, holding=numbers, **{**default_queues, **settings})
    left = drain(scheduler)
    with under_test("scheduler.enqueue.true"):
        assert sorted(left) == sorted(urls(numbers))
    assert left == urls(expected)


@check("scheduler.next.start-none", job=[jobs], nothing=(None, ""))
def start_requests_can_be_like_all_others(open_scheduler, default_queues, job, nothing):
    """With `SCHEDULER_START_MEMORY_QUEUE` and `SCHEDULER_START_DISK_QUEUE` set to `None` or `""` start requests are ordered
    like all others.
    """
    settings = {**default_queues, "SCHEDULER_START_DISK_QUEUE": nothing, "SCHEDULER_START_MEMORY_QUEUE": nothing}
    with under_test():
        scheduler = open_scheduler(job, holding=(0, 8, 1), **settings)
        left = drain(scheduler)
        assert left == urls([1, 8, 0])
