"""Checks of put, and of the order in which requests come."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from queue_conformance.engine.blocks import may_raise, raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import clock_at, offers, time_zone
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.runner import runner_of
from queue_conformance.engine.samples import CLOCKS, ZONES, few_and_many
from queue_conformance.engine.sequences import commands
from queue_conformance.engine.subject import Item
from queue_conformance.kinds.async_queue.fixtures import drained, put, put_all, put_until_rewritten, requests_of, urls_of
from queue_conformance.kinds.async_queue.script_support import urls_in


@check("aqueue.put.accept", name="put.clock", moments=CLOCKS)
def nothing_is_lost_by_the_clock(open_async_queue, loop, moments):
    """`put` stores a request: `size` grows by one, and a later `get` returns it."""
    with under_test():
        with clock_at(moments[0]):
            queue = open_async_queue()
        for number, moment in enumerate(moments):
            with clock_at(moment):
                put(queue, number)
        left = drained(loop, queue, 4)
        assert sorted(one.url for one in left) == urls_of(range(4))


@check("aqueue.put.accept", name="put.zone", depends_on="put:0 put:1 get get", zone=ZONES)
def nothing_is_lost_in_another_time_zone(open_async_queue, loop, zone):
    """`put` stores a request: `size` grows by one, and a later `get` returns it."""
    with time_zone(zone):
        queue = open_async_queue()
        put_all(loop, queue, requests_of(range(4)))
        left = drained(loop, queue, 5)
        assert sorted(one.url for one in left) == urls_of(range(4))


@check("aqueue.put.accept", name="put.two-queues")
def two_queues_share_nothing(context, open_async_queue, loop, prioritized):
    """`put` stores a request: `size` grows by one, and a later `get` returns it."""
    if context.driver.place is None and any(map(offers, ("persistent", "server", "shared"))):
        raise NotApplicable("nothing says that two of them store in two places")
    queue = open_async_queue("0")
    other = open_async_queue("1")
    with under_test():
        put(queue, 4)
        put(other, 8)
        put(queue, 12)
        assert loop.run(other.get()) == prioritized(8), f"{prioritized(8)}, the only one that was put there"
        assert loop.run(queue.size()) == 2


STAMPED = 48
"""An item that has a time. A request that has none may be encoded with that of its put, which differs between two."""


@check("aqueue.put.accept", name="put.equal", number=(1, STAMPED))
def a_request_that_equals_one_that_waits_is_stored_too(open_async_queue, loop, number):
    """`put` stores a request: `size` grows by one, and a later `get` returns it."""
    if offers("dedupe"):
        raise NotApplicable("it knows duplicates")
    queue = open_async_queue()
    with under_test():
        put(queue, number)
        expected = 1 if put(queue, number) is False else 2
        assert loop.run(queue.size()) == expected, f"{expected}: one for each put, unless it returns False for a duplicate"


@check("aqueue.put.result", options=({}, {"dedupe": True}))
def put_tells_at_most_whether_it_stored(open_async_queue, loop, options):
    """`put` returns nothing; a queue that filters duplicates may return `True` for a request that it stored and `False` for
    one that it did not.
    """
    if options and not offers("dedupe"):
        raise NotCovered("it knows no duplicates")
    queue = open_async_queue(**options)
    for number in (1, 1, 2):
        before = loop.run(queue.size())
        result = put(queue, number)
        after = loop.run(queue.size())
        allowed = None if result is None else after > before
        assert result is allowed, f"None, or whether it was stored: {after > before}"


STOCK = "it works on the stock event loop alone, where no cancellation can be placed"

HARMFUL = ({"meta": {"value": object}}, {"meta": {"value": 2**70}}, {"headers": {"A": object}}, {"body": object})
"""What cannot be encoded, in one way or another."""


def refused_fields(context: CheckContext) -> Iterator[dict[str, Any]]:
    """Yield the fields of requests that a put refuses."""
    found = [fields for fields in HARMFUL if _is_refused(context, fields)]
    if not found and not _refuses_when_full(context):
        raise NotApplicable("nothing is known that a put refuses")
    yield from found


def _is_refused(context: CheckContext, fields: dict[str, Any]) -> bool:
    with suppress(Exception):  # requests themselves may refuse it
        request = context.driver.request_class("https://example.com/9", **fields)
        context.restart()
        queue = context.open()
        try:
            context.driver.put(queue, Item(request, "request"))
        except OperationRaised:
            return True
    return False


def _refuses_when_full(context: CheckContext) -> bool:
    return context.offers("bounded") and runner_of(context).passes(commands("limit:2 put:0 put:0 put:0"))


@check("aqueue.put.failed-no-trace", name="put.full")
def what_found_no_room_leaves_no_trace(context, run):
    """A put that raised leaves nothing half-done behind: the size, other requests and what is stored are as before, and the
    same request can be put again.
    """
    if not _refuses_when_full(context):
        raise NotCovered("no put is refused for want of room")
    run("limit:2 put:0 put:0 put:0 size put:0 get put:0 size get get")


@check("aqueue.fault.recovers", fields=[refused_fields])
def close_does_not_tell_of_a_refused_put(open_async_queue, loop, requested, fields):
    """After a put that was refused, or any fault of its disk, its server or its process, a queue works again when that is
    over, and `close` raises nothing.
    """
    request = requested(**fields)
    queue = open_async_queue()
    with may_raise() as refused:
        loop.run(queue.put(request, priority=0))
    if not refused:
        raise NotCovered("it stored what it refused before")
    loop.run(queue.close())


@check("aqueue.fault.recovers", name="fault.full")
def close_does_not_tell_of_want_of_room(context, run):
    """After a put that was refused, or any fault of its disk, its server or its process, a queue works again when that is
    over, and `close` raises nothing.
    """
    if not _refuses_when_full(context):
        raise NotCovered("no put is refused for want of room")
    run("limit:1 put:0 put:0 get")


@check("aqueue.put.failed-no-trace", name="put.refused", fields=[refused_fields])
def failed_puts_leave_no_trace(open_async_queue, loop, requested, prioritized, fields):
    """A put that raised leaves nothing half-done behind: the size, other requests and what is stored are as before, and the
    same request can be put again.
    """
    request = requested(**fields)
    queue = open_async_queue(holding=[4])
    with may_raise() as refused:
        loop.run(queue.put(request, priority=0))
    if not refused:
        raise NotCovered("it stored what it refused before")
    with under_test():
        assert loop.run(queue.size()) == 1
        put(queue, 8)
        for _ in range(2):
            assert loop.run(queue.get()) in [prioritized(4), prioritized(8)]
        assert loop.run(queue.size()) == 0
        if offers("persistent"):
            loop.run(queue.close())
            queue = open_async_queue()
            assert loop.run(queue.size()) == 0


def bounds(context: CheckContext) -> Iterator[int]:
    """Yield 3, if a queue with that bound holds as many requests."""
    if not context.offers("bounded") or not runner_of(context).passes(commands("limit:3 put:0 put:0 put:0 get put:0")):
        raise NotCovered("it has no bound that works")
    yield 3


@check("aqueue.put.failed-no-trace", name="put.refused-room", limit=[bounds], fields=HARMFUL)
def what_was_refused_takes_no_room(open_async_queue, loop, requested, limit, fields):
    """A put that raised leaves nothing half-done behind: the size, other requests and what is stored are as before, and the
    same request can be put again.
    """
    request = requested(**fields)
    queue = open_async_queue(maxsize=limit)
    for _ in range(limit):
        with may_raise() as refused:
            loop.run(queue.put(request, priority=0))
        if not refused:
            raise NotCovered("it stored everything")
    with under_test():
        put(queue, 8)
        assert loop.run(queue.size()) == 1


@check("aqueue.put.failed-no-trace", name="put.full-dedupe", limit=[bounds])
def what_was_refused_is_no_duplicate(open_async_queue, loop, limit):
    """A put that raised leaves nothing half-done behind: the size, other requests and what is stored are as before, and the
    same request can be put again.
    """
    if not offers("dedupe"):
        raise NotCovered("it knows no duplicates")
    queue = open_async_queue(maxsize=limit, dedupe=True, holding=(4, 8, 12))
    with may_raise() as refused:
        put(queue, 16)
    if not refused:
        raise NotCovered("it did not refuse what exceeds its bound")
    with under_test():
        loop.run(queue.get())
        put(queue, 16)
        assert loop.run(queue.size()) == 3


STEPS = ("tick", "run_job:0", "deliver:0") * 8

AHEAD = "tick tick run_job:1 deliver:0 tick"
"""Lets the second of two threads do its work before the first one."""


@check("aqueue.put.cancelled-no-trace", count=range(len(STEPS) + 1))
def cancelled_puts_leave_no_trace(context, run, count):
    """A put that is cancelled stores its request or does not; it leaves nothing half-done behind, and other requests are as
    before.
    """
    if not context.driver.simulated:
        raise NotCovered(STOCK)
    cancelled = " ".join(("start_put:0", *STEPS[:count], "cancel_put:0", "settle"))
    run(f"{cancelled} put:0 size")
    steps = " ".join(STEPS[:count])
    for chosen in range(3) if count < len(STEPS) // 3 else [count % 3]:  # most puts have ended by then
        run(f"start_put:0 start_put:0 start_put:0 {steps} cancel_put:{chosen} settle size get get")
    if count < len(STEPS) // 3:  # a thread goes on with its work although nobody waits for it, while another one works
        run(f"start_put:0 start_put:0 {steps} begin_job cancel_put:0 {AHEAD} settle size get get")
    if context.offers("bounded", "clear"):
        run(f"limit:1 {cancelled} clear put:0 size")
    if context.offers("persistent"):
        run(f"{cancelled} reopen")
        run(f"{cancelled} put:0 reopen size put:0 get reopen")


@check("aqueue.order.priority", name="no-priority", order=((1, 0, -1), (-1, 0, 1)))
def a_request_without_a_priority_has_0(open_async_queue, loop, prioritized, order):
    """Requests come by priority, in one direction: that of the claim `priority=`, else that of the docstring of the class,
    else the highest number first.
    """
    queue = open_async_queue()
    if not _has_default(queue.raw.put):
        raise NotApplicable("put has no default for the priority")
    for priority in order:  # equal priorities could come in either order
        if priority:
            put(queue, 1 + priority, priority)
        else:
            loop.run(queue.put(prioritized(1, 0)))
    loop.run(queue.get())
    assert loop.run(queue.get()) == prioritized(1, 0)


@check("aqueue.order.priority", name="priority.argument", reopen=(False, True))
def the_priority_that_put_is_given_decides(open_async_queue, loop, prioritized, reopen):
    """Requests come by priority, in one direction: that of the claim `priority=`, else that of the docstring of the class,
    else the highest number first.
    """
    if reopen and not offers("persistent"):
        raise NotCovered("it is not persistent")
    queue = open_async_queue()
    for number, priority in ((0, -1), (1, 0), (0, 1)):  # other priorities than the requests have, and one request twice
        loop.run(queue.put(prioritized(number), priority=priority))
    if loop.run(queue.size()) < 3:
        raise NotCovered("it takes one of two equal requests")
    with under_test():
        if reopen:
            loop.run(queue.close())
            queue = open_async_queue()
            with under_test("aqueue.persist.reopen"):
                assert loop.run(queue.size()) == 3
        left = drained(loop, queue, 4)
        received = urls_in(left)
        assert received == urls_of([0, 1, 0]), "requests by the priorities that put was given"


def _has_default(put: Callable[..., object]) -> bool:
    try:
        parameter = inspect.signature(put).parameters.get("priority")
    except (TypeError, ValueError):  # it is not written in Python
        return False
    return parameter is not None and parameter.default is not inspect.Parameter.empty


@check("aqueue.order.fifo")
def equal_priorities_come_in_order(context, run):
    """Requests of equal priority come in the order in which they were put."""
    short = "put:0 put:0 put:0 get put:0 put:0 get get get get"
    with context.collecting():
        run(short)
    if context.failed and any(runner_of(context).passes(commands(short)) for _ in range(5)):
        context.failed.clear()  # the order is right by chance: more requests show that more surely
    run("put:0 " * 12 + "get get get put:0 put:0")
    if context.offers("persistent"):
        run("put:0 " * 11 + "reopen put:0 get get put:0 reopen put:0")


@check(
    "aqueue.put.accept",
    "aqueue.order.priority",
    "aqueue.order.fifo",
    "aqueue.persist.reopen",
    name="put.many",
    reopen=(False, True),
    numbers=[few_and_many],
)
def many_come_once_and_in_order(context, open_async_queue, loop, rule, reopen, numbers):
    """`put` stores a request: `size` grows by one, and a later `get` returns it."""
    if reopen and not context.offers("persistent"):
        raise NotCovered("it is not persistent")
    more = range(20)
    with under_test():
        queue = open_async_queue(**context.driver.unlimited)
        put_all(loop, queue, requests_of(numbers))
        put(queue, 21, 1 if context.driver.higher_first else -1)
        early = drained(loop, queue, len(numbers) // 2)
        put_all(loop, queue, requests_of(more))
    with under_test("aqueue.persist.reopen" if reopen else rule):
        if reopen:
            loop.run(queue.close())
            queue = open_async_queue(**context.driver.unlimited)
        late = drained(loop, queue, len(numbers) + 21 - len(numbers) // 2)
        received = [getattr(one, "url", repr(one)) for one in early + late]
        assert len(received) == len(numbers) + 21, f"{len(numbers) + 21} requests"
        assert sorted(received) == sorted(f"https://example.com/{n}" for n in [*numbers, *more, 21]), "each request once"
    with under_test("aqueue.order.priority"):
        assert received[0] == "https://example.com/21", "the most urgent one first"
    right = [f"https://example.com/{n}" for n in [21, *numbers, *more]]
    misplaced = [url for url, place in zip(received[1:], right[1:], strict=False) if url != place]
    with under_test("aqueue.persist.reopen" if reopen and "aqueue.order.fifo" not in context.failed else "aqueue.order.fifo"):
        assert misplaced == [], "the others in the order of their puts"


LOGGED = range(3000, 3600)
"""The numbers of requests that pass through a log before it is taken for one that is never rewritten."""


@check("aqueue.persist.reopen", name="reopen.rewritten", turns=(0, 3))
def a_put_beside_a_rewriting_is_stored(context, open_async_queue, loop, directory, turns):
    """Requests of a persistent queue survive `close` and reopening, in a new process as well, in their order."""
    requests = requests_of(LOGGED)
    queue = open_async_queue(**context.driver.unlimited)
    put_all(loop, queue, requests[:2])
    received, rewritten = put_until_rewritten(loop, queue, requests[2:], directory, turns)
    if not rewritten:
        raise NotApplicable("its files are not rewritten")
    with under_test():
        loop.run(queue.close())
        queue = open_async_queue(**context.driver.unlimited)
        left = drained(loop, queue, 3)
        urls = [getattr(one, "url", repr(one)) for one in received + left]
        expected = [f"https://example.com/{number}" for number in LOGGED[: len(received) + 2]]
        assert sorted(urls) == expected, "each request once, though files were rewritten while the last one was put"


NEGATIVE = (0, -1, -10, -5, 10, -(2**31), 2**31, -2, 100, 200, 1000, -200, -1000, 10**10, -(10**10))

UNORDERED = "put:0 put:1 put:3 get get get"
"""Without order, the sign does not matter."""


@check("aqueue.order.negative", depends_on=UNORDERED, reopen=(False, True))
def negative_priorities_work(open_async_queue, loop, reopen):
    """Negative priorities are priorities like others, after reopening as well."""
    if reopen and not offers("persistent"):
        raise NotCovered("it is not persistent")
    with under_test():
        queue = open_async_queue()
        for number, priority in enumerate(NEGATIVE):
            put(queue, number, priority)
        if reopen:
            loop.run(queue.close())
            queue = open_async_queue()
        with under_test("aqueue.persist.reopen" if reopen else "aqueue.put.accept"):
            assert loop.run(queue.size()) == len(NEGATIVE)
        left = drained(loop, queue, len(NEGATIVE))
        received = [getattr(one, "priority", one) for one in left]
        assert received in (sorted(NEGATIVE), sorted(NEGATIVE, reverse=True)), "priorities in their order"


@check("aqueue.order.non-int", priority=(1.5, None, "5", True))
def priorities_that_are_no_int_are_refused(open_async_queue, loop, prioritized, priority):
    """A priority that is no `int` is refused by `put`."""
    queue = open_async_queue()
    with raises(Exception, because=f", as the priority is {priority!r}"):
        loop.run(queue.put(prioritized(4), priority=priority))
