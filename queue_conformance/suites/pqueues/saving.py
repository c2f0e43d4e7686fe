"""Closing a priority queue, and what the state says that it returns."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set
from typing import Any

from queue_conformance.implementations.priorityqueue import through_json
from queue_conformance.implementations.recording import NOTHING
from queue_conformance.models.priorityqueue import Place
from queue_conformance.suites.bench import Bench


def save(bench: Bench, queue: Any, places: Collection[Place], failed: Collection[Place] = ()) -> Any:
    """Close a priority queue, and judge the state that it returns.

    Args:
        bench: where the check works.
        queue: the open queue.
        places: where requests are left.
        failed: where pushes have failed, which must have left no trace.

    Returns:
        The state after a trip through JSON; scripts call it ``state``.

    Raises:
        RuleBroken: if JSON cannot store it, or it names something where nothing is left.
    """
    left = queue.close()
    if not places:
        rule = "pq.push.failed-no-trace" if failed else "pq.close.empty-falsy"
        bench.expect(rule, not left, "empty state, nothing is left", left, "not left")
    state = through_json(left)
    if state is NOTHING:
        rule = "pq.close.state"
        bench.examined[rule] += 1
        bench.fail(rule, "state that JSON can store", left, ["json.dumps(left)"], final=True)
    if places:
        _judge_names(bench, left, set(places), set(failed))
    bench.recorder.note("state = json.loads(json.dumps(left))")
    return state


def _judge_names(bench: Bench, left: Any, places: set[Place], failed: set[Place]) -> None:
    """Nothing empty is named, as far as state of the released forms tells: priorities, or priorities by slot."""
    if isinstance(left, Mapping):
        slots = {place.slot for place in places}
        unknown = left.keys() - slots
        rule = _rule(unknown, {place.slot for place in failed})
        bench.expect(rule, not unknown, f"no other slots than {', '.join(sorted(slots))}", left, f"set(left) <= {slots!r}")
        for slot, named in left.items():
            mine = _numbers(place for place in places if place.slot == slot)
            theirs = _numbers(place for place in failed if place.slot == slot)
            _judge_numbers(bench, left, named, mine, theirs, f"left[{slot!r}]")
    else:
        _judge_numbers(bench, left, left, _numbers(places), _numbers(failed), "left")


def _judge_numbers(bench: Bench, left: Any, named: Any, mine: set[int], failed: set[int], source: str) -> None:
    """Only priorities of requests are named, if numbers are named at all."""
    if isinstance(named, Collection) and not isinstance(named, str) and all(isinstance(number, int) for number in named):
        rule = _rule(set(named) - mine, failed)
        expected = f"no other priorities than {', '.join(map(str, sorted({abs(number) for number in mine})))} (or negated)"
        bench.expect(rule, set(named) <= mine, expected, left, f"set({source}) <= {mine!r}")


def _rule(unknown: Set[Any], failed: Set[Any]) -> str:
    """Return the rule on names where nothing is left; that of failed pushes if they explain all of them."""
    return "pq.push.failed-no-trace" if unknown and unknown <= failed else "pq.close.state-nonempty"


def _numbers(places: Iterable[Place]) -> set[int]:
    """Return priorities and their negations, which Scrapy uses internally."""
    return {sign * place.priority for place in places for sign in (1, -1)}
