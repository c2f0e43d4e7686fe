"""Closing a priority queue, and what the state says that it returns."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from queue_conformance.engine.context import CheckContext
from queue_conformance.kinds.priority_queue.driver import MARKERS, PLACES
from queue_conformance.kinds.priority_queue.model import Place
from queue_conformance.kinds.priority_queue.script_support import through_json
from queue_conformance.kinds.queue.commands import QueueLockstep

KNOWN = {place.slot for place in (*PLACES, *MARKERS)}
"""The slots of all requests; what else a state may contain is not known."""


@dataclass(frozen=True)
class Used:
    """Places, and what their requests tell of a state that names them.

    Attributes:
        left: where requests are left.
        before: where requests were, which may be the reason that something empty is named.
        suspects: where other rules say that nothing may be left, by the ids of these rules.
    """

    left: Collection[Place]
    before: Collection[Place]
    suspects: Mapping[str, Collection[Place]]

    def of(self, slot: str) -> Used:
        """Return the places of one slot."""

        def mine(places: Iterable[Place]) -> list[Place]:
            return [place for place in places if place.slot == slot]

        return Used(mine(self.left), mine(self.before), {rule: mine(places) for rule, places in self.suspects.items()})


def save(lockstep: QueueLockstep, used: Used, *, unsaved: bool = False) -> Any:
    """Close a priority queue, and judge the state that it returns.

    Args:
        lockstep: the open queue.
        used: where requests are left, and were.
        unsaved: return the state as it is.

    Returns:
        The state after a trip through JSON; scripts call it ``state``.

    Raises:
        RuleFailed: if JSON cannot store it, or it names something where nothing is left.
    """
    left = close(lockstep, nothing_left=not used.left)
    context = lockstep.context
    if not unsaved:
        try:
            json.dumps(left)
        except (TypeError, ValueError):
            context.fail("pq.close.state", "state that JSON can store", left, ["json.dumps(left)"], final=True)
    if used.left and isinstance(left, Mapping):
        named = left.keys() & KNOWN
        _expect_only(context, left, named, used, _slots, "set(left)")
        for slot in sorted(named):
            _judge_numbers(context, left, left[slot], used.of(slot), f"set(left[{slot!r}])")
    elif used.left:
        _judge_numbers(context, left, left, used, "set(left)")
    if unsaved:
        context.recorder.note("state = left")
        return left
    return lockstep.perform(through_json, lockstep.sources.give(left, "left"), name="state")


def close(lockstep: QueueLockstep, *, nothing_left: bool) -> Any:
    """Close a priority queue, and return the state; it is false if nothing is left.

    Raises:
        RuleFailed: if it is not.
    """
    state = lockstep.queue.close()
    if nothing_left:
        lockstep.expect("pq.close.empty-falsy", lambda left: not left, state, expected="empty state, nothing is left")
    return state


def _judge_numbers(context: CheckContext, left: Any, named: Any, used: Used, source: str) -> None:
    """Only priorities of requests, or their negations, are named, if numbers are named at all."""
    if isinstance(named, Collection) and not isinstance(named, str) and all(isinstance(number, int) for number in named):
        _expect_only(context, left, named, used, _priorities, source)


def _expect_only(
    context: CheckContext,
    left: Any,
    named: Collection[Any],
    used: Used,
    names: Callable[[Collection[Place]], set[Any]],
    source: str,
) -> None:
    """Nothing else is named; where another rule explains what is, that one failed."""
    mine = names(used.left)
    unknown = set(named) - mine
    theirs = {rule: names(places) - names(used.before) for rule, places in used.suspects.items()}
    usual = "pq.close.state-nonempty"
    rule = next((rule for rule, places in theirs.items() if unknown and unknown <= places), usual)
    if unknown:
        expected = f"nothing but {', '.join(map(str, sorted(mine)))}"
        context.fail(rule, expected, left, [f"assert {source} <= {mine!r}, left"], final=rule != usual)
    context.covered[rule] += 1


def _slots(places: Iterable[Place]) -> set[Any]:
    return {place.slot for place in places}


def _priorities(places: Iterable[Place]) -> set[Any]:
    """Return priorities and their negations, which Scrapy uses internally."""
    return {sign * place.priority for place in places for sign in (1, -1)}
