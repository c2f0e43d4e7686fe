"""What changed from one measurement to another: two files of JSON lines, side by side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from queue_conformance.measuring.findings import (
    along,
    axes_of,
    bytes_of,
    from_data,
    names_of,
    ratio,
    seconds_of,
    sentences,
    times_of,
)
from queue_conformance.measuring.step import Cost, Measured
from queue_conformance.processes.files import opened

TIMES = 2.0
"""How many times as much is said: times of two runs are those of a machine that did other things, too."""

LONGEST = 1 << 16
"""The longest line, in bytes: far more than a measurement has."""

_NAME, _CELL = 28, 12


def read(file: Path) -> list[Measured] | None:
    """Return what a file of JSON lines has of measurements, or ``None`` if it is something else.

    Raises:
        OSError: if it cannot be read.
    """
    try:
        with opened(file) as lines:
            return [from_data(json.loads(line)) for line in iter(partial(lines.readline, LONGEST), b"")] or None
    except (ValueError, RecursionError):
        return None


def render(old: Sequence[Measured], new: Sequence[Measured]) -> Iterator[str]:
    """Yield a table of what both measured at the largest size that both have, and what changed, in a sentence each."""
    said: list[str] = []
    for axis in axes_of(new):
        for name in names_of(new):
            before, now = ({one.size: one for one in along(steps, name, axis)} for steps in (old, new))
            if not (both := before.keys() & now.keys()):
                continue
            first, last = before[size := max(both)], now[size]
            yield f"{f'{size:,} {axis}':{_NAME}}{'old':>{_CELL}}{'new':>{_CELL}}{'times':>{_CELL}}"
            yield name
            for operation in [one for one in last.costs if one in first.costs]:
                costs = first.costs[operation], last.costs[operation]
                cells = (*(seconds_of(cost.seconds) for cost in costs), times_of(ratio(*reversed(costs))[0]))
                yield f"  {operation:{_NAME - 2}}{''.join(f'{cell:>{_CELL}}' for cell in cells)}"
                said += [f"{name}: {operation}: {line} at {size:,} {axis}" for line in _changes(*costs)]
            yield ""
    yield from said
    known = {(name, *_about(sentence)) for name, sentence in sentences(old)}
    for name, sentence in sentences(new):
        if (name, *_about(sentence)) not in known:
            yield f"{name}: new: {sentence}"
    for name in sorted({*names_of(old)} ^ {*names_of(new)}):
        yield f"{name}: only in the {'old' if name in names_of(old) else 'new'} one"


def _about(sentence: str) -> tuple[str, str]:
    """Return of what a finding is, and what it is: without the figures."""
    return sentence.partition(":")[0], sentence.rpartition(": ")[2].partition(",")[0]


def _changes(old: Cost, new: Cost) -> Iterator[str]:
    """Yield what changed by more than chance, and what is counted by a tenth."""
    times, least, most = ratio(new, old)
    if times >= TIMES and least > 1:
        yield f"{times_of(times)} times as slow ({times_of(least)} to {times_of(most)})"
    elif 1 / times >= TIMES and most < 1:
        yield f"{times_of(1 / times)} times as quick ({times_of(1 / most)} to {times_of(1 / least)})"
    for what, before, now in (("commands", old.commands, new.commands), ("writes", old.writes, new.writes)):
        if before is not None and now is not None and abs(now - before) > max(0.1 * before, 0.1):
            yield f"{now:.2g} {what}, not {before:.2g}"
    if old.written is not None and new.written is not None and abs(new.written - old.written) > max(0.1 * old.written, 16):
        yield f"{bytes_of(new.written)} written, not {bytes_of(old.written)}"
