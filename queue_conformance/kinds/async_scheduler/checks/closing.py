"""Checks of ``close`` and ``async with``."""

import asyncio

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import made
from queue_conformance.kinds.async_scheduler.common import MEMORY, SLOW, SUSPENDING, WORKS
from queue_conformance.kinds.async_scheduler.fixtures import new
from queue_conformance.loops import WAITING, outcome_of, stuck


@check("ascheduler.close.waiters", kind=(MEMORY, SUSPENDING, SLOW), count=(0, 1), steps=range(8))
def close_ends_whoever_waits(new_scheduler, page, loop, kind, count, steps):
    """`close` ends every waiting consumer, wherever it waits."""
    queue = new(kind)
    scheduler = new_scheduler(queue)
    for number in range(count):
        loop.run(scheduler.add(page(number)))
    consumers = [loop.start(scheduler.get()) for _ in range(2)]
    for _ in range(steps):
        loop.advance(0.05) if kind == SLOW else loop.tick()
    loop.run(scheduler.close())
    waiting = stuck(*consumers)
    assert waiting == [], "each consumer ends"


@check("ascheduler.close.queue")
def close_closes_the_queue(new_scheduler, page, loop):
    """`close` closes the queue."""
    queue = new("MemoryQueue")
    scheduler = new_scheduler(queue)
    loop.run(scheduler.add(page(1)))
    loop.run(scheduler.close())
    assert queue.closed, "the queue is closed"


@check("ascheduler.close.twice")
def a_second_close_does_nothing(new_scheduler, page, loop):
    """A second `close` does nothing."""
    queue = new("MemoryQueue")
    scheduler = new_scheduler(queue)
    loop.run(scheduler.add(page(1)))
    loop.run(scheduler.close())
    before = queue.closed
    with under_test():
        loop.run(scheduler.close())
    assert queue.closed <= before, "the queue is not closed again"
    assert len(queue.items) == 1, "what is left in the queue stays there"


@check("ascheduler.close.join", depends_on=WORKS, handed=(False, True))
def join_ends_after_close(new_scheduler, page, loop, handed):
    """`close()` and then `join()`, in this order, end, also with requests left in the queue; `join` then waits for the
    requests that are being processed.
    """
    scheduler = new_scheduler()
    loop.run(scheduler.add(page(1)))
    loop.run(scheduler.add(page(2)))
    if handed:
        loop.run(scheduler.get())
    loop.run(scheduler.close())
    joining = loop.start(scheduler.join())
    loop.settle()
    with under_test():
        if handed:
            assert outcome_of(joining) == WAITING, "join waits for the request that is being processed"
            loop.call(scheduler.task_done)
        loop.run(joining)


@check("ascheduler.context")
def a_context_is_the_scheduler(new_scheduler, loop):
    """`async with` closes the scheduler and waits for what is being processed, and ends; it swallows no exception."""
    scheduler = new_scheduler()
    entered = loop.run(scheduler.__aenter__())
    assert entered is scheduler


@check(
    "ascheduler.context",
    name="context.raises",
    depends_on=WORKS,
    error=(
        lambda: ValueError("in the block"),
        lambda: asyncio.CancelledError(),
    ),
)
def exceptions_leave_a_context(new_scheduler, loop, interrupted, error):
    """`async with` closes the scheduler and waits for what is being processed, and ends; it swallows no exception."""
    scheduler = new_scheduler()
    leaving = loop.start(interrupted(scheduler, made(error)))
    loop.settle()
    waiting = stuck(leaving)
    assert waiting == [], "the context is left"
    outcome = outcome_of(leaving)
    assert outcome[0] in ("raised", "cancelled"), "what the block raises passes through"


@check("ascheduler.context", name="context.ends", depends_on=[WORKS, "ascheduler.close.join"])
def a_context_closes_and_joins(new_scheduler, page, loop):
    """`async with` closes the scheduler and waits for what is being processed, and ends; it swallows no exception."""
    queue = new("MemoryQueue")
    scheduler = new_scheduler(queue)
    loop.run(scheduler.__aenter__())
    loop.run(scheduler.add("https://example.com"))
    loop.run(scheduler.add(page(1, priority=10)))
    loop.run(scheduler.get())
    leaving = loop.start(scheduler.__aexit__(None, None, None))
    loop.settle()
    assert outcome_of(leaving) == WAITING, "the context waits for the request that is being processed"
    with under_test("ascheduler.close.queue"):
        assert queue.closed, "the queue is closed"
    loop.call(scheduler.task_done)
    assert not loop.run(leaving), "exceptions pass through"
