"""Measurements as a page or a picture: a drawing for each operation, cost against size, both by powers of ten."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from queue_conformance.measuring.findings import (
    along,
    axes_of,
    bytes_of,
    names_of,
    operations_of,
    ratio,
    seconds_of,
    sentences,
    times_of,
)
from queue_conformance.measuring.step import Measured
from queue_conformance.reports.page import page, picture

WIDTH, HEIGHT, LEFT, BELOW, ABOVE = 360, 220, 58, 34, 12
"""Pixels of a drawing, and of its margins."""

_SIZE = (WIDTH, HEIGHT, LEFT, HEIGHT - BELOW)

ACROSS, GAP, LINE = 3, 24, 24
"""Drawings in a row of a picture; pixels between two, and of a line of its legend."""

SHAPES = ("circle", "square", "diamond", "triangle", "cross", "bar")
"""What marks the points of each line: colours alone tell nobody who sees none."""


@dataclass(frozen=True)
class Line:
    """One implementation in a drawing: its place among all, its points with what they say, and how they are joined."""

    place: int
    points: Sequence[tuple[float, float, str]]

    @property
    def path(self) -> str:
        """The points, as SVG joins them."""
        return " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in self.points)


@dataclass(frozen=True)
class Plot:
    """One drawing.

    Attributes:
        title: the operation.
        axis: what there is more and more of.
        lines: the implementations.
        across: ticks below it: where, and what is written there.
        up: ticks beside it.
    """

    title: str
    axis: str
    lines: Sequence[Line]
    across: Sequence[tuple[float, str]]
    up: Sequence[tuple[float, str]]


def render(steps: Sequence[Measured], notes: Sequence[str] = ()) -> str:
    """Return the page.

    Args:
        steps: what was measured.
        notes: what was not measured, and why.
    """
    names = names_of(steps)
    return page(
        "growth.html",
        f"{', '.join(names)} – cost of growth",
        None,
        names=names,
        shapes=SHAPES,
        findings=[*sentences(steps)],
        notes=notes,
        groups={axis: [*_plots(steps, names, axis)] for axis in axes_of(steps)},
        tables={axis: [*_rows(steps, names, axis)] for axis in axes_of(steps)},
        size=_SIZE,
    )


def drawing(steps: Sequence[Measured]) -> str:
    """Return a picture, in SVG, of what the page draws.

    Args:
        steps: what was measured.
    """
    names = names_of(steps)
    plots = [plot for axis in axes_of(steps) for plot in _plots(steps, names, axis)]
    column, row, width = WIDTH + GAP, HEIGHT + GAP, ACROSS * (WIDTH + GAP)
    halves, below = width // 2, GAP + LINE * math.ceil(len(names) / 2)
    places = [(GAP // 2 + i % ACROSS * column, below + GAP + i // ACROSS * row) for i in range(len(plots))]
    return picture(
        "growth.svg",
        title=f"cost of growth of {', '.join(names)}",
        width=width,
        height=below + GAP + math.ceil(len(plots) / ACROSS) * row,
        legend=[(GAP // 2 + i % 2 * halves, GAP + i // 2 * LINE, name) for i, name in enumerate(names)],
        plots=[(*place, plot) for place, plot in zip(places, plots, strict=True)],
        shapes=SHAPES,
        size=_SIZE,
    )


def _plots(steps: Sequence[Measured], names: Sequence[str], axis: str) -> Iterator[Plot]:
    for operation in operations_of([one for one in steps if one.axis == axis]):
        lines = {
            place: [(one.size, one.costs[operation].seconds) for one in along(steps, name, axis) if operation in one.costs]
            for place, name in enumerate(names)
        }
        both = [point for points in lines.values() for point in points]
        low, high = _range([size for size, _ in both])
        least, most = _range([seconds for _, seconds in both])

        def at(size: float, seconds: float, low=low, high=high, least=least, most=most) -> tuple[float, float]:  # type: ignore[no-untyped-def]
            across = (math.log10(size) - low) / (high - low)
            up = (math.log10(seconds) - least) / (most - least)
            return LEFT + across * (WIDTH - LEFT - 14), HEIGHT - BELOW - up * (HEIGHT - BELOW - ABOVE)

        drawn = [
            Line(place, [(*at(size, seconds), f"{names[place]}: {seconds_of(seconds)} at {size:,}") for size, seconds in points])
            for place, points in lines.items()
            if points
        ]
        across = [(at(10.0**power, 10.0**least)[0], _short(10**power)) for power in range(math.ceil(low), int(high) + 1)]
        up = [(at(10.0**low, 10.0**power)[1], seconds_of(10.0**power)) for power in range(math.ceil(least), int(most) + 1)]
        yield Plot(operation, axis, drawn, across, up)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return the powers of ten between which values are drawn; whole ones, and two at least."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return float(low), float(max(high, low + 1))


def _rows(steps: Sequence[Measured], names: Sequence[str], axis: str) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield the rows of the table of the largest size that all have: what, of which, and the cells."""
    found = {name: {one.size: one for one in along(steps, name, axis)} for name in names}
    both = set.intersection(*({*sizes} for sizes in found.values() if sizes))
    if not both:
        return
    size = max(both)
    against = next((sizes[size] for sizes in reversed(found.values()) if sizes), None)
    for name, sizes in found.items():
        if not sizes:
            continue
        one = sizes[size]
        for operation, cost in one.costs.items():
            counted = "" if cost.writes is None else f"{_several(cost.writes, 'write')}, {bytes_of(cost.written or 0.0)}"
            counted += "" if cost.commands is None else f", {_several(cost.commands, 'command')}"
            compared = ""
            if against is not None and against is not one and operation in against.costs:
                times, least, most = ratio(cost, against.costs[operation])
                compared = f"{times_of(times)} ({times_of(least)} to {times_of(most)})"
            yield operation, name, (f"{size:,}", seconds_of(cost.seconds), compared, counted)
        for place, room in (("in memory, each", one.memory), ("on disk, each", one.disk), ("on the server, each", one.on_server)):
            if room:
                yield place, name, (f"{size:,}", bytes_of(room), "", "")


def _several(mean: float, noun: str) -> str:
    number = f"{mean:.2g}"
    return f"{number} {noun}{'' if number == '1' else 's'}"


def _short(number: int) -> str:
    """Return a power of ten as a tick of an axis has room for it."""
    return next(f"{number // scale}{unit}" for scale, unit in ((10**6, "M"), (10**3, "k"), (1, "")) if number >= scale)
