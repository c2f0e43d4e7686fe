"""What it takes that a rule fails: the case of a check, or what the shortest command sequence that shows it consists of.

Two failures of one rule with the same difference are two findings if they need something else: one that seven stored items
show is another one as soon as five show it, and one that only requests with ``dont_filter`` show is not one of plain requests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

FIRST = "0 operations before"
"""What a sequence consists of whose first command fails; no longer one has it, so it explains none."""

LONGEST = 60
"""The longest description of the value of a case, in characters."""


def way_of(operations: Iterable[str], special: Iterable[str]) -> str:
    """Return how often a sequence has each operation, and what is special about its items: ``1 pop, 7 push, dont_filter``."""
    counts = Counter(operations)
    before = [f"{count} {name}" for name, count in sorted(counts.items())] or [FIRST]
    return ", ".join([*before, *sorted(set(special))])


def parts_of(way: str) -> Counter[str]:
    """Return what a way consists of; that of a check's case is one part."""
    if not _SEQUENCE.match(way):
        return Counter([way])
    told = (re.match(r"(?:(\d+) )?(.*)", part, re.DOTALL) for part in way.split(", "))
    return Counter({part[2]: int(part[1] or 1) or 1 for part in told if part})


_SEQUENCE = re.compile(r"\d+ ")
"""How the way of a sequence begins, and that of no case."""


def explains(known: str, found: str) -> bool:
    """Whether what shows a known failure is part of what shows another one: then it may be the same."""
    return parts_of(known) <= parts_of(found)


def way_of_case(check: str, case: Mapping[str, Any], *, generated: Iterable[str] = ()) -> str:
    """Return the name of a check, with the values of a case.

    Args:
        generated: the parameters whose values depend on what an implementation did, so that only their kind is told.
    """
    told = [f"{name}={_told(value, name in generated)}" for name, value in case.items()]
    return f"{check} ({', '.join(told)})" if told else check


def _told(value: Any, generated: bool) -> str:
    """Return what a value is, without what differs from one run to the next."""
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    if isinstance(name, str):
        return name
    text = repr(value)
    return type(value).__name__ if generated or " at 0x" in text or len(text) > LONGEST else text
