"""What became of a kept store in the hands of another version."""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from urllib.parse import urlsplit

from queue_conformance.engine.kept import Data, EndedElsewhere, Found

KEPT = "kept:"
"""How the notes begin that tell what became of a kept store."""


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
        silent: whether that exception says nothing of what is stored; see :func:`speaks`.
        changed: whether what was stored had changed by then.
        ended: how the process ended, if it hung or died, or ``""``.
    """

    found: Found
    error: str = ""
    silent: bool = False
    changed: bool = False
    ended: str = ""


def compare(expected: Found, reading: Reading, ordered: bool, waited: Sequence[Data] = ()) -> tuple[Outcome, str]:
    """Tell what another version did.

    Args:
        expected: what the version that wrote the store found in it.
        reading: what the other one found.
        ordered: whether what waits has an order.
        waited: what waited when the store was left, of which the version that wrote it need not have found all.

    Returns:
        The outcome, and what there is to say of it.
    """
    wanted, found = expected["pending"], reading.found["pending"]
    missing, extra = _without(wanted, found), _without(found, [*wanted, *_without(waited, wanted)])
    if reading.ended:
        return Outcome.BREAKS, reading.ended
    if reading.error and not found and not reading.changed:
        refused = Outcome.REFUSES, reading.error
        return (Outcome.BREAKS, f"{reading.error} (nothing has changed)") if reading.silent else refused
    if reading.error:
        return Outcome.LOSES, f"{reading.error}, when {len(found)} of {len(wanted)} had come out and the store had changed"
    if len(found) < len(wanted):
        return Outcome.LOSES, f"{len(wanted) - len(found)} of {len(wanted)} that waited do not come out: {_name(missing[0])}"
    if missing and all(any(_same(one, other) for other in wanted) for one in extra):
        return Outcome.LOSES, f"{len(missing)} of {len(wanted)} that waited do not come out, and others come twice"
    if missing:
        return Outcome.MISREADS, _difference(missing[0], extra)
    if dropped := _without(reading.found["dropped"], expected["dropped"]):
        return Outcome.LOSES, f"what was never seen is taken for seen: {_name(dropped[0])}"
    if again := _without(reading.found["again"], expected["again"]):
        return Outcome.AGAIN, f"{len(again)} that were seen are new again: {_name(again[0])}"
    if extra:
        return Outcome.AGAIN, f"{len(extra)} come out that did not wait any more: {_name(extra[0])}"
    if ordered and not all(map(_same, wanted, _without(found, _without(found, wanted)))):
        return Outcome.MISREADS, "what waited comes out in another order"
    if first := _out_of_order(wanted, found):
        return Outcome.MISREADS, f"what waited comes out in another order of priorities: {_name(first)} too soon"
    return Outcome.RECOVERS, ""


_OF_STORES = re.compile(
    r"\b(versions?|releases?|formats?|schemas?|protocol|(up|down)grad\w*|migrat\w*|(in)?compatible|older|newer)\b", re.IGNORECASE
)
_QUOTED = re.compile(r"(?<!\w)(['\"`]).*?\1(?!\w)")


def speaks(error: BaseException, packages: Collection[str], stored: Iterable[str]) -> bool:
    """Whether an exception tells a user what is wrong with what is stored, so that it is a refusal in words, and no accident.

    It does if its message names a file that is stored, or speaks of versions or formats, whoever raised it; and if it is a
    sentence, raised by a ``raise`` in one of the packages of what reads.

    Args:
        packages: their names.
        stored: the paths of the files.
    """
    message = str(error.args[0] if isinstance(error, KeyError) and error.args else error)
    names = {path.rpartition("/")[2] for path in stored}
    if any(re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", message) for name in names if len(name) > 2):  # not 0
        return True
    if len(message.split()) < 3:
        return False
    if _OF_STORES.search(_QUOTED.sub("", message)):
        return True
    if isinstance(error, EndedElsewhere):
        return error.package in packages
    return error.__traceback__ is not None and _raised_by(error.__traceback__) in packages


def _raised_by(trace: TracebackType) -> str:
    """Return the package with the ``raise`` that an exception comes from, or ``""`` if none raised it."""
    while trace.tb_next is not None:
        trace = trace.tb_next
    by = dis.opname[trace.tb_frame.f_code.co_code[trace.tb_lasti]]
    return str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0] if by == "RAISE_VARARGS" else ""


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


def _out_of_order(wanted: Sequence[Data], found: Sequence[Data]) -> Data | None:
    """Return what comes out too soon, if requests came out by their priorities, at least those of one host, and do no longer."""
    for key in (lambda one: "", _host):
        for sign in (1, -1):
            ranks = [sign * one["priority"] for one in wanted if isinstance(one.get("priority"), int)]
            if len(ranks) == len(wanted) and len({*ranks}) > 1 and _too_soon(wanted, key, sign) is None:
                return _too_soon(found, key, sign)
    return None


def _too_soon(things: Sequence[Data], key: Callable[[Data], str], sign: int) -> Data | None:
    most: dict[str, int] = {}
    for thing in reversed(things):
        rank = sign * thing["priority"]
        if rank < most.setdefault(key(thing), rank):
            return thing
        most[key(thing)] = rank
    return None


def _host(request: Data) -> str:
    return str((request.get("meta") or {}).get("download_slot") or urlsplit(request["url"]).hostname)


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
    return str(next((data[name] for name in ("url", "bytes", "key", "value") if name in data), data)) or "empty"
