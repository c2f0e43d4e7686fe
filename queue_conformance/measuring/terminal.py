"""Measurements in a terminal: one table, and a sentence for each finding."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

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

_ROOM: dict[str, Callable[[Measured], str]] = {
    "on disk, each": lambda one: bytes_of(one.disk) if one.disk else "",
    "in memory, each": lambda one: "" if one.memory is None else bytes_of(one.memory),
    "on the server, each": lambda one: "" if one.on_server is None else bytes_of(one.on_server),
    "descriptors": lambda one: f"{one.descriptors:,}" if one.descriptors else "",
}
"""The rows on what there is at a size, besides what operations cost."""


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
            if written := [f"{operation} {bytes_of(cost.written)}" for operation, cost in costs.items() if cost.written]:
                yield f"  bytes written: {', '.join(written)}"
            if sent := [f"{operation} {cost.commands:.2g}" for operation, cost in costs.items() if cost.commands is not None]:
                yield f"  commands sent: {', '.join(sent)}"
            for title, say in _ROOM.items():
                if any(say(one) for one in found.values()):
                    yield _row(title, (say(found[size]) if size in found else "" for size in sizes))
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
