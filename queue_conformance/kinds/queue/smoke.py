"""The first use of queues and of queuelib's collections, and checks of what their authors claim."""

from __future__ import annotations

from queuelib.queue import BaseQueue
from scrapy import Request

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check, run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import missing_methods
from queue_conformance.kinds.queue import fixtures  # noqa: F401  registers those of queues
from queue_conformance.kinds.queue.fixtures import class_lacks, satisfies
from queue_conformance.kinds.queue.kind import BYTE_QUEUE
from queue_conformance.script_support.support import names_below

RULES = ("queue.ctor.from-crawler", "queuelib.ctor", "queue.ctor.interface", "queue.ctor.base-queue")
METHODS = ["push", "pop", "__len__", "close"]
SHOWN = ("persistent", "filesystem", "serializes", "peek", "clear", "chunked")


def smoke(context: CheckContext) -> None:
    """Use a queue once.

    Raises:
        RuleFailed: for the first thing that fails.
    """
    run_case(context, context.driver.constructor_rule, _it_can_be_used)
    with context.collecting():
        run_case(context, context.driver.interface_rule, _it_can_be_closed)


def _it_can_be_used(context, open_queue, item, place):
    queue = open_queue()
    assert queue is not None, "a queue"
    with under_test(context.driver.interface_rule):  # without these nothing can be tried
        assert missing_methods(queue, METHODS[:-1]) == [], "no method missing"
    queue.push(item(1), *place)
    with under_test("queue.pop.exactly-once"):
        assert queue.pop() == item(1)


def _it_can_be_closed(open_queue):
    queue = open_queue()
    assert missing_methods(queue, METHODS) == [], "no method missing"
    queue.close()


def it_is_there(open_queue, item, place, directory, name, context):
    claimed = f"{name}, as claimed"
    with under_test():
        if name == "chunked":
            queue = open_queue(chunksize=2)
            queue.close()
        queue = open_queue()
        pushed = Request("https://example.com/1")
        if name == "serializes":
            queue.push(pushed)
            if context.offers("keeps-objects"):
                queue.close()
                queue = open_queue()
        else:
            queue.push(item(1), *place)
        if name == "peek":
            queue.peek()
        elif name == "clear":
            queue.clear()
        elif name == "persistent":
            queue.close()
            queue = open_queue()
            assert queue.pop() == item(1), claimed
        elif name == "serializes":
            assert queue.pop() is not pushed, claimed
        elif name == "filesystem":
            assert names_below(directory) != [], claimed


@check("queue.ctor.base-queue", kinds={BYTE_QUEUE})
def queuelib_accepts_the_class(open_queue):
    """The class satisfies the structural check of `queuelib.queue.BaseQueue`: push, pop, peek, close and `__len__`."""
    queue = open_queue()
    assert class_lacks(queue, [*METHODS, "peek"]) == [], "no method missing"
    assert satisfies(queue, BaseQueue), "a class that is a BaseQueue for queuelib"
