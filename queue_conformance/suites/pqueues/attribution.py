"""Which rule a failing program of priority queues belongs to: the experiments of this suite."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from queue_conformance.suites.outcomes import RuleBroken
from queue_conformance.suites.programs import Experiment, Play, Player, Program, drop

COUNT_RULES = ("pq.len.sum", "pq.len.truth")
"""The rules on counts."""


def _replacing(old: str, new: str) -> Callable[[Program], Program]:
    """Return what puts another operation in the place of one."""
    return lambda program: tuple(o._replace(name=new) if o.name == old else o for o in program)


def _dropping(name: str) -> Callable[[Program], Program]:
    """Return what leaves out an operation."""
    return lambda program: tuple(o for o in program if o.name != name)


def _played(change: Callable[[Program], Program]) -> Callable[[Play], Program]:
    """Return what changes the program that was played."""
    return lambda play: change(tuple(play.played))


def _without_resuming(play: Play) -> Program:
    """Replace what closes and resumes by a look at the length."""
    return tuple(o._replace(name="length") if o.name.startswith("reopen") else o for o in play.played)


def _pushes_first(play: Play) -> Program:
    """Push everything before anything else happens."""
    pushes = tuple(o for o in play.played if o.name == "push")
    return pushes + tuple(o for o in play.played if o.name != "push")


def _without_earlier_peeks(play: Play) -> Program:
    last = len(play.played) - 1
    return tuple(o for i, o in enumerate(play.played) if o.name != "peek" or i == last)


def _after_peek(_player: Player, play: Play, _failure: RuleBroken) -> str | None:
    return None if play.played[-1].name == "peek" else "pq.peek.no-effect"


def _after_late_push(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    return "pq.pop.late-higher" if failure.rule in ("pq.pop.order", "pq.pop.start-priority") else None


def _unless_of_names(rule: str) -> Callable[[Player, Play, RuleBroken], str | None]:
    """Return what names a rule, but not for a failure that shows in the names in a state."""
    return lambda _player, _play, failure: None if failure.rule == "pq.close.state-nonempty" else rule


def _after_measuring(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    return None if failure.rule in COUNT_RULES else "pq.len.sum"


FACTORS: Mapping[str, Callable[[Program], Program]] = {
    "pq.resume.stale": _replacing("reopen_stale", "reopen"),
    "pq.push.failed-no-trace": _dropping("push_refused"),
    "pq.pop.transient": _dropping("pop_none"),
}
"""What is not used in every program, and whose absence tells that it matters."""


def _without_any(play: Play) -> Program:
    return _without_all_but("", play)


def _without_all_but(kept: str, play: Play) -> Program:
    """Leave out all factors but one."""
    program = tuple(play.played)
    for rule, change in FACTORS.items():
        if rule != kept:
            program = change(program)
    return program


def _factor_that_matters(player: Player, play: Play, failure: RuleBroken) -> str | None:
    """Name the first factor that fails alone; a mistake needs no other one, but two mistakes may hide each other."""
    if failure.rule == "pq.close.state-nonempty":  # whether a failed push is named, or something that was used before
        rule = "pq.push.failed-no-trace"
        return None if player.passes(_without_all_but(rule, play), play.queues) else rule
    program = tuple(play.played)
    alone = (rule for rule in FACTORS if not player.passes(_without_all_but(rule, play), play.queues))
    needed = [rule for rule, change in FACTORS.items() if player.passes(change(program), play.queues)]
    used = [rule for rule, change in FACTORS.items() if change(program) != program]
    known = (rule for rule in (*needed, *used) if rule in player.known)
    found = next(alone, None) or next(known, None) or next(iter(needed), None)
    if found == "pq.pop.transient" and player.passes(_pushes_first(play), play.queues):
        return _after_late_push(player, play, failure) or found  # a pop is a pop, whatever it returns
    return found


EXPERIMENTS = (
    Experiment(_without_any, _factor_that_matters),
    Experiment(_without_earlier_peeks, _after_peek),
    Experiment(drop("length", "truth"), _after_measuring),
    Experiment(_played(_replacing("reopen", "reopen_unsaved")), _unless_of_names("pq.close.state")),
    Experiment(_without_resuming, _unless_of_names("pq.resume.all")),
    Experiment(_pushes_first, _after_late_push),
)
