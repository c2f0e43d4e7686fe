"""Checks of queuelib's priority queue."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.byte_collections.checks.common import BY_PRIORITY
from queue_conformance.kinds.byte_collections.script_support import ClearableInnerQueue, InnerQueue, still_open, stored


@check(
    "queuelib.pq.order",
    kinds=BY_PRIORITY,
    presupposes="push:3 push:1 push:0 push:2 push:4 push:5 pop pop push:2 pop pop pop pop pop",
)
def lowest_number_comes_first(queue, item):
    queue.push(item(1), 1)
    queue.push(item(2))  # the default priority
    queue.push(item(3), -1)
    for number in (3, 2, 1):
        assert queue.pop() == item(number)


@check("queue.peek.equals-pop", kinds=BY_PRIORITY)
def peek_shows_what_pop_returns(run):
    run("push:1 peek pop push:0 push:2 push:1 peek pop peek pop push:3 peek pop peek pop")
    run("push:0 push_refused:2 peek pop push_refused:2 push:1 peek pop")


@check("queuelib.pq.close", kinds=BY_PRIORITY)
def close_names_what_is_left(run):
    run("push:0 push:1 push:2 pop reopen push:3 reopen pop reopen pop pop reopen")
    run("push:0 push_refused:1 push_refused:2 reopen pop push_refused:3 reopen")


@check("queuelib.pq.close", kinds=BY_PRIORITY, name="pq.close.inner")
def close_closes_every_inner_queue(open_queue, item, store, about, rule):
    queue = open_queue()
    for number, priority in enumerate((0, 2, -3)):
        queue.push(item(number), priority)
    with about(rule):
        queue.close()
    assert still_open(store) == []


@check("queuelib.pq.startprios", kinds=BY_PRIORITY)
def startprios_restore(run):
    run("push:0 push:1 push:3 reopen pop reopen push:2 reopen pop pop pop")


@check("queuelib.pq.startprios-empty", kinds=BY_PRIORITY, start=([0, 5], [-9, 5], [5, 7], [5, -9, 7]))
def empty_startprios_are_harmless(context, open_queue, item, start, about, rule):
    with about(rule):
        queue = open_queue()
        queue.push(item(1), 5)
        queue.close()
        queue = open_queue(start=start)
        assert len(queue) == 1
        if context.offers("peek"):
            assert queue.peek() == item(1)
        assert queue.pop() == item(1)
        assert queue.pop() is None


@check("queuelib.pq.startprios-empty", kinds=BY_PRIORITY, name="pq.startprios.iterator")
def startprios_may_come_once_only(open_queue, item, about, rule):
    with about(rule):
        queue = open_queue()
        queue.push(item(1), 5)
        queue.close()
        queue = open_queue(start=[5], once=True)
        assert queue.pop() == item(1)


@check(
    "queuelib.pq.clear",
    kinds=BY_PRIORITY,
    presupposes="push:0 push:1 push:2 clear length pop push:3 push:1 pop clear push:0 reopen pop clear pop",
    inner_class=(ClearableInnerQueue, InnerQueue),
)
def clear_empties_and_closes(open_queue, item, store, inner_class, about, rule):
    with about(rule):
        queue = open_queue(inner_class=inner_class)
        for number, priority in enumerate((0, 2, -3, 10, 0)):
            queue.push(item(number), priority)
        queue.clear()
    assert stored(store) == 0
    assert still_open(store) == []
