"""What it takes that a rule fails: the case of a check, or what the shortest command sequence that shows it consists of.

Two failures of one rule with the same difference are two findings if they need something else: one that seven stored items
show is another one as soon as five show it, and one that only requests with ``dont_filter`` show is not one of plain requests.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from zlib import crc32

from queue_conformance.engine.syntax import body_of

FIRST = "0 operations before"
"""What a sequence consists of whose first command fails; no longer one has it, so it explains none."""

BY_CHANCE = "by chance"
"""What it takes, too, where the same sequence fails now and then; there is nothing to tell others with this cause apart by."""

SOME_CASES = " (not all cases were run)"
"""What follows the name of a check that had no time for all cases, or for a fault at all places: the others may fail alike."""

LONGEST = 60
"""The longest description of the value of a case, in characters; of a longer one a check sum follows."""


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
    return is_by_chance(known) or parts_of(known) <= parts_of(found)


def is_plainer(known: str, found: str) -> bool:
    """Whether two sequences have the same operations, and all that is special about the items of one is so in the other one."""
    own, others = set(known.split(", ")), set(found.split(", "))
    return bool(_SEQUENCE.match(known)) and own <= others and not any(map(_SEQUENCE.match, others - own))


def raise_alike(cause: str, other: str) -> bool:
    """Whether the same operation raises something.

    What is raised where stored bytes are damaged depends on the bytes; which operations that takes does not.
    """
    operation, raises, _ = cause.partition(" raised ")
    return bool(raises) and other.startswith(f"{operation} raised ")


def is_by_chance(way: str) -> bool:
    """Whether what shows a failure shows it now and then."""
    return BY_CHANCE in parts_of(way)


def covers(known: str, found: str) -> bool:
    """Whether a known way is another one, or stands for all cases of its check."""
    check = known.removesuffix(SOME_CASES)
    return found == known or (check != known and (found == check or found.startswith(f"{check} (")))


_CUT = re.compile(r"([\w.-]+): \d+ of \d+ \w+, because ")


def cut_short(notes: Iterable[str]) -> frozenset[str]:
    """Return the checks of which there was no time for all cases, as notes on a run say."""
    return frozenset(found[1] for found in map(_CUT.match, notes) if found)


class Named(str):
    """A value of a case, with a phrase that says what it is to those who do not know the kit: ``over a slow queue``."""

    name: str

    def __new__(cls, value: str, name: str) -> Named:
        """Make one of a value, and the phrase."""
        made = super().__new__(cls, value)
        made.name = name
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        """Return what a copy is made of."""
        return str(self), self.name


def way_of_case(check: str, case: Mapping[str, Any], *, generated: Iterable[str] = ()) -> str:
    """Return the name of a check, with the values of a case.

    Args:
        generated: the parameters whose values depend on what an implementation did, so that only their kind is told.
    """
    told = [_told(name, value, name in generated) for name, value in case.items()]
    return f"{check} ({', '.join(told)})" if told else check


def _told(parameter: str, value: Any, generated: bool) -> str:
    """Return what a value is, without what differs from one run to the next, in words where it has some."""
    words = parameter.replace("_", " ")
    if value is True or value is False:
        return words if value else f"not {words}"
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    written = ""
    if name == "<lambda>":
        with suppress(LookupError):
            written = body_of(value)
    if isinstance(name, str) and not written:
        return name if " " in name else f"{words}={name}"
    if generated:
        return f"some {words}"
    text = written or repr(value)
    if " at 0x" in text or (not written and len(text) > LONGEST and re.search("[<{]", text)):  # another one in each run
        return f"{words}={type(value).__name__}"
    return f"{words}={text}" if len(text) <= LONGEST else f"{words}={text[:LONGEST]}... ({crc32(text.encode()):08x})"
