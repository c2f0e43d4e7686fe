"""What measurements say: which costs grow, and how the implementations compare."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from msgspec import convert

from queue_conformance.measuring.step import Cost, Measured

APART = 16
"""How many times as large the larger of two sizes is at least, if they are to tell whether a cost grows."""

FACTOR = 8
"""How many times as much an operation costs then, if it grows with the number; a logarithm makes less than two of it."""

_FEW = 4096
"""Bytes of files that tell nothing."""

_USUAL = 32
"""Descriptors that tell nothing."""

ONCE = ("open", "close")
"""What is done with all that is stored: it may take as long as that is much."""


def along(steps: Sequence[Measured], name: str, axis: str) -> list[Measured]:
    """Return what was measured of one implementation, the smallest size first."""
    return sorted((one for one in steps if (one.name, one.axis) == (name, axis)), key=lambda one: one.size)


def names_of(steps: Sequence[Measured]) -> list[str]:
    """Return the implementations, in order."""
    return [*dict.fromkeys(one.name for one in steps)]


def axes_of(steps: Sequence[Measured]) -> list[str]:
    """Return what there was more and more of, in order."""
    return [*dict.fromkeys(one.axis for one in steps)]


def operations_of(steps: Sequence[Measured]) -> list[str]:
    """Return what was timed, in order."""
    return [*dict.fromkeys(name for one in steps for name in one.costs)]


def grows(first: Measured, last: Measured, operation: str) -> bool:
    """Whether an operation costs more the more there is, by clock and processor; of what is done with all, more than that."""
    if last.size < APART * first.size:
        return False
    allowed = FACTOR * (last.size / first.size if operation in ONCE else 1)
    small, large = first.costs[operation], last.costs[operation]
    if not last.served and large.processor <= allowed * small.processor:  # the machine was busy, or the disk slow
        return False
    return large.seconds > allowed * small.seconds


def sentences(steps: Sequence[Measured]) -> Iterator[tuple[str, str]]:
    """Yield the implementation, and a sentence, of each finding."""
    for name in names_of(steps):
        for axis in axes_of(steps):
            found = along(steps, name, axis)
            if not found:
                continue
            first, last = found[0], found[-1]
            for operation in operations_of(found):
                if grows(first, last, operation):
                    costs = [f"{seconds_of(one.costs[operation].seconds)} at {one.size:,}" for one in (first, last)]
                    how = _how(first, last, operation)
                    number = f"the number {axis}" if axis in ("stored", "seen") else f"the number of {axis}"
                    yield name, f"{operation}: {costs[0]} {axis}, {costs[1]}: grows with {number}{how}"
            if axis == "processes" and (slower := _hinder(first, last)):
                yield name, slower
            stored = first.disk * first.size
            if first.left is not None and axis == "stored" and first.left > stored / 2 > _FEW:
                yield name, f"files: {bytes_of(first.left)} of {bytes_of(stored)} stay when all is taken out"
            if last.descriptors and last.descriptors > max(_USUAL, last.size / APART):
                yield name, f"descriptors: {last.descriptors:,} are open at {last.size:,} {axis}"


def _hinder(first: Measured, last: Measured) -> str:
    """Say it, if processes hinder each other: all together do less than half of what one does alone."""
    one, many = (next(iter(found.costs.values())) for found in (first, last))
    if many.seconds <= 2 * one.slowest:
        return ""
    rates = [f"{1 / cost.seconds:,.0f} a second" for cost in (one, many)]
    return f"in and out: {rates[0]} by {first.size} process, {rates[1]} by {last.size} together: they hinder each other"


def _how(first: Measured, last: Measured, operation: str) -> str:
    """Say how fast, where a cost grows faster than the number, or much more slowly."""
    more = last.costs[operation].seconds / first.costs[operation].seconds
    power = math.log(more) / math.log(last.size / first.size)
    return ", and faster" if power > 1.3 else ", more slowly" if power < 0.7 else ""


def ratio(one: Cost, other: Cost) -> tuple[float, float, float]:
    """Return how many times as long as another one an operation takes: by the quickest batches, at least, and at most."""
    return one.seconds / other.seconds, one.seconds / other.slowest, one.slowest / other.seconds


def as_data(found: Measured) -> dict[str, Any]:
    """Return what was measured as one line of JSON holds it."""
    return asdict(found)


def from_data(data: Any) -> Measured:
    """Return what a line of JSON holds.

    Raises:
        ValueError: if it is something else.
    """
    found: Measured = convert(data, Measured)
    times = [time for cost in found.costs.values() for time in (cost.seconds, cost.slowest)]
    if found.size < 1 or not all(0 < time < math.inf for time in times):
        raise ValueError("nothing was stored, or an operation takes no time, or for ever")
    return found


def seconds_of(seconds: float) -> str:
    """Return seconds as people read them: ``1.9 ms``."""
    return _scaled(seconds, (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9)))


def bytes_of(size: float) -> str:
    """Return bytes as people read them: ``1.2 kB``."""
    return _scaled(size, (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0)))


def times_of(ratio: float) -> str:
    """Return a ratio as people read it: ``1.3``."""
    return f"{ratio:.2g}" if ratio < 10 else f"{ratio:,.0f}"


def _scaled(value: float, units: Sequence[tuple[str, float]]) -> str:
    unit, scale = next((one for one in units if value >= one[1]), units[-1])
    scaled = value / scale
    return f"{scaled:.2g} {unit}" if scaled < 9.95 else f"{scaled:,.0f} {unit}"
