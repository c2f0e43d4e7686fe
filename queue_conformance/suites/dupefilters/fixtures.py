"""The fixtures of checks on dupefilters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from queue_conformance.engine.context import Context, fixture
from queue_conformance.engine.subject import Subject

RULES = {"request_seen": "dupefilter.seen.first", "log": "dupefilter.log.first", "close": "dupefilter.close.releases"}
"""The rule that is broken if an operation raises, or does not return."""


@fixture
def open_filter(context: Context) -> Callable[..., Subject]:
    """``open_filter(job)``: build a filter as the scheduler does, and open it."""

    def opened(job: str = "job") -> Subject:
        driver = context.bench.driver
        source, build = driver.construction(job)
        return context.record.construct(f"{source}[0]", driver.constructor_rule, lambda: build()[0], RULES)

    return opened


@fixture
def request_of(context: Context) -> Callable[[int], Any]:
    """``request_of(number)``: a request; equal numbers give equal ones."""

    def made(number: int) -> Any:
        found = context.bench.driver.item(number)
        return context.sources.give(found.value, found.source)

    return made
