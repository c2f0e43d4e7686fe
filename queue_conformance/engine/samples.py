"""What checks of several kinds try."""

from __future__ import annotations

from collections.abc import Iterator

from queue_conformance.engine.cases import Attempt
from queue_conformance.engine.context import CheckContext

NOON = 1_700_000_000

CLOCKS = (
    (NOON, NOON, NOON, NOON),  # within one tick of a coarse clock
    (NOON, NOON - 60, NOON - 60, NOON),  # set back, and running until it shows the first time again
)
"""What the clock shows when four requests are stored, in seconds since the epoch."""

REASONS = ("shutdown", "finished", "cancelled", "closespider_timeout", "memusage_exceeded", "my own reason, naïve")
"""Reasons for which spiders are closed."""

SLOW = 0.5
"""Seconds for forty of them after which many are not tried."""


def few_and_many(context: CheckContext, _attempt: Attempt) -> Iterator[range]:
    """Yield the numbers of forty requests, and of more than a buffer, a page or a bounded queue of a thousand holds."""
    started = context.watchdog.now
    yield range(100, 140)
    if context.watchdog.now - started < SLOW:
        yield range(1000, 2100)
