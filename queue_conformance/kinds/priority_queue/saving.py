"""What the state says that closing a priority queue returns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import Received
from queue_conformance.kinds.priority_queue.driver import MARKERS, PLACES
from queue_conformance.kinds.priority_queue.model import Place

KNOWN = {place.slot for place in (*PLACES, *MARKERS)}
"""The slots of all requests; whatever else a state contains is not judged."""


@dataclass(frozen=True)
class Used:
    """The places that a state may name, and why it may name others.

    Attributes:
        left: where requests are left.
        before: where requests were, which may be the reason that an empty place is named.
        suspects: by the id of a rule, the places that are empty but named if that rule fails.
    """

    left: Collection[Place]
    before: Collection[Place]
    suspects: Mapping[str, Collection[Place]]


def judge_state(context: CheckContext, left: Any, used: Used) -> None:
    """Check that the state, called ``left`` in scripts, names only slots and priorities that hold requests.

    Raises:
        RuleFailed: if it names another one.
    """
    if not isinstance(left, Mapping):
        _judge_priorities(context, left, left, used, "set(left)")
        return
    slots = sorted(left.keys() & KNOWN)
    _expect_only(context, left, slots, used, _slots, "set(left)")
    for slot in slots:
        _judge_priorities(context, left, left[slot], used, f"set(left[{slot!r}])", slot)


def _judge_priorities(context: CheckContext, left: Any, named: Any, used: Used, source: str, slot: str | None = None) -> None:
    """Check the priorities that a state names, in one slot or in all; one that names no numbers has a form of its own."""
    if isinstance(named, Collection) and not isinstance(named, str) and all(isinstance(number, int) for number in named):
        _expect_only(context, left, named, used, partial(_priorities, slot=slot), source)


def _expect_only(
    context: CheckContext,
    left: Any,
    named: Collection[Any],
    used: Used,
    names_of: Callable[[Collection[Place]], set[Any]],
    source: str,
) -> None:
    """Check that nothing is named but the names of places with requests; blame a suspect that explains all other names."""
    right = names_of(used.left)
    wrong = set(named) - right
    rule = "pq.close.state-nonempty"
    if wrong:
        suspects = (other for other, places in used.suspects.items() if wrong <= names_of(places) - names_of(used.before))
        failed = next(suspects, rule)
        expected = f"nothing but {', '.join(map(str, sorted(right)))}"
        tail = [f"assert {source} <= {right!r}, left"]
        context.fail(failed, expected, Received(left), tail, final=failed != rule, operation="close")
    context.covered[rule] += 1


def _slots(places: Iterable[Place]) -> set[str]:
    return {place.slot for place in places}


def _priorities(places: Iterable[Place], slot: str | None) -> set[int]:
    """Return priorities and their negations, which Scrapy uses internally."""
    return {sign * place.priority for place in places if slot in (None, place.slot) for sign in (1, -1)}
