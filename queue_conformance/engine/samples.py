"""What checks of several kinds try."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator, Sequence

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.killpoints import evenly

NOON = 1_700_000_000

ONE_TICK = (NOON, NOON, NOON, NOON)
SET_BACK = (NOON, NOON - 60, NOON - 60, NOON)
CLOCKS = (ONE_TICK, SET_BACK)
"""What the clock shows when four requests are stored, in seconds since the epoch."""

MUCH_LATER = 4_000_000_000
"""What the clock shows decades later, however late it is now."""

PATIENT = 600
"""Seconds of a slow download: what gives a request to another consumer for want of an answer does so before."""

ZONES = ("XXX-14", "XXX12") if hasattr(time, "tzset") else ()
"""The time zones that are furthest ahead of UTC and behind it: who compares local time with UTC is wrong by half a day."""

REASONS = ("shutdown", "finished", "cancelled", "closespider_timeout", "memusage_exceeded", "my own reason, naïve")
"""Reasons for which spiders are closed."""

PAUSES = tuple(reason for reason in REASONS if reason != "finished")
"""Those after which a crawl goes on: where it has finished, nothing is pending, and a class may clear what it has stored."""


def cuts(size: int, most: int, seed: int) -> list[int]:
    """Return how many bytes to cut off: some of all numbers up to a size, always the first few and the last ones."""
    numbers = range(1, size + 1)
    if size <= most:
        return list(numbers)
    drawn = random.Random(seed).sample(numbers[6:-3], most - 9)
    return [*numbers[:6], *sorted(drawn), *numbers[-3:]]


FEW, TIME_OF_FEW = 40, 4.0
"""Requests that are few, and seconds for them where each is waited for."""

SLOW = 0.5
"""Seconds for forty of them after which many are not tried."""


FEWEST = 4
"""Requests, and places of faults, that are tried in any case."""


def few_and(many: range, slow: float = SLOW) -> Callable[[CheckContext], Iterator[range]]:
    """Return what yields the numbers of forty requests, and of many, unless forty take too many seconds.

    Where each of them is waited for, there are less than forty.

    Args:
        many: the numbers of many requests.
        slow: seconds, of a clock that goes by tenths: from two of them on, so that no tick between two requests decides.
    """

    def numbers(context: CheckContext) -> Iterator[range]:
        started = context.watchdog.now
        yield range(100, 100 + _few(context))
        if context.watchdog.now - started < slow:
            yield many

    return numbers


def _few(context: CheckContext) -> int:
    """Return how many requests are few."""
    cost = context.implementation.cost
    few = min(FEW, max(FEWEST, int(TIME_OF_FEW / cost))) if cost else FEW
    if few < FEW:
        context.notes.append(f"{context.check}: {few} of {FEW} requests, because operations are slow{context.budget.more}")
    return few


few_and_many = few_and(range(1000, 2100))
"""Yields the numbers of forty requests, and of more than a buffer, a page or a bounded queue of a thousand holds."""


PLACES = 30.0
"""Seconds for faults at all places, of which a slow class has its share."""


def affordable(context: CheckContext, places: Sequence[int], took: float) -> Sequence[int]:
    """Return places of faults: all of them, or as many as there is time for if operations are slow, evenly chosen.

    Args:
        took: seconds that it took to do without a fault what is done at each.
    """
    if not context.budget.short:
        return places
    number = max(FEWEST, int(context.budget.seconds(PLACES) / max(took, context.implementation.cost)))
    if number < len(places):
        context.notes.append(
            f"{context.check}: {number} of {len(places)} places, because operations are slow{context.budget.more}"
        )
    return evenly(places, number, context.seed)


def can_be_named(name: str) -> bool:
    """Whether a file can have a name; in the encoding of some locales not each one can."""
    try:
        return bool(os.fsencode(name))
    except UnicodeEncodeError:
        return False


DIRECTORIES = tuple(filter(can_be_named, ("two words", "[1]", "Zürich", "100%25", "it's", "a#b", "{key}", "$HOME", "~")))
"""Names of directories, which mean something in patterns, URIs, formats or shells."""

WAYS_OF_HARM = ("emptied", "cut", "removed", "older")
"""What may have become of a file between two runs; the last is that of an earlier run, as a backup may have it."""

MOST_FILES = 4
"""Files of a store that are harmed, one after the other."""
