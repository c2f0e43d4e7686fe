"""The first use of extensions that keep the state of spiders, and what their authors claim."""

from __future__ import annotations

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.kinds.spider_state import fixtures  # noqa: F401  registers those of spider state
from queue_conformance.kinds.spider_state.fixtures import change, finish, state_of
from queue_conformance.script_support.support import names_below

RULES = ("state.fresh",)
SHOWN = ("persistent", "filesystem")


def smoke(context: CheckContext) -> None:
    """Begin a run in a new job, look at the state, and end it.

    Raises:
        RuleFailed: for the first thing that fails.
    """
    run_case(context, "state.fresh", _it_can_be_used)


def _it_can_be_used(start):
    spider = start()
    assert state_of(spider) == {}, "an empty dictionary after spider_opened"
    change(spider, {"count": 1})
    finish(spider)


def it_is_there(start, job, name):
    claimed = f"{name}, as claimed"
    with under_test():
        spider = start()
        change(spider, {"count": 1})
        finish(spider)
        if name == "persistent":
            spider = start()
            assert state_of(spider) == {"count": 1}, claimed
        else:
            assert names_below(job) != [], claimed
