"""Closing a priority queue, and what the state says that it returns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from types import MappingProxyType
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.recording import NOTHING
from queue_conformance.kinds.priority_queue.driver import MARKERS, PLACES, through_json
from queue_conformance.kinds.priority_queue.model import Place

KNOWN = {place.slot for place in (*PLACES, *MARKERS)}
"""The slots of all requests; what else a state may contain is not known."""

Suspects = Mapping[str, Collection[Place]]
"""Where other rules say that nothing may be left, by the ids of these rules."""


def save(
    bench: Bench,
    queue: Any,
    places: Collection[Place],
    suspects: Suspects = MappingProxyType({}),
    used: Collection[Place] = (),
) -> Any:
    """Close a priority queue, and judge the state that it returns.

    Args:
        bench: where the check works.
        queue: the open queue.
        places: where requests are left.
        suspects: what else may be wrong if something empty is named.
        used: where requests were, which may be the reason that it is named just as well.

    Returns:
        The state after a trip through JSON; scripts call it ``state``.

    Raises:
        RuleBroken: if JSON cannot store it, or it names something where nothing is left.
    """
    left = close(bench, queue, nothing_left=not places)
    state = through_json(left)
    if state is NOTHING:
        rule = "pq.close.state"
        bench.examined[rule] += 1
        bench.fail(rule, "state that JSON can store", left, ["json.dumps(left)"], final=True)
    if places:
        _judge_names(bench, left, set(places), suspects, used)
    bench.recorder.note("state = json.loads(json.dumps(left))")
    return state


def close(bench: Bench, queue: Any, *, nothing_left: bool) -> Any:
    """Close a priority queue, and return the state; it is false if nothing is left.

    Raises:
        RuleBroken: if it is not.
    """
    left = queue.close()
    if nothing_left:
        bench.expect("pq.close.empty-falsy", not left, "empty state, nothing is left", left, "not left")
    return left


def _judge_names(bench: Bench, left: Any, places: set[Place], suspects: Suspects, used: Collection[Place]) -> None:
    """Nothing empty is named, as far as state of the released forms tells: priorities, or priorities by slot."""
    if isinstance(left, Mapping):
        slots = {place.slot for place in places}
        named_slots = left.keys() & KNOWN
        suspected = {rule: {place.slot for place in found} - {place.slot for place in used} for rule, found in suspects.items()}
        expected = f"no other slots than {', '.join(sorted(slots))}"
        _expect_only(bench, left, named_slots, slots, suspected, expected, f"set(left) <= {slots!r}")
        for slot in sorted(named_slots):
            mine = {place for place in places if place.slot == slot}
            theirs = {rule: [place for place in found if place.slot == slot] for rule, found in suspects.items()}
            mine_used = [place for place in used if place.slot == slot]
            _judge_numbers(bench, left, left[slot], mine, theirs, mine_used, f"left[{slot!r}]")
    else:
        _judge_numbers(bench, left, left, places, suspects, used, "left")


def _judge_numbers(
    bench: Bench, left: Any, named: Any, places: set[Place], suspects: Suspects, used: Collection[Place], source: str
) -> None:
    """Only priorities of requests are named, if numbers are named at all."""
    if isinstance(named, Collection) and not isinstance(named, str) and all(isinstance(number, int) for number in named):
        mine = _numbers(places)
        suspected = {rule: _numbers(found) - _numbers(used) for rule, found in suspects.items()}
        expected = f"no other priorities than {', '.join(map(str, sorted({abs(number) for number in mine})))} (or negated)"
        _expect_only(bench, left, set(named), mine, suspected, expected, f"set({source}) <= {mine!r}")


def _expect_only(
    bench: Bench, left: Any, named: Set[Any], mine: Set[Any], suspected: Mapping[str, Set[Any]], expected: str, assertion: str
) -> None:
    """Nothing else is named; where another rule explains what is, that one is broken."""
    unknown = named - mine
    usual = "pq.close.state-nonempty"
    rule = next((rule for rule, theirs in suspected.items() if unknown and unknown <= theirs), usual)
    bench.expect(rule, not unknown, expected, left, assertion, final=rule != usual)


def _numbers(places: Iterable[Place]) -> set[int]:
    """Return priorities and their negations, which Scrapy uses internally."""
    return {sign * place.priority for place in places for sign in (1, -1)}
