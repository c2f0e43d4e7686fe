"""Checks of queuelib's collections of queues, besides those by sequences."""

from typing import Any

from queue_conformance.engine.blocks import may_raise, raises, under_test
from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import offers, operation
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.byte_collections import script_support
from queue_conformance.kinds.byte_collections.kind import BY_PRIORITY, BY_TURNS, COLLECTIONS
from queue_conformance.kinds.byte_collections.script_support import (
    ClearableInnerQueue,
    InnerQueue,
    still_open,
    stored,
)
from queue_conformance.kinds.queue.checks.push import empty_bytes_are_an_item, push_returns_none
from queue_conformance.kinds.queue.fixtures import count_all
from queue_conformance.kinds.queue.smoke import queuelib_accepts_the_class

fill_places = operation(script_support.fill_places, "queue.pop.exactly-once")
break_close = operation(script_support.break_close, timed=False)
items_peeked_otherwise = operation(script_support.items_peeked_otherwise, "queue.peek.equals-pop")
popped_too_early = operation(script_support.popped_too_early, "queue.pop.exactly-once")

MANY = 300
"""More priorities or keys than fit into a byte, and than one would look through."""

BESIDE = sorted(
    sign * power + step
    for power in (*(2**bits for bits in (8, 10, 15, 16, 31)), *(10**digits for digits in (3, 4, 6, 9)))
    for sign in (-1, 1)
    for step in (-1, 0, 1)
)
"""Priorities beside those at which a table, a number of bits or one of digits ends."""


@fixture
def store(case: Case) -> Any:
    """Where the inner queues of ``open_queue()`` keep their items."""
    return case.sources.give(case.context.driver.store("0"), "store_0")


check("queue.ctor.base-queue", kinds=COLLECTIONS)(queuelib_accepts_the_class)
check("queue.push.returns-none", kinds=COLLECTIONS)(push_returns_none)
check("queue.push.zero-length", kinds=BY_PRIORITY)(empty_bytes_are_an_item)


PEEKS = "push:0 push:1 peek pop peek pop"


@check("queue.peek.equals-pop", kinds=BY_PRIORITY, name="peek.many", depends_on=PEEKS)
@check("queuelib.rr.peek", kinds=BY_TURNS, name="rr.peek.many", depends_on=PEEKS)
def peek_finds_the_next_of_many(queue):
    """`peek` returns exactly what the next `pop` will return.

    `peek` equals the next `pop`.
    """
    fill_places(queue, range(MANY))
    assert items_peeked_otherwise(queue, MANY) == []


@check("queue.pop.exactly-once", kinds=COLLECTIONS, name="pop.drained")
def what_was_drained_is_used_again(queue):
    """Without faults every pushed item is popped exactly once."""
    for _ in range(2):
        fill_places(queue, range(MANY))
        assert count_all(queue) == MANY


PLACES = 3
"""Inner queues, of which one cannot be closed."""

UNREACHED = "it closes its inner queues by something else than their close"


@check("queuelib.close.fault", kinds=BY_PRIORITY, depends_on="pq.close.inner", number=range(PLACES))
@check("queuelib.close.fault", kinds=BY_TURNS, name="rr.close.fault", number=range(PLACES))
def an_error_of_one_close_leaves_no_other_open(open_queue, store, number):
    """If the `close` of an inner queue raises, the others are closed all the same, and the state that `close` returns, if it
    does, names them.
    """
    queue = open_queue()
    fill_places(queue, range(PLACES))
    break_close(store, number)
    with may_raise():
        queue.close()
    left_open = len(still_open(store))
    if not store.refused:
        raise NotCovered(UNREACHED)
    assert left_open <= 1, "no inner queue open but the one that could not be closed"


@check(
    "queuelib.close.fault",
    kinds=COLLECTIONS,
    name="close.fault.state",
    depends_on="push:0 push:1 reopen pop pop",
    number=range(PLACES),
)
def an_error_of_one_close_costs_no_other(open_queue, store, number):
    """If the `close` of an inner queue raises, the others are closed all the same, and the state that `close` returns, if it
    does, names them.
    """
    queue = open_queue()
    fill_places(queue, range(PLACES))
    break_close(store, number)
    left = None
    with may_raise():
        left = queue.close()
    if not store.refused:
        raise NotCovered(UNREACHED)
    if left is None:
        raise NotCovered("close() returns nothing where an inner queue cannot be closed")
    named = len(left)
    assert named >= PLACES - 1, "all priorities or keys but perhaps that of the queue that could not be closed"


# --- Priority queues -------------------------------------------------------------------------------------------------


@check(
    "queuelib.pq.order",
    kinds=BY_PRIORITY,
    depends_on="push:3 push:1 push:0 push:2 push:4 push:5 pop pop push:2 pop pop pop pop pop",
)
def lowest_number_comes_first(queue, item):
    """A priority queue pops the lowest number first, the same priority in the order of the inner queue; the default priority
    is 0.
    """
    queue.push(item(1), 1)
    queue.push(item(2))  # the default priority
    queue.push(item(3), -1)
    for number in (3, 2, 1):
        assert queue.pop() == item(number)


@check(
    "queuelib.pq.order",
    kinds=BY_PRIORITY,
    name="pq.order.many",
    depends_on=["queuelib.pq.order", "pop.drained"],
    priorities=(range(-MANY // 2, MANY // 2), BESIDE),
)
def no_priority_is_special(queue, priorities):
    """A priority queue pops the lowest number first, the same priority in the order of the inner queue; the default priority
    is 0.
    """
    fill_places(queue, priorities)
    early = popped_too_early(queue, len(priorities))
    assert early == [], "no item before one of a lower number"


@check("queuelib.pq.close", kinds=BY_PRIORITY, name="pq.close.inner")
def close_closes_every_inner_queue(open_queue, item, store):
    """`close()` returns exactly the priorities whose queue is not empty, and closes all of them."""
    queue = open_queue()
    for number, priority in enumerate((0, 2, -3)):
        queue.push(item(number), priority)
    with under_test():
        queue.close()
    assert still_open(store) == []


@check(
    "queuelib.pq.startprios", kinds=BY_PRIORITY, name="pq.startprios.many", depends_on="push:0 push:1 push:3 reopen pop pop pop"
)
def many_startprios_are_restored(open_queue):
    """`startprios` restores the queues of priorities that hold items: pop, peek and len are right."""
    queue = open_queue()
    fill_places(queue, range(MANY))
    queue.close()
    queue = open_queue(start=range(MANY))
    assert count_all(queue) == MANY


@check("queuelib.pq.startprios-empty", kinds=BY_PRIORITY, start=([0, 5], [-9, 5], [5, 7], [5, -9, 7]))
def empty_startprios_are_harmless(open_queue, item, start):
    """Priorities in `startprios` whose queue is empty are harmless, and `startprios` may be an iterator."""
    with under_test():
        queue = open_queue()
        queue.push(item(1), 5)
        queue.close()
        queue = open_queue(start=start)
        assert len(queue) == 1
        if offers("peek"):
            assert queue.peek() == item(1)
        assert queue.pop() == item(1)
        assert queue.pop() is None


@check("queuelib.pq.startprios-empty", kinds=BY_PRIORITY, name="pq.startprios.iterator")
def startprios_may_come_once_only(open_queue, item):
    """Priorities in `startprios` whose queue is empty are harmless, and `startprios` may be an iterator."""
    with under_test():
        queue = open_queue()
        queue.push(item(1), 5)
        queue.close()
        queue = open_queue(start=[5], once=True)
        assert queue.pop() == item(1)


@check(
    "queuelib.pq.clear",
    kinds=BY_PRIORITY,
    depends_on="push:0 push:1 push:2 clear length pop push:3 push:1 pop clear push:0 reopen pop clear pop",
    inner_class=(ClearableInnerQueue, InnerQueue),
)
def clear_empties_and_closes(open_queue, item, store, inner_class):
    """`clear()` empties and closes every inner queue, and works with inner queues that have no `clear`."""
    with under_test():
        queue = open_queue(inner_class=inner_class)
        for number, priority in enumerate((0, 2, -3, 10, 0)):
            queue.push(item(number), priority)
        queue.clear()
    assert stored(store) == 0
    assert still_open(store) == []


# --- Round-robin queues ----------------------------------------------------------------------------------------------


@check(
    "queuelib.rr.cycle",
    kinds=BY_TURNS,
    depends_on="push:0 push:3 push:1 push:4 push:2 pop pop push:5 pop push:0 pop pop pop pop",
)
def keys_take_turns(queue):
    """A round-robin queue cycles through the keys."""
    for item, key in ((b"a", "1"), (b"b", "1"), (b"c", "2"), (b"d", "2")):
        queue.push(item, key)
    for expected in (b"a", b"c", b"b", b"d"):  # the example of the README
        assert queue.pop() == expected


@check("queuelib.rr.falsy", kinds=BY_TURNS)
def falsy_items_are_not_skipped(queue):
    """Falsy items are returned, not skipped."""
    for item, key in ((b"", "a"), (b"1", "a"), (b"", "b")):
        queue.push(item, key)
    popped = [queue.pop(), queue.pop(), queue.pop()]
    assert sorted(popped, key=repr) == [b"", b"", b"1"]


@check("queuelib.rr.peek-empty", kinds=BY_TURNS)
def peek_skips_a_key_of_a_refused_push(queue, item):
    """`peek` equals the next `pop` beside a key whose queue is empty, too."""
    with under_test("queue.push.failed-no-trace"), raises(TypeError):
        queue.push("text", "a")
    with under_test():
        queue.push(item(1), "b")
        assert queue.peek() == item(1)
        assert queue.pop() == item(1)


@check("queuelib.rr.peek-empty", kinds=BY_TURNS, name="rr.peek.start")
def peek_skips_a_key_that_has_nothing(open_queue, item):
    """`peek` equals the next `pop` beside a key whose queue is empty, too."""
    with under_test():
        queue = open_queue()
        queue.push(item(1), "b")
        queue.close()
        queue = open_queue(start=["b", "a"])
        assert queue.peek() == item(1)
        assert queue.pop() == item(1)
