"""Checks of pop and peek: what comes out, in which order, and when nothing is left."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from scrapy import Request

from queue_conformance.engine.blocks import may_raise, raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import clock_at, offers, time_zone
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import CLOCKS, MUCH_LATER, SET_BACK, SLOW, ZONES, few_and
from queue_conformance.faults.disk import most_files
from queue_conformance.implementation.capabilities import Order
from queue_conformance.kinds.queue.attribution import ORDER_RULES
from queue_conformance.kinds.queue.checks.sequences import SEVERAL
from queue_conformance.kinds.queue.fixtures import count_while_peeking, drain, pop_numbers, push_numbers
from queue_conformance.kinds.queue.kind import REQUESTS_ONLY
from queue_conformance.kinds.queue.model import QueueModel, next_of
from queue_conformance.script_support.clock import seconds
from queue_conformance.script_support.support import contents, names_below

# --- Many ------------------------------------------------------------------------------------------------------------

FEW = (7, -4, 20, -6, 0, -9, 9, 0, 3, 0)
MANY = (37, -20, 517, -9, 611, -3, 109, -300, 0, -500, 127, 0, 60, 0)
"""How many are pushed, or popped; at a zero the queue is opened again. In the end all that is left is popped."""

FILES = 11
"""Files of a queue that is opened again: in the order of their names as text, the tenth is not behind the ninth."""

PER_FILE = 1100
"""Items that a file holds at most, for so many files to be tried."""


def few_and_many_counts(context: CheckContext) -> Iterator[tuple[tuple[int, ...], str]]:
    """Yield counts, and the rule to blame: a simpler one, if it fails without reopening, or without pops, too."""
    started = context.watchdog.now
    for counts in (FEW, MANY):
        yield counts, "queue.persist.partial" if context.offers("persistent") else "queue.pop.exactly-once"
        if context.failed and context.offers("persistent"):
            partial, context.failed = context.failed, {}
            try:
                yield counts, "queue.pop.exactly-once"
                if not context.failed:
                    yield tuple(count for count in counts if count >= 0), "queue.persist.reopen"
            finally:
                context.failed = context.failed or partial
        if context.failed or context.watchdog.now - started > SLOW:
            return
    if context.offers("persistent", "filesystem") and (count := _items_of_many_files(context)):
        yield (count, 0), "queue.persist.reopen"


def _items_of_many_files(context: CheckContext) -> int:
    """Return how many items take so many files; 0 if these hold more items each, or their number does not grow."""
    files = []
    for count in (1, PER_FILE):
        context.restart()
        queue, item = context.open(), context.driver.item(1).value
        for _ in range(count):
            queue.raw.push(item)
        queue.close()
        files.append(len(names_below(context.driver.directory)))
    more = files[1] - files[0]
    return PER_FILE * FILES // more if more > 0 else 0


OPEN = 130
"""Queues that are open at once: more than most caches of open files hold, and less than take all descriptors."""


@check("queue.pop.exactly-once", name="pop.keys", depends_on="push:0 push:1 pop pop")
def many_open_queues_lose_nothing(context, pass_through_keys):
    """Without faults every pushed item is popped exactly once."""
    if not offers("filesystem"):
        raise NotApplicable("it keeps no files")
    if context.budget.short:
        raise NotCovered(f"operations are slow{context.budget.more}")
    if most_files() < 4 * OPEN:
        raise NotCovered("this process may open too few files")
    received = pass_through_keys(OPEN)
    assert received == 2 * OPEN, f"two items of each of {OPEN} queues"


@check(
    "queue.pop.exactly-once",
    "queue.persist.partial",
    "queue.persist.reopen",
    *ORDER_RULES.values(),
    "queue.pop.order-reopen",
    name="pop.many",
    depends_on=f"{SEVERAL} push:0 push:1 push:2 pop reopen pop push:3 pop pop",
    bulk=[few_and_many_counts],
)
def bulk_pushes_and_pops_lose_nothing(context, open_queue, bulk):
    """Without faults every pushed item is popped exactly once."""
    order = context.implementation.capabilities.order
    counts, rule = bulk
    reopens = rule != "queue.pop.exactly-once"
    with under_test(rule):
        queue = open_queue()
        pushed, popped = 0, []
        for count in counts:
            if count > 0:
                push_numbers(queue, range(pushed, pushed + count))
                pushed += count
            elif count < 0:
                popped = popped + pop_numbers(queue, -count)
            elif reopens:
                queue.close()
                queue = open_queue()
        popped = popped + pop_numbers(queue, pushed)
        lost = sorted({*range(pushed)} - {*popped})
        assert lost == [], f"each of {pushed} items"
        assert len(popped) == pushed, f"each of {pushed} items once"
    if order in ORDER_RULES:
        with under_test("queue.pop.order-reopen" if reopens else ORDER_RULES[order]):
            for index, expected in first_out_of_order(popped, counts, order):
                actual = popped[index]
                assert actual == expected, f"{expected} at place {index} of what was popped, for it is {order}"


def first_out_of_order(popped: Sequence[int], counts: Sequence[int], order: Order) -> Iterator[tuple[int, int]]:
    """Yield the first index at which something else was popped than expected, and that; or the last one, if there is none."""
    model, expected, new = QueueModel(order), list[int](), itertools.count()
    for count in (*counts, -len(popped)):
        for _ in range(count):
            model.push(next(new))
        for _ in range(min(len(model), -count)):
            expected += model.allowed()
            model.remove(expected[-1])
    wrong = (index for index, (one, other) in enumerate(zip(popped, expected, strict=True)) if one != other)
    index = next(wrong, len(expected) - 1)
    yield index, expected[index]


# --- Time ------------------------------------------------------------------------------------------------------------


@check(
    "queue.pop.exactly-once",
    *ORDER_RULES.values(),
    "queue.pop.order-clock",
    name="pop.clock",
    depends_on=SEVERAL,
    moments=CLOCKS,
)
def nothing_depends_on_the_clock(context, open_queue, item, moments):
    """Without faults every pushed item is popped exactly once."""
    order = context.implementation.capabilities.order
    rule = ORDER_RULES.get(order, "queue.pop.exactly-once")
    with under_test("queue.pop.order-clock" if order in ORDER_RULES and moments is SET_BACK else rule):
        with clock_at(moments[0]):
            queue = open_queue()
        for number, moment in enumerate(moments):
            with clock_at(moment):
                queue.push(item(number))
        if order in ORDER_RULES:
            for number in range(4) if order is Order.FIFO else (3, 2, 1, 0):
                assert queue.pop() == item(number)
            queue.close()
        else:
            assert drain(queue) == contents([item(number) for number in range(4)])


@check(
    "queue.pop.order-clock",
    name="clock.reopen",
    depends_on=["pop.clock", "reopen.later", "reopen.counts", "push:0 push:1 push:2 reopen pop pop pop"],
)
def the_next_run_finds_the_order_whatever_the_clock_showed(context, open_queue, item):
    """The order holds while the clock is set back."""
    if not offers("persistent"):
        raise NotApplicable("it is not persistent")
    queue = open_queue()
    for number, moment in enumerate(SET_BACK):
        with clock_at(moment):
            queue.push(item(number))
    queue.close()
    with under_test():
        queue = open_queue()
        for number in range(4) if context.implementation.capabilities.order is Order.FIFO else (3, 2, 1, 0):
            assert queue.pop() == item(number)
        queue.close()


@check("queue.pop.exactly-once", name="pop.later", depends_on=SEVERAL)
def what_was_popped_does_not_come_again(open_queue, item):
    """Without faults every pushed item is popped exactly once."""
    if offers("shared"):
        raise NotApplicable("what a process has popped may go to another one after a while")
    queue = open_queue(holding=range(2))
    queue.pop()
    with clock_at(MUCH_LATER):
        left = drain(queue)
        assert len(left) == 1, "the other item, once"


@check("queue.pop.exactly-once", name="pop.zone", depends_on=SEVERAL, zone=ZONES)
def nothing_depends_on_the_time_zone(open_queue, item, zone):
    """Without faults every pushed item is popped exactly once."""
    with time_zone(zone):
        queue = open_queue(holding=range(4))
        assert drain(queue) == contents([item(number) for number in range(4)])


@check("queue.pop.no-wait", kinds=REQUESTS_ONLY)
def an_empty_queue_answers_at_once(queue):
    """`pop` on an empty queue returns at once; it does not wait for work."""
    with under_test("queue.pop.empty-none"):
        elapsed = [seconds(queue.pop) for _ in range(3)]
    fastest = round(min(elapsed), 2)
    assert fastest < 0.5, "an answer within 0.5 s"


# --- Priority --------------------------------------------------------------------------------------------------------


@check("queue.pop.priority", kinds=REQUESTS_ONLY, reopens=(False, True))
def requests_come_by_priority(context, open_queue, request, reopens, serialization_errors):
    """A queue that orders by priority pops all requests of one priority before the next one, in one direction, negative ones
    too.
    """
    if reopens and not context.offers("persistent"):
        raise NotCovered("it stores nothing")
    queue = open_queue()
    stored = []
    for priorities, kept in ((0, 5, -5, 5, 1, -7, 0, 2**53, -(2**53)), 8), ((10, 9, -1), 0):
        for priority in priorities:
            new = request(priority=priority)
            with may_raise(*serialization_errors) as refused:
                queue.push(new)
            stored += [] if refused else [new]
        if reopens and not kept:
            queue.close()
            queue = open_queue()
        while len(stored) > kept:
            with under_test():
                popped = queue.pop()
                assert popped in first_of(stored, context)
            stored = [each for each in stored if each.url != popped.url]
    queue.close()


def first_of(stored: Sequence[Request], context: CheckContext) -> Sequence[Request]:
    """Return which of the requests, in the order of their pushes, may come first."""
    offered = context.implementation.capabilities
    best = (max if offered.priority == "higher-first" else min)(request.priority for request in stored)
    return next_of([request for request in stored if request.priority == best], offered.order)


BEYOND = (
    (2**53, 2**53 + 1),
    (2**53 + 1, 2**53),
    (-(2**53) - 1, -(2**53)),
    (2**63, 2**63 + 1),
    (10**400, 1),
    (1, -(10**400)),
)
"""Pairs of priorities that floating-point numbers, or those of a database, do not tell apart or cannot hold."""


@check("queue.pop.priority-range", kinds=REQUESTS_ONLY, priorities=BEYOND)
def any_two_priorities_are_told_apart(context, open_queue, request, priorities, serialization_errors):
    """A queue that orders by priority tells any two integers apart, beyond 2**53 too, and refuses those that it cannot store."""
    stored = []
    with under_test():
        queue = open_queue()
        for priority in priorities:
            new = request(priority=priority)
            with may_raise(*serialization_errors) as refused:
                queue.push(new)
            stored += [] if refused else [new]
        while stored:
            first = first_of(stored, context)
            assert queue.pop() in first
            stored.remove(*first)
        queue.close()


# --- Peek ------------------------------------------------------------------------------------------------------------


@check("queue.peek.equals-pop", kinds=REQUESTS_ONLY, name="peek.callback")
def peek_shows_the_callback_too(queue, spider):
    """`peek` returns exactly what the next `pop` will return."""
    with under_test("queue.push.callback-method"):
        queue.push(Request("https://example.com/1", callback=spider.parse_item))
    peeked = queue.peek()
    popped = queue.pop()
    assert getattr(peeked, "callback", None) == getattr(popped, "callback", None)


@check(
    "queue.peek.no-effect",
    name="peek.counts",
    depends_on=("pop.many", "push:0 peek length pop"),
    numbers=[few_and(range(1100))],
)
def no_count_is_special_for_a_peek(queue, numbers):
    """`peek` changes nothing observable: len, order, stored data, repeated peeks."""
    with under_test():
        received = count_while_peeking(queue, numbers)
        assert received == len(numbers), f"each of {len(numbers)} items once"


@check("queue.peek.then-push", name="peek.many", depends_on=("pop.many", "push:0 push:1 pop peek push:2 reopen pop pop"))
def a_peek_is_kept_by_what_tidies_up(open_queue):
    """`push` after `peek` stores correctly and keeps what was there."""
    if not (offers("persistent") and offers("filesystem")):
        raise NotApplicable("it keeps nothing in files")
    queue = open_queue()
    push_numbers(queue, range(700))
    popped = pop_numbers(queue, 600)  # much to tidy up
    with under_test():
        queue.peek()
        push_numbers(queue, range(700, 750))
        queue.close()
        queue = open_queue()
        popped = popped + pop_numbers(queue, 150)
        lost = sorted({*range(750)} - {*popped})
        assert lost == [], "each of 750 items"
        queue.close()


@check("queue.peek.unsupported", kinds=REQUESTS_ONLY)
def unsupported_peek_says_so(queue, item):
    """A `peek` that the queue below does not support raises `NotImplementedError`, never `AttributeError`."""
    queue.push(item(0))
    with raises(NotImplementedError):
        queue.peek()
    queue.pop()
