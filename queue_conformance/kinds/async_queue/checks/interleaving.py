"""The interleaving sweep of asynchronous queues that several crawlers use: one operation inside another one."""

from __future__ import annotations

from collections.abc import Iterator

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.interleaving import Between, Traced, cases_between, elsewhere, finished, in_between, step, undelayed
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.async_queue.fixtures import drained, prioritized, put, urls_of
from queue_conformance.kinds.async_queue.script_support import overtake_async_queue, use_async_queue

PAIRS = (
    ("get", "get", (4, 8, 12)),
    ("get", "put", (4, 8)),
    ("put", "get", (4, 8)),
    ("put", "put", (4,)),
    ("get", "size", (4, 8)),
    ("put", "size", ()),
)
"""An operation, what another process does in the midst of it, and the numbers of the requests that are there before."""

MINE, THEIRS = 16, 20
"""The numbers of the requests that the two processes put."""


def interleavings(context: CheckContext) -> Iterator[Between]:
    """Yield the cases of an asynchronous queue."""
    yield from cases_between(context, [Between(*pair) for pair in PAIRS], operate)


def operate(context: CheckContext, pair: Between, traced: Traced) -> None:
    """Do an operation of a queue that nobody else uses."""
    driver, queue = context.driver, context.open()
    for number in pair.holding:
        driver.put(queue, driver.item(number))
    traced(lambda: driver.running.run(queue.get()) if pair.mine == "get" else driver.put(queue, driver.item(MINE)))


@check("aqueue.shared", between=[interleavings])
def what_is_in_between_loses_and_doubles_no_request(tested_class, open_async_queue, async_factory, loop_class, loop, between):
    """Where several processes use one store, each request goes to one of them, and no operation raises because another one is
    in the midst of its own.
    """
    mine, theirs = between.mine, between.theirs
    arguments = [prioritized(THEIRS)] if theirs == "put" else []
    with (
        under_test(expected=f"no exception, though {between.where}"),
        elsewhere(use_async_queue, async_factory, loop_class, theirs, *arguments) as other,
    ):
        queue = open_async_queue(holding=between.holding)
        step(other)
        with in_between(tested_class, between.number, other):
            if mine == "put":
                put(queue, MINE)
            else:
                request = loop.run(queue.get())
        with undelayed(other):
            got = finished(other)
        loop.run(queue.close())
        step(other)
        last = open_async_queue()
        left = drained(loop, last, 9)
    received = [one.url for one in left]
    if mine == "get":
        received = [*received, request.url]
    if theirs == "get":
        received = [*received, got]
    stored = urls_of(between.stored("put", MINE, THEIRS))
    twice = [url for url in received if received.count(url) > 1]
    assert twice == [], f"each request once, though {between.where}"
    lost = [url for url in stored if url not in received]
    assert lost == [], f"each request, though {between.where}"


def overtakings(context: CheckContext) -> Iterator[Between]:
    """Yield the cases of a put that another process overtakes by a put and a get."""
    yield from cases_between(context, [Between("put", "put and get")], operate)


@check(
    "aqueue.shared-visible", "aqueue.shared", name="aqueue.shared.overtaken", depends_on="aqueue.shared", between=[overtakings]
)
def what_was_overtaken_is_seen(tested_class, open_async_queue, async_factory, loop_class, loop, between):
    """What other processes put and get is seen without reopening: a `get` that waits returns it, and `size` counts it, and
    counts no more what is gone.
    """
    with (
        under_test("aqueue.shared", f"no exception, though {between.where}"),
        elsewhere(overtake_async_queue, async_factory, loop_class, prioritized(THEIRS)) as other,
    ):
        queue = open_async_queue()
        step(other)
        with in_between(tested_class, between.number, other):
            put(queue, MINE)
        with undelayed(other):
            finished(other)
        received = step(other)
        loop.run(queue.close())
        step(other)
        last = open_async_queue()
        left = drained(loop, last, 9)
    stored = urls_of((MINE, THEIRS))
    hidden = [url for url in stored if url not in received]
    lost = [url for url in hidden if url not in [one.url for one in left]]
    with under_test("aqueue.shared"):
        assert lost == [], f"each request, though {between.where}"
    with under_test("aqueue.shared-visible"):
        assert hidden == [], f"each request in the other process, without reopening, though {between.where}"


# --- What others do is seen --------------------------------------------------------------------------------------------


@check("aqueue.shared-visible", look=("get", "size"))
def what_another_process_puts_is_seen(open_async_queue, async_factory, loop_class, loop, look):
    """What other processes put and get is seen without reopening: a `get` that waits returns it, and `size` counts it, and
    counts no more what is gone.
    """
    with (
        under_test("aqueue.shared"),
        elsewhere(use_async_queue, async_factory, loop_class, "put", prioritized(THEIRS)) as other,
    ):
        queue = open_async_queue()
        step(other)  # it opens the queue
        loop.run(queue.size())  # 0, which must not be remembered
        getting = loop.start(queue.get()) if look == "get" else None
        loop.stays()
        step(other)  # it puts
        with under_test():
            if look == "get":
                loop.settle(getting)
                assert getting.done(), "a get that ends, for another process has put a request"
                assert getting.result() == prioritized(THEIRS)
            else:
                assert loop.run(queue.size()) == 1
        step(other)  # it closes
        loop.run(queue.close())


@check("aqueue.shared-visible", name="aqueue.shared.gone")
def what_another_process_gets_is_gone(open_async_queue, async_factory, loop_class, loop):
    """What other processes put and get is seen without reopening: a `get` that waits returns it, and `size` counts it, and
    counts no more what is gone.
    """
    with under_test("aqueue.shared"), elsewhere(use_async_queue, async_factory, loop_class, "get") as other:
        queue = open_async_queue(holding=[4])
        loop.run(queue.size())  # 1, which must not be remembered
        step(other)  # it opens the queue
        got = step(other)  # it gets
        step(other)  # it closes
        if got is None:
            raise NotCovered("another process gets nothing")
        with under_test():
            assert loop.run(queue.size()) == 0
        loop.run(queue.close())
