"""The fixtures of checks on schedulers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from queue_conformance.engine.context import Context, fixture
from queue_conformance.engine.subject import Subject
from queue_conformance.kinds.scheduler.driver import traits
from queue_conformance.kinds.scheduler.script_support import opened_for

RULES = {
    "enqueue_request": "scheduler.enqueue.answers",
    "next_request": "scheduler.enqueue.true",
    "has_pending_requests": "scheduler.pending.exact",
}
"""The rule that is broken if an operation raises, or does not return."""


@fixture
def open_scheduler(context: Context) -> Callable[..., Subject]:
    """``open_scheduler(settings, job)``: build a scheduler with Python expressions of settings, and open it."""

    def made(settings: Mapping[str, str], job: str) -> Subject:
        driver = context.bench.driver
        crawler_source, crawler = driver.new_crawler(settings, job)
        source, build = driver.construction(job, crawler=crawler)
        source = f"opened_for(crawler := {crawler_source}, lambda: {source})"
        return context.record.construct(source, driver.constructor_rule, lambda: opened_for(crawler, build), RULES)

    return made


@fixture
def fresh(context: Context) -> Callable[[int], Any]:
    """``fresh(number)``: a new request; equal numbers give equal ones."""

    def made(number: int) -> Any:
        found = context.bench.driver.fresh(number)
        return context.sources.give(found.value, found.source)

    return made


@fixture
def urls(context: Context) -> Callable[..., list[str]]:
    """``urls(numbers)``: the URLs of the requests with these numbers; ``on_disk=True`` of those that a disk queue takes."""

    def made(numbers: Iterable[int], *, on_disk: bool = False) -> list[str]:
        return [context.bench.driver.url(number) for number in numbers if not (on_disk and traits(number).refused)]

    return made
