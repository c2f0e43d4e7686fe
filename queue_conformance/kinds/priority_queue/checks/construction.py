"""Checks of construction."""

import os
from contextlib import chdir

from queue_conformance.engine.blocks import may_raise, raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.kinds.priority_queue.fixtures import NAMES, START, disturbed, pop_urls, use_queues
from queue_conformance.kinds.priority_queue.script_support import BareQueue, outside


@check("pq.ctor.minimal-downstream", depends_on="push:0 push:2 length truth pop push:4 pop_none pop pop length")
def four_methods_are_enough(open_queue, request):
    """A priority queue works with downstream queues that have `push`, `pop`, `close` and `__len__`, and no other method."""
    store = use_queues(BareQueue, BareQueue, persistent=False)
    queue = open_queue()
    with under_test():
        for priority in (0, 1, -2):
            queue.push(request(priority=priority))
        assert len(queue) == 3
        assert pop_urls(queue, 1) == ["https://example.com/2"]
        with disturbed(store, "pop", None):
            queue.pop()
        pop_urls(queue, 2)


@check("pq.ctor.memory-no-io")
def queues_in_memory_write_nothing(open_queue, item, directory):
    """With an empty key and downstream queues in memory nothing is written to disk."""
    use_queues(persistent=False)
    with chdir(directory):
        before = {*os.listdir("/"), *os.listdir()}
        queue = open_queue(holding=(0, 1, 5))
        for _ in range(3):
            queue.pop()
        queue.push(item(2))
        queue.close()
        assert sorted({*os.listdir("/"), *os.listdir()} - before) == [], "nothing in the working directory or at the root"


@check("pq.ctor.keys-below")
def downstream_queues_store_below_the_key(open_queue, request, directory):
    """The keys of all downstream queues, those of start requests included, lie below the key of the priority queue."""
    store = use_queues()
    queue = open_queue()
    for several in ({}, {"host": "b.example"}, {"priority": 2, "meta": START}):
        queue.push(request(**several))
    for slot in NAMES if offers("slots") else ():
        with may_raise():  # what it must accept is another rule's
            queue.push(request(meta={"download_slot": slot}))
    if not store.built:
        raise NotApplicable("it builds no downstream queues")
    assert outside(store, f"{directory}/0") == [], 'keys below directory + "/0"'


@check("pq.ctor.fail-early")
def what_cannot_be_built_is_found_early(open_queue):
    """A downstream class that cannot be built is detected when the priority queue is built, not at the first push."""
    store = use_queues()
    refused = ConnectionError("refused")
    because = ", as no downstream queue can be built"
    with raises(Exception, because=because), disturbed(store, "__init__", refused, refused, refused, refused):
        open_queue()
