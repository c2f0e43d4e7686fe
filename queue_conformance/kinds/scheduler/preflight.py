"""The first use of schedulers, and what their authors claim."""

from __future__ import annotations

import inspect
from typing import Any

from scrapy.core.scheduler import BaseScheduler
from twisted.internet.defer import Deferred

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.kinds.scheduler.driver import OpenScheduler

RULES = (
    "scheduler.ctor.from-crawler",
    "scheduler.iface",
    "scheduler.open.result",
    "scheduler.next.none-empty",
    "scheduler.enqueue.answers",
    "scheduler.enqueue.true",
    "scheduler.enqueue.bool",
)
METHODS = ("has_pending_requests", "enqueue_request", "next_request")


def preflight(bench: Bench) -> None:
    """Use a scheduler once.

    Raises:
        RuleBroken: for the first thing that fails.
    """
    driver = bench.driver
    cls = bench.implementation.cls
    missing = [name for name in METHODS if not callable(getattr(cls, name, None))]
    if missing or not issubclass(cls, BaseScheduler):
        driver.build()
        names = f"the methods {', '.join(METHODS)}"
        assertion = f"all(callable(getattr(scheduler, name, None)) for name in {missing!r})"
        bench.expect("scheduler.iface", False, names, f"no {', '.join(missing)}", assertion)
    bench.examined["scheduler.iface"] += 1
    scheduler = driver.build()
    bench.expect(driver.constructor_rule, scheduler.raw is not None, "a scheduler", scheduler.raw, "scheduler is not None")
    expect_result(bench, "opened", scheduler.open(settled=False))
    _expect_nothing(bench, scheduler)
    accepted = scheduler.enqueue(driver.item(0))
    left = scheduler.drain()
    bench.expect("scheduler.enqueue.true", left == [driver.url(0)], f"[{driver.url(0)!r}]", left, f"left == {[driver.url(0)]!r}")
    with bench.collecting():
        bench.expect("scheduler.enqueue.bool", bool(accepted), "a true result for what was stored", accepted, "accepted")
    expect_result(bench, "closed", scheduler.close(settled=False))


def _expect_nothing(bench: Bench, scheduler: OpenScheduler) -> None:
    """Take out what is not there; a scheduler that waits for it breaks another rule than one that raises."""
    rule = "scheduler.next.none-empty"
    try:
        popped = scheduler.next("scheduler.next.bounded-time")
    except OperationRaised as raised:
        raised.owner = rule
        raise
    bench.expect(rule, popped is None, "None", popped, "popped is None")


def expect_result(bench: Bench, name: str, result: Any) -> None:
    """Examine what ``open`` or ``close`` returned."""
    if inspect.iscoroutine(result):
        result.close()
    ok = result is None or isinstance(result, Deferred)
    assertion = f"{name} is None or isinstance({name}, Deferred)"
    bench.expect("scheduler.open.result", ok, "None or a Deferred", result, assertion)


SHOWN = ("persistent", "filesystem", "configurable", "filters", "length")


def show_absence(bench: Bench, rule: str, name: str) -> None:
    """Show in a few operations what probing found: that a claimed capability is not there."""
    driver, expected = bench.driver, f"{name}, as claimed"
    noted = {"SCHEDULER_MEMORY_QUEUE": 'misbehaving("scrapy.squeues.FifoMemoryQueue")'}
    scheduler = driver.open(noted if name == "configurable" else {}, job="job" if name in ("persistent", "filesystem") else None)
    if name == "length":
        with bench.recorder.blame(rule):
            scheduler.length()
    scheduler.enqueue(driver.fresh(0))
    if name == "filters":
        accepted = scheduler.enqueue(driver.fresh(0))
        bench.expect(rule, not accepted, f"{expected}: a false result", accepted, "not accepted")
    if name == "configurable":
        bench.fail(rule, expected, "the queue of the settings is not used", ["assert Trouble.stored, 'not used'"])
    scheduler.close()
    if name == "persistent":
        scheduler = driver.open(job="job")
        left = scheduler.drain()
        bench.expect(rule, bool(left), f"{expected}: 1 request after close and reopen", left, "left")
    if name == "filesystem":
        bench.recorder.note("left = [path for path in Path(directory).rglob('*') if path.is_file()]")
        bench.fail(rule, expected, "no file below the job directory", ["assert left, 'no file'"])
