"""The fixtures of checks on schedulers that several processes open, or whose server comes back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.kinds.queue.faults import SHORT_TIMEOUT
from queue_conformance.kinds.scheduler import script_support
from queue_conformance.kinds.scheduler.fixtures import RULES, Scheduler
from queue_conformance.kinds.scheduler.script_support import Patient, opened_for


@fixture
def scheduler_factory(case: Case) -> Callable[[], Any]:
    """What another process opens the scheduler with."""
    driver = case.context.driver

    def opened() -> Any:
        crawler = driver.new_crawler({}, "job")[1]
        return opened_for(crawler, driver.construction("job", crawler=crawler)[1])

    crawler_source, crawler = driver.new_crawler({}, "job")
    source = driver.construction("job", crawler=crawler)[0]
    found: Callable[[], Any] = case.sources.give(opened, f"lambda: opened_for(crawler := {crawler_source}, lambda: {source})")
    return found


@fixture
def drained_at_once(case: Case) -> Callable[..., list[str]]:
    """``drained_at_once(scheduler_opener, 3)``: what so many processes get that take out everything together."""

    def drained(factory: Callable[[], Any], count: int) -> Any:
        source = f"drained_at_once({case.record.written((factory, count), {})})"
        return case.record.make(source, case.rule, partial(script_support.drained_at_once, factory, count), "came")

    return drained


@fixture
def patient(case: Case) -> Callable[[Scheduler], Scheduler]:
    """``scheduler = patient(scheduler)``: a scheduler that is asked again while it raises, as its server is back."""
    context = case.context

    def made(scheduler: Scheduler) -> Scheduler:
        def build() -> Scheduler:
            timeout = SHORT_TIMEOUT if case.rule in context.failed else context.timeout
            return Scheduler(Patient(scheduler.raw, timeout), scheduler.name, case.record, RULES)

        found: Scheduler = case.record.make(f"Patient({scheduler.name})", "", build)
        return found

    return made
