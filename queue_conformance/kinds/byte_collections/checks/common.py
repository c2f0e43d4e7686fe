"""Checks that queuelib's collections share with all queues."""

from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.check import check
from queue_conformance.kinds.byte_collections.kind import BYTE_PRIORITY_QUEUE, COLLECTIONS, ROUND_ROBIN_QUEUE
from queue_conformance.kinds.queue.smoke import queuelib_accepts_the_class

BY_PRIORITY = {BYTE_PRIORITY_QUEUE}
BY_TURNS = {ROUND_ROBIN_QUEUE}


@fixture
def store(case: Case) -> Any:
    """Where the inner queues of ``open_queue()`` keep their items."""
    return case.sources.give(case.context.driver.store("0"), "store_0")


check("queue.ctor.base-queue", kinds=COLLECTIONS)(queuelib_accepts_the_class)


@check("queue.push.accept", kinds=COLLECTIONS)
def push_is_accepted(run):
    run("push:0 push:1 push:2 push:3 push:4 push:0 pop push:1")


@check("queue.push.returns-none", kinds=COLLECTIONS)
def push_returns_none(queue, item, place):
    assert queue.push(item(0), place) is None


@check("queue.push.failed-no-trace", kinds=COLLECTIONS)
def failed_push_leaves_no_trace(run):
    run("push_refused:0 length pop push:1 push_refused:2 push_refused:1 length truth pop length pop")
    run("push:0 push:1 push_refused:2 pop push_refused:0 push:2 pop length pop")


@check("queue.push.zero-length", kinds=BY_PRIORITY)
def empty_bytes_are_an_item(queue, place, about, rule):
    with about(rule):
        queue.push(b"", place)
        assert len(queue) == 1
        assert queue.pop() == b""
        assert len(queue) == 0


@check("queue.pop.exactly-once", kinds=COLLECTIONS)
def every_item_comes_once(run):
    run("push:0 push:1 push:2 push:4 pop push:3 pop pop push:5 push:0 pop pop pop pop")


@check("queue.pop.empty-none", kinds=COLLECTIONS)
def nothing_comes_from_an_empty_queue(run):
    run("pop pop push:0 pop pop pop push:1 push:2 pop pop pop")


@check("queue.peek.no-effect", kinds=COLLECTIONS)
def peek_changes_nothing(run):
    run("push:0 push:1 push:2 peek peek length pop peek truth pop peek push:3 peek pop pop")


@check("queue.peek.empty-none", kinds=COLLECTIONS)
def peek_finds_nothing_in_an_empty_queue(run):
    run("peek peek push:0 pop peek push:1 push:2 pop pop peek")


@check("queue.len.count", kinds=COLLECTIONS)
def length_counts_what_is_stored(run):
    run("length push:0 length push:1 push:4 length pop length push:2 length pop pop pop length")


@check("queue.len.truth", kinds=COLLECTIONS)
def truth_is_false_when_empty(run):
    run("truth push:0 truth push:1 pop truth pop truth push:2 truth")


@check("queue.len.pop-none", kinds=COLLECTIONS)
def popping_nothing_does_not_count(run):
    run("pop length pop length push:0 length pop pop length push:1 length")
