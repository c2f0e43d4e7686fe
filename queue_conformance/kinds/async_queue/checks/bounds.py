"""Checks of the bound and the size, of clear and close."""

import asyncio

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.kinds.async_queue.fixtures import connections_left, put
from queue_conformance.loops import outcome_of


@check("aqueue.bound.limit")
def the_size_never_exceeds_the_limit(open_async_queue, prioritized, loop):
    """`size` never exceeds `maxsize`; 0 means no limit."""
    queue = open_async_queue(maxsize=2)
    for request in map(prioritized, (4, 8, 12, 16)):
        loop.start(queue.put(request, priority=request.priority))
    loop.stays()
    assert loop.run(queue.size()) <= 2


@check(
    "aqueue.bound.limit",
    name="bound.at-once",
    steps=("", "tick", "tick run_job:0 deliver:0", "tick run_job:0 run_job:0 deliver:0 deliver:0 tick"),
)
def puts_at_once_do_not_exceed_the_limit(context, run, steps):
    """`size` never exceeds `maxsize`; 0 means no limit."""
    if not context.driver.simulated:
        raise NotCovered("it works on the stock event loop alone, where puts cannot be interleaved")
    run(f"limit:2 start_put:0 {steps} start_put:0 {steps} start_put:0 {steps} start_put:0 settle size")
    run(f"limit:1 start_put:0 start_put:0 {steps} start_put:0 settle size get put:0 size")


@check("aqueue.bound.usable", name="clear.wakes")
def clear_lets_in_the_puts_that_wait(open_async_queue, prioritized, loop):
    """A bounded queue accepts requests as long as it holds fewer than `maxsize`."""
    if not offers("clear"):
        raise NotApplicable("it has no clear")
    with under_test():
        queue = open_async_queue(maxsize=2, holding=(4, 8))
    first = loop.start(queue.put(prioritized(12), priority=0))
    second = loop.start(queue.put(prioritized(16), priority=0))
    loop.stays()
    if first.done() or second.done():
        raise NotCovered("no put waits for room")
    loop.run(queue.clear())
    with under_test():
        loop.run(first)
        loop.run(second)
        assert loop.run(queue.size()) == 2


@check("aqueue.get.concurrent", name="get.room")
def puts_that_wait_keep_no_consumer_waiting(open_async_queue, prioritized, loop):
    """With several getters each request goes to exactly one of them."""
    if not offers("bounded"):
        raise NotApplicable("it has no bound")
    with under_test("aqueue.bound.usable"):
        queue = open_async_queue(maxsize=1, holding=[4])
    first = loop.start(queue.put(prioritized(8), priority=0))
    second = loop.start(queue.put(prioritized(12), priority=0))
    loop.stays()
    if first.done() or second.done():
        raise NotCovered("no put waits for room")
    consumers = [loop.start(queue.get()) for _ in range(3)]
    loop.stays()
    outcomes = [outcome_of(consumer)[0] for consumer in consumers]
    assert outcomes == ["returned"] * 3, "a request for each consumer, as three were put"


@check("aqueue.maxsize", options=({}, {"maxsize": 0}, {"maxsize": 1}, {"maxsize": 1000}))
def maxsize_tells_the_limit(context, open_async_queue, options):
    """`maxsize` returns the configured limit, 0 for none."""
    if options and not context.offers("bounded"):
        raise NotCovered("it has no bound")
    expected = options.get("maxsize", context.driver.limit)
    queue = open_async_queue(**options)
    limit = queue.maxsize()
    assert limit == expected
    assert type(limit) is int


@check("aqueue.clear", name="clear.dedupe")
def clear_removes_the_memory_of_duplicates(open_async_queue, loop):
    """`clear` removes all requests and all memory of duplicates, and the queue can be used on."""
    if not offers("dedupe"):
        raise NotCovered("it knows no duplicates")
    queue = open_async_queue(dedupe=True, holding=[4])
    loop.run(queue.clear())
    put(queue, 4)
    assert loop.run(queue.size()) == 1


@check("aqueue.put.closed", name="close.during-put", ticks=range(4))
def a_put_ends_when_the_queue_is_closed(open_async_queue, prioritized, loop, ticks):
    """A put on a closed queue stores nothing and raises nothing."""
    queue = open_async_queue()
    first = loop.start(queue.put(prioritized(4), priority=0))
    second = loop.start(queue.put(prioritized(8), priority=0))
    for _ in range(ticks):
        loop.tick()
    closing = loop.start(queue.close())
    loop.settle(closing)
    loop.stays()
    outcomes = [outcome_of(first)[0], outcome_of(second)[0]]
    assert "waiting" not in outcomes, "each put ends"


@check("aqueue.close.twice", stored=((), (4,)))
def closing_twice_is_harmless(open_async_queue, loop, stored):
    """Closing a queue twice is harmless."""
    queue = open_async_queue(holding=stored)
    loop.run(queue.close())
    with under_test():
        loop.run(queue.close())


@check("aqueue.close.releases")
def close_ends_all_tasks(open_async_queue, loop):
    """`close` releases connections, ends the tasks that the queue started, and raises nothing."""
    queue = open_async_queue(holding=(4, 8))
    loop.run(queue.get())
    loop.run(queue.close())
    loop.stays()
    tasks_left = sum(not task.done() for task in loop.call(asyncio.all_tasks))
    assert tasks_left == 0, "no task of the queue after close"


@check("aqueue.close.releases", name="close.connections")
def close_ends_all_connections(async_backend, open_async_queue, loop):
    """`close` releases connections, ends the tasks that the queue started, and raises nothing."""
    queue = open_async_queue(holding=[4])
    loop.run(queue.get())
    loop.run(queue.close())
    loop.stays()
    assert connections_left(async_backend) == 0, "no connection to the server"
