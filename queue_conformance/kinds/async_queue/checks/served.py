"""Checks of asynchronous queues behind a server, and of what only such queues offer."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Iterator

from queue_conformance.engine.blocks import may_raise, raises, under_test
from queue_conformance.engine.cases import Attempt
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import note
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.recording import describe
from queue_conformance.faults.outages import Refused, ReplyLost, each_reply_lost
from queue_conformance.faults.servers.redis import ask
from queue_conformance.kinds.async_queue.driver import PLACES
from queue_conformance.kinds.async_queue.fixtures import drop_hashes, put, size_again, urls_of
from queue_conformance.loops import NeverReturns, RealLoop, outcome_of


@check("aqueue.redis.namespace", names=(("0", "1"), ("1", "10"), ("10", "1")))
def namespaces_are_independent(context, open_async_queue, loop, prioritized, names):
    """Queues of different namespaces on one server are independent."""
    if context.driver.place is None:
        raise NotApplicable(f"the constructor takes none of {', '.join(PLACES)}")
    queue = open_async_queue(names[0])
    other = open_async_queue(names[1])
    with under_test():
        put(queue, 4)
        assert loop.run(other.size()) == 0, "size 0 in the other namespace"
        put(other, 8)
        loop.run(queue.clear())
        assert loop.run(other.size()) == 1, "size 1 in the other namespace"
        assert loop.run(other.get()) == prioritized(8)


@check("aqueue.redis.shared")
def each_request_goes_to_one_crawler(open_async_queue, loop):
    """Where several crawlers use one namespace, each request goes to one of them."""
    numbers = [4 * number for number in range(1, 13)]
    queue = open_async_queue()
    other = open_async_queue()
    received = []
    with under_test():
        for number in numbers[::2]:
            put(queue, number)
            put(other, number + 4)
        for _ in range(6):
            getting = loop.start(queue.get())
            getting_too = loop.start(other.get())
            loop.settle(getting, getting_too)
            got = [loop.run(getting), loop.run(getting_too)]
            received = [*received, *(getattr(one, "url", "") for one in got)]
        assert sorted(received) == sorted(urls_of(numbers)), "12 requests, each for one of two crawlers"


@check("aqueue.redis.shared", name="redis.shared-wakes")
def what_one_crawler_puts_another_one_gets(open_async_queue, loop, prioritized):
    """Where several crawlers use one namespace, each request goes to one of them."""
    queue = open_async_queue()
    other = open_async_queue()
    with under_test():
        getting = loop.start(other.get())
        loop.stays()
        put(queue, 4)
        assert loop.run(getting) == prioritized(4)


@check("aqueue.redis.dedupe", name="redis.dedupe-body", fields=({"method": "PUT"}, {"method": "POST", "body": b"b"}))
def another_method_or_body_makes_another_request(open_async_queue, loop, requested, fields):
    """With `dedupe` a request that is queued already is not stored again; with `update_priority` as well, a better priority
    replaces the one it has.
    """
    with under_test():
        queue = open_async_queue(dedupe=True)
        request = requested(method="POST", body=b"a")
        loop.run(queue.put(request, priority=0))
        request = requested(**{"body": b"a", **fields})
        loop.run(queue.put(request, priority=0))
        assert loop.run(queue.size()) == 2


@check("aqueue.redis.dedupe")
def what_is_queued_is_not_stored_again(open_async_queue, loop, prioritized):
    """With `dedupe` a request that is queued already is not stored again; with `update_priority` as well, a better priority
    replaces the one it has.
    """
    with under_test():
        queue = open_async_queue(dedupe=True, holding=(4, 4, 8, 4))
        assert loop.run(queue.size()) == 2
        for _ in range(2):
            assert loop.run(queue.get()) in [prioritized(4), prioritized(8)]


@check("aqueue.redis.dedupe", name="redis.update-priority", update=(True, False))
def a_better_priority_counts_if_it_is_to_be_updated(context, open_async_queue, loop, prioritized, update):
    """With `dedupe` a request that is queued already is not stored again; with `update_priority` as well, a better priority
    replaces the one it has.
    """
    if "update_priority" not in context.driver.parameters:
        raise NotCovered("the constructor takes no update_priority")
    low, middle, high = (0, 5, 10) if context.driver.higher_first else (10, 5, 0)
    with under_test():
        queue = open_async_queue(dedupe=True, update_priority=update)
        for number, priority in ((4, low), (8, middle), (4, high), (4, low)):
            put(queue, number, priority)
        assert loop.run(queue.get()) == prioritized(4 if update else 8)
        assert loop.run(queue.size()) == 1


TTL = 2
"""Seconds; servers count in whole ones, so a request may be gone one second too early or too late."""

NEW = (7, 4)
"""The release of Redis from which a field of a hash can expire."""


@check("aqueue.redis.ttl", options=({}, {"dedupe": True}))
def requests_disappear_in_time(context, open_async_queue, loop, options):
    """With `item_ttl` a request disappears after that many seconds, and not before; then it can be put again with `dedupe`
    too.
    """
    if options and not context.offers("dedupe"):
        raise NotCovered("it knows no duplicates")
    with under_test():
        queue = open_async_queue(item_ttl=TTL, **options)
        first = time.monotonic()
        with may_raise(when=_is_old(context)) as refused:
            put(queue, 4)
        if refused:
            raise NotCovered(f"a server older than Redis 7.4 refuses what that may know: {describe(refused.raised)}")
        time.sleep(0.9)
        size = loop.run(queue.size())
        if time.monotonic() - first >= TTL - 1:
            raise NotCovered(f"this machine is too slow for a request that lives for {TTL} s")
        assert size == 1, "size 1 in the first second"
        time.sleep(1)
        second = time.monotonic()
        put(queue, 1)
        time.sleep(0.6)
        size = loop.run(queue.size())
        if time.monotonic() - second >= TTL - 1:
            raise NotCovered(f"this machine is too slow for a request that lives for {TTL} s")
        assert size in (1, 2), "the second one, which was put less than a second ago"
        time.sleep(max(0, first + TTL + 1 - time.monotonic()))
        assert loop.run(queue.size()) in (0, 1), "the first one gone after 3 s, whatever was put later"
        time.sleep(max(0, second + TTL + 1 - time.monotonic()))
        assert loop.run(queue.size()) == 0, "size 0 after 3 s"
        getting = loop.start(queue.get())
        loop.stays()
        outcome = outcome_of(getting)
        assert outcome == ("waiting", None), "no request"
        getting.cancel()
        if options:
            put(queue, 4)
            assert loop.run(queue.size()) == 1, "size 1: what is gone is no duplicate"


def _is_old(context: CheckContext) -> bool:
    """Whether a Redis server says that it is older than that."""
    if context.backend is not None:
        with contextlib.suppress(Exception):
            for line in str(ask(context.backend.server.address, "INFO", "server")).splitlines():
                if line.startswith("redis_version:"):
                    return tuple(int(part) for part in line.partition(":")[2].split(".")[:2]) < NEW
    return False


@check("aqueue.redis.timeout")
def a_time_out_of_zero_does_not_wait(context, open_async_queue, loop):
    """`get(timeout=0.0)`, where `get` has such a parameter, looks once and does not wait."""
    if "timeout" not in inspect.signature(context.implementation.cls.get).parameters:
        raise NotApplicable("get has no parameter timeout")
    queue = open_async_queue()
    with under_test():
        getting = loop.start(queue.get(timeout=0.0))
        loop.advance(1)
        outcome, _ = outcome_of(getting)
        assert outcome != "waiting", "an answer at once"
        loop.start(queue.get(timeout=0.05))
        loop.advance(1)
        put(queue, 4)
        loop.advance(0.2)
        assert loop.run(queue.size()) == 1, "the request, which no get waits for"


ANSWER = 8.0
"""Seconds that a client gets to give up."""


@check("aqueue.redis.outage", operation=("put", "get", "size"))
def outages_are_reported_and_survived(context, async_backend, open_async_queue, loop, operation):
    """While the server is away `put`, `get` and `size` raise an exception, and when it is back the queue works again; a `put`
    that asks again by itself stores its request once.
    """
    if not isinstance(context.driver.loop, RealLoop):
        raise NotCovered("there is no connection that could be cut: give --queue-server")
    context.driver.loop.must_come = ANSWER
    queue = open_async_queue(holding=[4])
    with under_test():
        with raises(Exception, because=" while the server is away") as reported, Refused(async_backend):
            put(queue, 8) if operation == "put" else loop.run(getattr(queue, operation)())
        if isinstance(reported.error, NeverReturns):
            note(f"for more than {ANSWER:g} s while the server is away goes on:", operation)
            raise NotCovered("it does not give up while the server is away")
        size = size_again(loop, queue)
        assert size in {"put": (1, 2), "get": (0, 1), "size": (1,)}[operation], "the requests, when the server is back"


def lost_replies(context: CheckContext, attempt: Attempt) -> Iterator[ReplyLost]:
    """Yield one reply after the other that does not come, of a server that can be asked again at once."""
    if context.backend is None or not isinstance(context.driver.loop, RealLoop):
        raise NotCovered("there is no connection that could be cut: give --queue-server")
    yield from each_reply_lost(context.backend, attempt)


@check("aqueue.redis.outage", name="redis.lost-reply", fault=[lost_replies])
def a_put_that_asks_again_stores_once(open_async_queue, loop, fault):
    """While the server is away `put`, `get` and `size` raise an exception, and when it is back the queue works again; a `put`
    that asks again by itself stores its request once.
    """
    queue = open_async_queue(holding=[4])
    with under_test():
        with may_raise() as refused, fault:
            put(queue, 8)
        fault.must_hit()
        size = size_again(loop, queue)
        assert size in ([1, 2] if refused else [2]), "what was put before, and once what put has stored"


@check("aqueue.redis.orphans")
def entries_without_request_are_skipped(async_backend, open_async_queue, loop, prioritized):
    """Entries of an index whose request is gone are skipped."""
    if not hasattr(async_backend.server, "drop_hashes"):
        raise NotCovered(f"the kit removes nothing from {async_backend.server.name}: --queue-server=redis starts one of its own")
    queue = open_async_queue(holding=(4, 8))
    if not drop_hashes(async_backend):
        raise NotApplicable("the queue keeps nothing in a hash of Redis")
    with under_test():
        put(queue, 12)
        assert loop.run(queue.get()) == prioritized(12)
