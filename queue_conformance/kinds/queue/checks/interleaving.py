"""The interleaving sweep of queues that several processes use: one operation inside another one, at every place of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

from scrapy import Request

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.interleaving import Between, Traced, cases_between, elsewhere, finished, in_between, step, undelayed
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.queue.fixtures import drain, keys_of, length_0, length_above_0, pop_soon, popped_late
from queue_conformance.kinds.queue.kind import REQUESTS_ONLY
from queue_conformance.script_support.interleaving import overtake, use_queue
from queue_conformance.script_support.support import contents, emptied

PAIRS = (
    ("pop", "pop", (1, 2, 3)),
    ("pop", "pop", (1,)),
    ("push", "push", (1,)),
    ("pop", "push", (1,)),
    ("push", "pop", (1,)),
    ("pop", "open", (1, 2)),
    ("pop", "close", (1, 2)),
    ("push", "open", ()),
    ("push", "close", ()),
    ("push", "len", (1,)),
    ("pop", "len", (1,)),
    ("peek", "pop", (1,)),
    ("len", "push", (1,)),
    ("open", "push", ()),
    ("open", "pop", (1, 2)),
    ("close", "push", ()),
    ("close", "pop", (1, 2)),
)
"""An operation, what another process does in the midst of it, and the numbers of the items that are there before."""

MINE, THEIRS = 8, 9
"""The numbers of the items that the two processes push."""


def interleavings(context: CheckContext) -> Iterator[Between]:
    """Yield the cases of a queue."""
    pairs = [Between(*pair) for pair in PAIRS if pair[0] != "peek" or context.offers("peek")]
    yield from cases_between(context, pairs, operate)


def operate(context: CheckContext, pair: Between, traced: Traced) -> None:
    """Do an operation of a queue that nobody else uses."""
    queue = context.open()
    for number in pair.holding:
        queue.push(context.driver.item(number))
    if pair.mine == "open":
        traced(context.open)
    elif pair.mine == "push":
        traced(lambda: queue.push(context.driver.item(MINE)))
    else:
        traced((lambda: len(queue)) if pair.mine == "len" else getattr(queue, pair.mine))


@check(
    "queue.shared.undisturbed",
    "queue.shared.once",
    "queue.shared.visible",
    name="shared.between",
    between=[interleavings],
)
def what_is_in_between_loses_and_doubles_nothing(tested_class, open_queue, factory, item, between):
    """No operation raises, or waits for ever, because another process uses the key, not even in the midst of an operation of
    that one.
    """
    mine, theirs = between.mine, between.theirs
    received, items = [], [item(THEIRS)] if theirs == "push" else []
    pushed, hidden = keys_of(between.stored("push", MINE, THEIRS)), []
    with (
        under_test("queue.shared.undisturbed", f"no exception, though {between.where}"),
        elsewhere(use_queue, factory, theirs, *items) as other,
    ):
        queue = open_queue(holding=between.holding)
        if theirs != "open":
            step(other)
        with in_between(tested_class, between.number, other):
            if mine == "open":
                queue = open_queue()
            elif mine == "push":
                queue.push(item(MINE))
            elif mine == "pop":
                received = contents([queue.pop()])
            elif mine == "len":
                len(queue)
            else:
                getattr(queue, mine)()
        with undelayed(other):
            got = finished(other)
        if mine != "close" and theirs in ("push", "len"):  # who takes nothing leaves everything to this process
            received = [*received, *contents(emptied(queue, len(pushed) + 1))]
            hidden = [one for one in pushed if one not in received]
            if hidden:
                received = [*received, *contents(popped_late(queue))]
                hidden = [one for one in pushed if one not in received]
        if mine != "close":
            queue.close()
        if theirs != "close":
            step(other)
        last = open_queue()
        left = drain(last)
    received = [*received, *left]
    if theirs == "pop":
        received = [*received, got]
    twice = [one for one in received if one is not None and received.count(one) > 1]
    lost = [one for one in pushed if one not in received]
    with under_test("queue.shared.once"):
        assert twice == [], f"each item once, though {between.where}"
        assert lost == [], f"each item, though {between.where}"
    with under_test("queue.shared.visible"):
        assert hidden == [], f"each item, without reopening, though {between.where}"


def overtakings(context: CheckContext) -> Iterator[Between]:
    """Yield the cases of a push that another process overtakes by a push and a pop."""
    yield from cases_between(context, [Between("push", "push and pop")], operate)


@check(
    "queue.shared.visible",
    "queue.shared.once",
    "queue.shared.undisturbed",
    name="shared.overtaken",
    depends_on="shared.between",
    between=[overtakings],
)
def what_was_overtaken_is_seen(tested_class, open_queue, factory, item, between):
    """What other processes push and pop is seen without reopening: `pop` returns it, and `len` is not 0 while something waits,
    and 0 when nothing does.
    """
    with (
        under_test("queue.shared.undisturbed", f"no exception, though {between.where}"),
        elsewhere(overtake, factory, item(THEIRS)) as other,
    ):
        queue = open_queue()
        step(other)
        with in_between(tested_class, between.number, other):
            queue.push(item(MINE))
        with undelayed(other):
            finished(other)
        received = step(other)
        queue.close()
        step(other)
        last = open_queue()
        left = drain(last)
    pushed = keys_of((MINE, THEIRS))
    hidden = [one for one in pushed if one not in received]
    lost = [one for one in hidden if one not in left]
    with under_test("queue.shared.once"):
        assert lost == [], f"each item, though {between.where}"
    with under_test("queue.shared.visible"):
        assert hidden == [], f"each item in the other process, without reopening, though {between.where}"


# --- After a push that was refused ---------------------------------------------------------------------------------------


@check("queue.shared.undisturbed", kinds=REQUESTS_ONLY, name="shared.refused")
def a_refused_push_keeps_nobody_out(open_queue, factory, item):
    """No operation raises, or waits for ever, because another process uses the key, not even in the midst of an operation of
    that one.
    """
    with under_test(), elsewhere(use_queue, factory, "push", item(THEIRS)) as other:
        queue = open_queue()
        step(other)
        with may_raise() as refused:
            queue.push(Request("https://example.com/1", meta={"lock": threading.Lock()}))
        if not refused:
            raise NotCovered("it refuses no request")
        step(other)
        step(other)
        queue.close()


# --- What others do is seen --------------------------------------------------------------------------------------------


@check("queue.shared.visible", "queue.shared.at-once", look=("pop", "len"))
def what_another_process_pushes_is_seen(open_queue, factory, item, look):
    """What other processes push and pop is seen without reopening: `pop` returns it, and `len` is not 0 while something waits,
    and 0 when nothing does.
    """
    with under_test("queue.shared.undisturbed"), elsewhere(use_queue, factory, "push", item(THEIRS)) as other:
        queue = open_queue()
        step(other)  # it opens the queue
        queue.pop()
        len(queue)  # 0, which must not be remembered
        step(other)  # it pushes
        if look == "len":
            length = length_above_0(queue)
            with under_test():
                assert length > 0, "a length above 0, for another process has pushed"
        else:
            popped = queue.pop()
            received = popped if popped is not None else pop_soon(queue)
            with under_test():
                assert received == item(THEIRS), "what another process has pushed"
            with under_test("queue.shared.at-once"):
                assert popped == item(THEIRS), "what another process has just pushed"
        queue.close()


@check("queue.shared.visible", name="shared.gone")
def what_another_process_takes_is_gone(open_queue, factory):
    """What other processes push and pop is seen without reopening: `pop` returns it, and `len` is not 0 while something waits,
    and 0 when nothing does.
    """
    with under_test("queue.shared.undisturbed"), elsewhere(use_queue, factory, "pop") as other:
        queue = open_queue(holding=[1])
        len(queue)  # 1, which must not be remembered
        step(other)  # it opens the queue
        got = step(other)  # it pops
        step(other)  # it closes
        if got is None:
            raise NotCovered("another process gets nothing")
        queue.pop()
        length = length_0(queue)
        with under_test():
            assert length == 0, "a length of 0, for another process has taken the only item"
        queue.close()
