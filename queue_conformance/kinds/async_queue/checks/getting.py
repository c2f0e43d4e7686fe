"""Checks of get: waiting, closing, cancelling, several getters, iterating."""

from __future__ import annotations

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import clock_at, offers
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import MUCH_LATER, PATIENT
from queue_conformance.kinds.async_queue.comparison import MOMENTS
from queue_conformance.kinds.async_queue.driver import REAL
from queue_conformance.kinds.async_queue.fixtures import cancel, drained, put, urls_of
from queue_conformance.kinds.async_queue.script_support import urls_in
from queue_conformance.loops import outcome_of

STEPS = ("tick", "run_job:0", "deliver:0") * 10
"""What makes a task go on, a little at a time."""

CANCELLED = (
    "put:0 put:0 start_get {steps} cancel_get:0 settle size",  # something is there
    "start_get settle start_put:0 {steps} cancel_get:0 settle size",  # it has waited, and something comes
    "start_get start_get settle start_put:0 {steps} cancel_get:0 settle",  # two have waited for one that comes
    "put:0 get start_get settle start_put:0 start_put:0 {steps} cancel_get:0 settle size",
)
"""A get that is cancelled on its way."""

IN_A_FULL_QUEUE = (
    "limit:2 put:0 put:0 start_get {steps} cancel_get:0 settle size",
    "limit:2 put:0 put:0 start_get start_put:0 {steps} cancel_get:0 settle",  # a put may take the room
    "limit:2 put:0 put:0 start_get {steps} start_put:0 cancel_get:0 settle",
)
"""The same where it makes room."""


@check("aqueue.get.cancel-safe")
def cancelled_gets_lose_nothing(context, run):
    """A `get` that is cancelled, wherever it waits, loses no request."""
    cancelled, ways = CANCELLED, [" ".join(STEPS[:count]) for count in range(len(STEPS) + 1)]
    if not context.driver.simulated:
        ways = [" ".join(["tick"] * count) for count in range(MOMENTS)]
    elif context.offers("persistent"):
        cancelled = (*CANCELLED, "put:0 put:0 start_get {steps} cancel_get:0 settle reopen size")
    if context.offers("bounded"):
        cancelled = (*cancelled, *IN_A_FULL_QUEUE)
    for sequence in cancelled:
        for steps in ways:
            run(sequence.format(steps=steps))
    if not context.driver.simulated:
        context.notes.append(REAL.format("gets were cancelled"))


@check("aqueue.get.concurrent", name="get.later", depends_on="put:0 put:0 get get size")
def what_was_got_does_not_come_again(context, open_async_queue, loop):
    """With several getters each request goes to exactly one of them."""
    if offers("shared"):
        raise NotApplicable("what a process has got may go to another one after a while")
    queue = open_async_queue(holding=(4, 8))
    loop.run(queue.get())
    with clock_at(MUCH_LATER):
        if context.driver.simulated:
            loop.advance(PATIENT)
        left = drained(loop, queue, 2)
        assert len(left) == 1, "the other request, once"


DRAINED = "put:0 put:0 close get get get"


@check("aqueue.iter", depends_on=DRAINED)
def async_for_yields_what_is_left(open_async_queue, loop, each):
    """`async for` yields the requests, and ends when the queue is closed and empty."""
    with under_test():
        queue = open_async_queue(holding=(4, 8))
        loop.run(queue.close())
        consuming = loop.start(each(queue))
        loop.settle(consuming)
        outcome, received = outcome_of(consuming)
        assert outcome == "returned", "async for ends when the queue is closed and empty"
        assert sorted(urls_in(received), key=str) == sorted(urls_of((4, 8)))


@check(
    "aqueue.iter",
    name="iter.waits",
    depends_on="put:0 get start_get start_get settle put:0 settle close",
    numbers=(((4, 8), ()), ((), (4, 8)), ((4,), (8,))),
)
def async_for_waits_and_ends(open_async_queue, loop, each, numbers):
    """`async for` yields the requests, and ends when the queue is closed and empty."""
    before, later = numbers
    with under_test():
        queue = open_async_queue(holding=before)
        consuming = loop.start(each(queue))
        loop.stays()
        outcome = outcome_of(consuming)
        assert outcome == ("waiting", None), "async for goes on while the queue is open"
        for number in later:
            put(queue, number)
        loop.stays()
        loop.run(queue.close())
        loop.settle(consuming)
        outcome, received = outcome_of(consuming)
        assert outcome == "returned", "async for ends when the queue is closed and empty"
        assert sorted(urls_in(received), key=str) == sorted(urls_of(before + later))


NUMBERS = (4, 8, 12, 16)


@check(
    "aqueue.get.concurrent",
    name="iter.consumers",
    depends_on="put:0 put:0 put:0 put:0 get get get get start_get start_get settle close",
)
def consumers_share_what_comes(iterates, open_async_queue, loop, each):
    """With several getters each request goes to exactly one of them."""
    queue = open_async_queue(holding=NUMBERS)
    with under_test("aqueue.iter"):
        first = loop.start(each(queue))
        second = loop.start(each(queue))
        loop.stays()
        loop.run(queue.close())
        loop.settle(first, second)
        received = [*loop.run(first), *loop.run(second)]
    with under_test():
        assert sorted(urls_in(received), key=str) == sorted(urls_of(NUMBERS)), "each request for one consumer"


@check("aqueue.iter", name="iter.break", depends_on=DRAINED)
def leaving_async_for_loses_nothing(open_async_queue, loop, first_of):
    """`async for` yields the requests, and ends when the queue is closed and empty."""
    with under_test():
        queue = open_async_queue(holding=(4, 8, 12))
        first = loop.run(first_of(queue))
        received = [first, *drained(loop, queue, 2)]
    assert sorted(urls_in(received), key=str) == sorted(urls_of((4, 8, 12)))


@check("aqueue.iter.cancel")
def cancelling_async_for_ends_the_task(open_async_queue, loop, each):
    """Cancelling a task inside `async for` ends the task as cancelled, and not the loop as if the queue were closed."""
    queue = open_async_queue(holding=[4])
    consuming = loop.start(each(queue))
    loop.stays()
    if consuming.done():
        raise NotCovered("async for ends although the queue is open")
    cancel(consuming)
    loop.settle(consuming)
    outcome = outcome_of(consuming)
    assert outcome == ("cancelled", None), "the task ends as cancelled"
