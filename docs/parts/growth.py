"""What classes cost as they grow, from the committed measurements that ``make growth`` writes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from parts.words import CLOSED, opened
from queue_conformance.measuring.findings import (
    along,
    axes_of,
    bytes_of,
    from_data,
    names_of,
    operations_of,
    seconds_of,
    sentences,
)
from queue_conformance.measuring.step import Measured
from queue_conformance.specification.words import LIBRARIES, listed

HERE = Path(__file__).parent.parent / "growth"
ORIGIN = HERE / "measured" / "origin.json"
GROUPS: Mapping[str, Mapping[str, Any]] = tomllib.loads((HERE / "growth.toml").read_text("utf-8"))
"""By name what is measured together, with what options, under which title."""


def file_of(group: str) -> Path:
    """Return where the measurements of a group are kept."""
    return HERE / "measured" / f"{group}.jsonl"


def measured(group: str) -> list[Measured]:
    """Return what was measured of a group; nothing if it was not measured."""
    file = file_of(group)
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    return [from_data(json.loads(line)) for line in lines]


def origin() -> str:
    """Say where the numbers come from."""
    found = json.loads(ORIGIN.read_text("utf-8"))
    releases = listed(f"{LIBRARIES.get(name, name)} {release}" for name, release in found["releases"].items())
    return f"Measured on {found['date']} with {releases}, on Python {found['python']} ({found['processors']} processors)."


def tables() -> str:
    """Return for each group what it costs at each size, what that says, and a script that shows it."""
    lines: list[str] = []
    for group, of in GROUPS.items():
        if steps := measured(group):
            lines += [f"## {of['title']}", "", *_findings(group, steps), ""]
            lines += [f"![{of['title']}: cost against size](_static/growth-{group}.svg)", ""]
            for axis in axes_of(steps):
                lines += [*_table(steps, axis), ""]
    return "\n".join(lines)


def scripts_of(group: str) -> list[Path]:
    """Return what shows the findings of a group without the kit."""
    return sorted(path for path in (HERE / "scripts").glob("*.py") if re.fullmatch(rf"{group}(-of-\w+)?\.py", path.name))


def _findings(group: str, steps: Sequence[Measured]) -> Iterator[str]:
    found = [f"- `{name}`: {sentence}." for name, sentence in sentences(steps) if not name.startswith("limits.")]
    yield from found or ["Nothing grows."]
    for script in scripts_of(group):
        yield from ("", "What shows it without the kit:", "", "```python", script.read_text("utf-8").rstrip(), "```")


def _table(steps: Sequence[Measured], axis: str) -> Iterator[str]:
    sizes = sorted({one.size for one in steps if one.axis == axis})
    yield from opened("matrix")
    yield f"| | {' | '.join(f'{size:,} {axis}' for size in sizes)} |"
    yield f"|---|{'--:|' * len(sizes)}"
    for name in names_of(steps):
        found = {one.size: one for one in along(steps, name, axis)}
        for operation in operations_of([*found.values()]):
            costs = (seconds_of(found[size].costs[operation].seconds) if size in found else "" for size in sizes)
            yield f"| `{name}` {operation}{_commands(found[max(found)], operation)} | {' | '.join(costs)} |"
        if any(one.disk for one in found.values()):
            room = (bytes_of(found[size].disk) if size in found else "" for size in sizes)
            yield f"| `{name}` on disk, each | {' | '.join(room)} |"
    yield CLOSED


def _commands(found: Measured, operation: str) -> str:
    """Return how many commands a server was sent, as the end of a title; ``""`` if nobody has counted them."""
    sent = found.costs[operation].commands if operation in found.costs else None
    return "" if sent is None else f", {sent:.2g} command{'s' * (round(sent, 1) != 1)}"
