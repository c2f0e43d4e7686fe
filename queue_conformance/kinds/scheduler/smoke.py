"""The first use of schedulers, and what their authors claim."""

from __future__ import annotations

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import missing_methods
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.kinds.scheduler.checks.interface import DEFERRED
from queue_conformance.kinds.scheduler.faulty import faulty, stored
from queue_conformance.kinds.scheduler.fixtures import call_close, call_open, close, drain, settled, urls
from queue_conformance.kinds.scheduler.script_support import kind_of
from queue_conformance.script_support.support import names_below

RULES = (
    "scheduler.ctor.from-crawler",
    "scheduler.iface",
    "scheduler.open.result",
    "scheduler.next.none-empty",
    "scheduler.enqueue.answers",
    "scheduler.enqueue.true",
    "scheduler.enqueue.bool",
)
METHODS = ["has_pending_requests", "enqueue_request", "next_request"]
SHOWN = ("persistent", "filesystem", "configurable", "filters", "length")


def smoke(context: CheckContext) -> None:
    """Use a scheduler once.

    Raises:
        RuleFailed: for the first thing that fails.
    """
    run_case(context, context.driver.constructor_rule, _it_can_be_used)
    with context.collecting():
        run_case(context, "scheduler.enqueue.bool", _it_says_what_it_stored)


def _it_can_be_used(build_scheduler, fresh):
    scheduler = build_scheduler()
    assert scheduler is not None, "a scheduler"
    with under_test("scheduler.iface"):
        assert missing_methods(scheduler, METHODS) == [], "no method missing"
    opened = call_open(scheduler)
    with under_test("scheduler.open.result"):
        assert kind_of(opened) in DEFERRED
    settled(opened)
    try:
        with under_test("scheduler.next.bounded-time"):
            popped = scheduler.next_request()
    except OperationRaised as raised:
        raised.rule = "scheduler.next.none-empty"
        raise
    with under_test("scheduler.next.none-empty"):
        assert popped is None
    scheduler.enqueue_request(fresh(0))
    left = drain(scheduler)
    with under_test("scheduler.enqueue.true"):
        assert left == urls([0])
    closed = call_close(scheduler)
    with under_test("scheduler.open.result"):
        assert kind_of(closed) in DEFERRED
    settled(closed)


def _it_says_what_it_stored(open_scheduler, fresh):
    scheduler = open_scheduler()
    accepted = scheduler.enqueue_request(fresh(1))
    assert accepted, "a true result for what was stored"
    close(scheduler)


def it_is_there(open_scheduler, fresh, directory, name):
    claimed = f"{name}, as claimed"
    settings = {"SCHEDULER_MEMORY_QUEUE": faulty("scrapy.squeues.FifoMemoryQueue")} if name == "configurable" else {}
    scheduler = open_scheduler("job" if name in ("persistent", "filesystem") else None, **settings)
    if name == "length":
        with under_test():
            len(scheduler)
    scheduler.enqueue_request(fresh(0))
    if name == "filters":
        accepted = scheduler.enqueue_request(fresh(0))
        assert not accepted, f"{claimed}: a false result"
    if name == "configurable":
        assert stored() != [], f"{claimed}: the queue of the settings is used"
    close(scheduler)
    if name == "persistent":
        scheduler = open_scheduler("job")
        left = drain(scheduler)
        assert left != [], f"{claimed}: 1 request after close and reopen"
    if name == "filesystem":
        assert names_below(f"{directory}/job") != [], f"{claimed}: a file below the job directory"
