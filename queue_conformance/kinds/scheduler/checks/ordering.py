"""Checks of the order that the default scheduler promises, and of what it counts."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.scheduler.fixtures import TRUE
from queue_conformance.kinds.scheduler.layout import FIFO, jobs


@check("scheduler.next.memory-first", numbers=((0, 15), (3, 17), (8, 18)))
def memory_comes_before_disk(open_scheduler, faulty_queues, fresh, remaining, urls, about, numbers):
    on_disk, in_memory = numbers
    scheduler = open_scheduler("job", **faulty_queues)
    scheduler.enqueue_request(fresh(on_disk))
    scheduler.enqueue_request(fresh(in_memory))
    left = remaining(scheduler)
    with about(TRUE):
        assert sorted(left) == sorted(urls(numbers))
    assert left == urls([in_memory, on_disk])


@check("scheduler.next.priority-across")
def priority_counts_across_memory_and_disk(open_scheduler, faulty_queues, fresh, remaining, urls, about):
    scheduler = open_scheduler("job", **faulty_queues)
    scheduler.enqueue_request(fresh(15))  # in memory
    scheduler.enqueue_request(fresh(3))  # on disk, and of a higher priority
    left = remaining(scheduler)
    with about(TRUE):
        assert sorted(left) == sorted(urls([3, 15]))
    assert left == urls([3, 15])


@check("scheduler.next.default-order", job=[jobs])
def start_requests_come_last_and_in_order(open_scheduler, default_queues, fresh, remaining, urls, about, job):
    scheduler = open_scheduler(job, **default_queues)
    for number in (0, 8, 1, 9, 2, 10):
        scheduler.enqueue_request(fresh(number))
    left = remaining(scheduler)
    with about(TRUE):
        assert sorted(left) == sorted(urls([0, 1, 2, 8, 9, 10]))
    assert left == urls([2, 1, 0, 8, 9, 10])


@check("scheduler.next.fifo-settings", job=[jobs])
def fifo_queues_give_fifo_order(open_scheduler, default_queues, fresh, remaining, urls, about, job):
    scheduler = open_scheduler(job, **{**default_queues, **FIFO})
    for number in (0, 1, 2):
        scheduler.enqueue_request(fresh(number))
    left = remaining(scheduler)
    with about(TRUE):
        assert sorted(left) == urls([0, 1, 2])
    assert left == urls([0, 1, 2])


@check("scheduler.next.start-none", job=[jobs], nothing=(None, ""))
def start_requests_can_be_like_all_others(open_scheduler, default_queues, fresh, remaining, urls, about, rule, job, nothing):
    settings = {**default_queues, "SCHEDULER_START_DISK_QUEUE": nothing, "SCHEDULER_START_MEMORY_QUEUE": nothing}
    with about(rule):
        scheduler = open_scheduler(job, **settings)
        for number in (0, 8, 1):
            scheduler.enqueue_request(fresh(number))
        left = remaining(scheduler)
        assert left == urls([1, 8, 0])
