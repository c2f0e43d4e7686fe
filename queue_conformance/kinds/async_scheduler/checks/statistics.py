"""Checks of what a scheduler says of itself."""

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.kinds.async_scheduler.common import NUMBERS
from queue_conformance.kinds.async_scheduler.fixtures import waiting_get
from queue_conformance.script_support.support import values_of

IDLE = {"queued": 0, "pending": 0}


@check("ascheduler.stats.keys")
def stats_are_numbers(new_scheduler, page, loop):
    """`stats()` returns the numbers `queued`, `pending`, `seen`, `waiting_consumers` and `closed`."""
    scheduler = new_scheduler()
    assert values_of(loop.run(scheduler.stats()), NUMBERS) == dict.fromkeys(NUMBERS, 0)
    for number in (1, 2, 1):
        loop.run(scheduler.add(page(number)))
    expected = {"seen": 2, "waiting_consumers": 0, "closed": 0}
    assert values_of(loop.run(scheduler.stats()), expected) == expected
    loop.run(scheduler.get())
    loop.run(scheduler.get())
    waiting_get(scheduler)
    assert values_of(loop.run(scheduler.stats()), ["waiting_consumers"]) == {"waiting_consumers": 1}
    loop.run(scheduler.close())
    assert values_of(loop.run(scheduler.stats()), ["closed"]) == {"closed": 1}


@check("ascheduler.stats.pending")
def pending_requests_are_being_processed(new_scheduler, page, loop):
    """`pending` is the number of requests being processed, and `queued` the number in the queue."""
    scheduler = new_scheduler()
    with under_test("ascheduler.stats.keys"):
        assert values_of(loop.run(scheduler.stats()), IDLE) == IDLE
    steps = (("add", 1, 0), ("add", 2, 0), ("get", 1, 1), ("get", 0, 2), ("task_done", 0, 1), ("task_done", 0, 0))
    for number, (step, queued, pending) in enumerate(steps):
        if step == "add":
            loop.run(scheduler.add(page(number)))
        elif step == "get":
            loop.run(scheduler.get())
        else:
            loop.call(scheduler.task_done)
        assert values_of(loop.run(scheduler.stats()), IDLE) == {"queued": queued, "pending": pending}


@check("ascheduler.stats.idle", consumer=(False, True))
def idle_means_nothing_to_do(new_scheduler, page, loop, consumer):
    """`queued` and `pending` are both 0 exactly when the scheduler is idle."""
    scheduler = new_scheduler()
    with under_test("ascheduler.stats.keys"):
        assert values_of(loop.run(scheduler.stats()), IDLE) == IDLE
    if consumer:
        waiting_get(scheduler)
    loop.run(scheduler.add(page(1)))
    loop.settle()
    assert values_of(loop.run(scheduler.stats()), IDLE) != IDLE, "not both 0, as it is not idle"
    if not consumer:
        loop.run(scheduler.get())
        assert values_of(loop.run(scheduler.stats()), IDLE) != IDLE, "not both 0, as it is not idle"
    loop.call(scheduler.task_done)
    loop.settle()
    assert values_of(loop.run(scheduler.stats()), IDLE) == IDLE


@check("ascheduler.qsize")
def qsize_counts_the_queue(new_scheduler, page, loop):
    """`qsize()` is the number of queued requests, without those that were handed out."""
    scheduler = new_scheduler()
    assert loop.run(scheduler.qsize()) == 0
    steps = ((1, 1), (2, 2), (1, 2), ("get", 1), (3, 2), ("get", 1), ("task_done", 1), ("get", 0), ("task_done", 0))
    for step, size in steps:
        if step == "get":
            loop.run(scheduler.get())
        elif step == "task_done":
            loop.call(scheduler.task_done)
        else:
            loop.run(scheduler.add(page(step)))
        assert loop.run(scheduler.qsize()) == size
