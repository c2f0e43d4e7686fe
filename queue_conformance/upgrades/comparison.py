"""What became of a kept store in the hands of another version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from queue_conformance.engine.kept import Data, Found


class Outcome(StrEnum):
    """What another version did with a kept store."""

    RECOVERS = "recovers all"
    REFUSES = "refuses in words"
    LOSES = "loses"
    MISREADS = "misreads"
    AGAIN = "crawls again"
    BREAKS = "breaks"

    @property
    def harms(self) -> bool:
        """Whether a crawl goes on with less, or with something else, than was kept."""
        return self not in (Outcome.RECOVERS, Outcome.REFUSES)


@dataclass(frozen=True)
class Reading:
    """What reading a copy of a store came to.

    Attributes:
        found: what came out, as far as it did.
        error: the exception that ended it, or ``""``.
        silent: whether that exception says nothing.
        changed: whether what was stored had changed by then.
        ended: how the process ended, if it hung or died, or ``""``.
    """

    found: Found
    error: str = ""
    silent: bool = False
    changed: bool = False
    ended: str = ""


def compare(expected: Found, reading: Reading, ordered: bool) -> tuple[Outcome, str]:
    """Tell what another version did.

    Args:
        expected: what the version that wrote the store found in it.
        reading: what the other one found.
        ordered: whether what waits has an order.

    Returns:
        The outcome, and what there is to say of it.
    """
    wanted, found = expected["pending"], reading.found["pending"]
    missing, extra = _without(wanted, found), _without(found, wanted)
    if reading.ended:
        return Outcome.BREAKS, reading.ended
    if reading.error and not found and not reading.changed:
        return (Outcome.BREAKS if reading.silent else Outcome.REFUSES), reading.error
    if reading.error:
        return Outcome.LOSES, f"{reading.error}, when {len(found)} of {len(wanted)} had come out and the store had changed"
    if len(found) < len(wanted):
        return Outcome.LOSES, f"{len(wanted) - len(found)} of {len(wanted)} that waited do not come out"
    if missing and all(any(_same(one, other) for other in wanted) for one in extra):
        return Outcome.LOSES, f"{len(missing)} of {len(wanted)} that waited do not come out, and others come twice"
    if missing:
        return Outcome.MISREADS, _difference(missing[0], extra)
    if extra:
        return Outcome.AGAIN, f"{len(extra)} come out that did not wait any more: {_name(extra[0])}"
    if dropped := _without(reading.found["dropped"], expected["dropped"]):
        return Outcome.LOSES, f"what was never seen is taken for seen: {_name(dropped[0])}"
    if again := _without(reading.found["again"], expected["again"]):
        return Outcome.AGAIN, f"{len(again)} that were seen are new again: {_name(again[0])}"
    if ordered and not all(map(_same, wanted, found)):
        return Outcome.MISREADS, "what waited comes out in another order"
    return Outcome.RECOVERS, ""


def _without(things: Sequence[Data], others: Sequence[Data]) -> list[Data]:
    """Return what is among the things and not, or less often, among the others."""
    left = [*others]
    rest = []
    for thing in things:
        known = next((place for place, other in enumerate(left) if _same(thing, other)), None)
        if known is None:
            rest.append(thing)
        else:
            del left[known]
    return rest


def _same(one: Data, other: Data) -> bool:
    known = one.keys() & other.keys()  # one version of the kit may write fields that another does not
    return bool(known) and all(one[name] == other[name] for name in known)


def _difference(missing: Data, extra: Sequence[Data]) -> str:
    other = next((one for one in extra if _name(one) == _name(missing)), None)
    if other is None:
        return f"{_name(missing)} comes out as {_name(extra[0])}"
    field = next(name for name in missing if other.get(name) != missing[name])
    return f"{_name(missing)} comes out with {field} {other.get(field)!r}, not {missing[field]!r}"


def _name(data: Data) -> str:
    return str(next((data[name] for name in ("url", "bytes", "value") if name in data), data))
