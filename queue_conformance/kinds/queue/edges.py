"""Where a queue may begin another file: the fixture of checks that fill one up to there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.recording import Timed
from queue_conformance.kinds.queue.attribution import RULES
from queue_conformance.kinds.queue.kind import BYTE_QUEUE
from queue_conformance.script_support import support

EDGES = tuple(1 << power for power in (15, 16, 17, 18, 19, 20))
"""Sizes at which files of bytes may end."""


def edges(context: CheckContext) -> Iterator[int]:
    """Yield these sizes for a class that writes files."""
    if not context.offers("filesystem"):
        raise NotApplicable("it stores nothing in files")
    if context.driver.without_close:
        raise NotApplicable("it has no close, and cannot be asked for one store after the other")
    if context.budget.short:
        raise NotCovered(f"operations are slow{context.budget.more}")
    yield from EDGES


@fixture
def edges_lost(case: Case) -> Callable[[int], list[int]]:
    """``edges_lost(65536)``: with how many bytes from there to the end of a file an item is lost that comes then."""
    driver, watchdog = case.context.driver, case.context.watchdog
    body = "b'x' * length"
    made = body if case.context.implementation.kind is BYTE_QUEUE else f"Request('https://example.com/1', body={body})"

    def build(number: int) -> Timed:
        return Timed(driver.construction(str(number))[1](), watchdog)

    def found(size: int) -> Any:
        opening = driver.construction("0")[0].replace("'/0'", "f'/{number}'")
        if "{number}" not in opening:
            raise NotCovered("nothing tells how the queue of another key is built")
        source = f"edges_lost(lambda number: {opening}, lambda length: {made}, directory, {size})"
        make = driver.evaluate(f"lambda length: {made}").value
        return case.record.make(
            source, RULES["pop"], partial(support.edges_lost, build, make, str(driver.directory), size), "lost"
        )

    return found
