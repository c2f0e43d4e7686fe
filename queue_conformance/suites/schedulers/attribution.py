"""To which rule a difference in state belongs: found by playing a program again without one of its factors."""

from __future__ import annotations

from queue_conformance.implementations.drivers.scheduler import traits
from queue_conformance.suites.outcomes import RuleBroken
from queue_conformance.suites.programs import Experiment, Play, Player, Program, always, drop


def _without_reopening(play: Play) -> Program:
    return tuple(operation._replace(name="calm") if operation.name == "reopen" else operation for operation in play.played)


def _after_reopening(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    if failure.rule == "scheduler.enqueue.duplicate":
        return "scheduler.resume.seen"
    return None if failure.rule in ("scheduler.resume.no-dup", "scheduler.len") else "scheduler.resume.all"


def _without_repeats(play: Play) -> Program:
    """Leave out the requests that were rejected."""
    return play.without("enqueue", False)


def _after_repeats(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    counted = failure.rule.endswith(("stats", "-stat", "duplicate", "seen", "bool"))
    return None if counted else "scheduler.enqueue.false"


def _without_fallbacks(play: Play) -> Program:
    """Leave out the requests that end up in memory."""
    kept = (operation for operation in play.played if operation.name != "transient")
    return tuple(operation for operation in kept if operation.name != "enqueue" or not traits(operation.item).refused)


def _after_fallbacks(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    return "scheduler.enqueue.fallback-once" if failure.rule == "scheduler.enqueue.disk-first" else None


EXPERIMENTS = (
    Experiment(_without_fallbacks, _after_fallbacks),
    Experiment(_without_repeats, _after_repeats),
    Experiment(drop("breakage"), always("scheduler.enqueue.other-propagates")),
    Experiment(drop("transient"), always("scheduler.enqueue.fallback-transient")),
    Experiment(drop("silence"), always("scheduler.next.outage")),
    Experiment(drop("pending"), always("scheduler.pending.pure")),
    Experiment(drop("length"), always("scheduler.len")),
    Experiment(_without_reopening, _after_reopening),
)
