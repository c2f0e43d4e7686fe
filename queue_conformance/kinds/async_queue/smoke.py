"""The first use of asynchronous queues, and what their authors claim."""

from __future__ import annotations

from pathlib import Path

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.kinds.async_queue import fixtures  # noqa: F401  registers those of asynchronous queues
from queue_conformance.kinds.async_queue.fixtures import put
from queue_conformance.script_support.support import names_below

RULES = ("aqueue.iface", "aqueue.ctor.kwargs", "aqueue.put.accept", "aqueue.get.blocks")
SHOWN = ("persistent", "filesystem", "serializes", "bounded", "dedupe", "ttl", "iterates", "clear")

COROUTINES = ["put", "get", "size", "clear", "close"]
NEEDED = COROUTINES[:3]
"""Those without which nothing can be tried."""


def smoke(context: CheckContext) -> None:
    """Use a queue once.

    Raises:
        RuleFailed: for the first thing that fails.
    """
    driver = context.driver
    run_case(context, "aqueue.iface", _its_methods_are_coroutines)

    def workdir() -> Path:
        context.restart()
        return Path(driver.directory)

    driver.choose_loop(workdir)
    context.restart()
    run_case(context, driver.constructor_rule, _it_can_be_used)
    for case in (_it_can_be_cleared_and_closed, _its_maxsize_is_a_method):
        with context.collecting():
            run_case(context, "aqueue.iface", case)


def _its_methods_are_coroutines(tested_class, undefined, not_coroutines):
    assert undefined(tested_class, NEEDED) == [], "no method undefined"
    assert not_coroutines(tested_class, NEEDED) == [], "nothing but coroutine functions"


def _it_can_be_cleared_and_closed(tested_class, undefined, not_coroutines):
    assert undefined(tested_class, COROUTINES) == [], "no method undefined"
    assert not_coroutines(tested_class, COROUTINES) == [], "nothing but coroutine functions"


def _its_maxsize_is_a_method(tested_class, class_of):
    assert class_of(tested_class, "maxsize") == "function", "a plain method"


def _it_can_be_used(open_async_queue, loop, prioritized):
    queue = open_async_queue()
    put(queue, 1)
    with under_test("aqueue.get.blocks"):
        got = loop.run(queue.get())
    with under_test("aqueue.put.accept"):
        assert got == prioritized(1)
    loop.run(queue.close())


def it_is_there(builder, parameters_of, tested_class, undefined, open_async_queue, requested, loop, directory, name, context):
    claimed = f"{name}, as claimed"
    if parameter := {"bounded": "maxsize", "dedupe": "dedupe", "ttl": "item_ttl"}.get(name):
        assert set(parameters_of(builder)) >= {parameter}, f"{parameter} among the arguments of the constructor, as claimed"
    if name == "iterates":
        assert undefined(tested_class, ["__aiter__"]) == [], claimed
    queue = open_async_queue()
    request = requested()
    loop.run(queue.put(request, priority=request.priority))
    with under_test():
        if name == "persistent":
            loop.run(queue.close())
            queue = open_async_queue()
            assert loop.run(queue.size()) == 1, claimed
        elif name == "serializes":
            if context.offers("keeps-objects"):
                loop.run(queue.close())
                queue = open_async_queue()
            assert loop.run(queue.get()) is not request, claimed
        elif name == "filesystem":
            assert names_below(directory) != [], claimed
        elif name == "clear":
            loop.run(queue.clear())
