"""The first use of asynchronous schedulers, and what their authors claim."""

from __future__ import annotations

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import missing_methods
from queue_conformance.kinds.async_scheduler import fixtures  # noqa: F401  registers those of asynchronous schedulers

RULES: tuple[str, ...] = ("ascheduler.ctor", "ascheduler.add.forms")
SHOWN = ("context",)


def smoke(context: CheckContext) -> None:
    """Pass one request through a scheduler.

    Raises:
        RuleFailed: for the first thing that fails.
    """
    context.restart()
    context.driver.choose_loop(lambda: context.driver.directory)
    if not context.driver.simulated:
        context.covered.update(RULES)
        return
    context.restart()
    run_case(context, context.driver.constructor_rule, _it_can_be_used)


def _it_can_be_used(new_scheduler, page, loop):
    scheduler = new_scheduler()
    with under_test("ascheduler.add.forms"):
        loop.run(scheduler.add("https://example.com/1"))
        assert loop.run(scheduler.get()) == page(1)
    loop.call(scheduler.task_done)
    loop.run(scheduler.close())


def it_is_there(new_scheduler, name):
    scheduler = new_scheduler()
    assert missing_methods(scheduler, ["__aenter__", "__aexit__"]) == [], f"{name}, as claimed"
