"""Measurements in a terminal: one table, and a sentence for each finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from queue_conformance.measuring.findings import (
    along,
    axes_of,
    bytes_of,
    names_of,
    operations_of,
    seconds_of,
    sentences,
)
from queue_conformance.measuring.step import Measured

_NAME, _CELL = 28, 10


def render(steps: Sequence[Measured], width: int) -> Iterator[str]:
    """Yield the lines of the table, and of what it shows.

    Args:
        steps: what was measured.
        width: characters in a line.
    """
    for axis in axes_of(steps):
        sizes = _some(sorted({one.size for one in steps if one.axis == axis}), max(2, (width - _NAME) // _CELL))
        yield f"{axis:{_NAME}}{''.join(f'{size:>{_CELL},}' for size in sizes)}"
        for name in names_of(steps):
            found = {one.size: one for one in along(steps, name, axis)}
            if not found:
                continue
            yield name
            for operation in operations_of([*found.values()]):
                yield _row(
                    operation, (seconds_of(found[size].costs[operation].seconds) if size in found else "" for size in sizes)
                )
            costs = found[max(found)].costs
            if sent := [f"{operation} {cost.commands:.2g}" for operation, cost in costs.items() if cost.commands is not None]:
                yield f"  commands sent: {', '.join(sent)}"
            if any(one.disk for one in found.values()):
                yield _row("on disk, each", (bytes_of(found[size].disk) if size in found else "" for size in sizes))
            if any(one.memory is not None for one in found.values()):
                memory = ((found[size].memory or 0.0) if size in found else None for size in sizes)
                yield _row("in memory, each", ("" if one is None else bytes_of(one) for one in memory))
        yield ""
    for name, sentence in sentences(steps):
        yield f"{name}: {sentence}"


def _row(title: str, cells: Iterator[str]) -> str:
    return f"  {title:{_NAME - 2}}{''.join(f'{cell:>{_CELL}}' for cell in cells)}".rstrip()


def _some(sizes: Sequence[int], count: int) -> list[int]:
    """Return so many of some sizes at most, the first and the last among them."""
    if len(sizes) <= count:
        return [*sizes]
    return [sizes[round(place * (len(sizes) - 1) / (count - 1))] for place in range(count)]
