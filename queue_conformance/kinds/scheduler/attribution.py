"""Which rule a failing command sequence of schedulers belongs to."""

from __future__ import annotations

from itertools import count

from queue_conformance.engine.ablation import Ablation, drop, replace, returned
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.runner import Run, Runner
from queue_conformance.engine.sequences import Commands
from queue_conformance.kinds.scheduler.pool import traits


def _without_fallbacks(run: Run) -> Commands:
    """Leave out the requests that end up in memory."""
    kept = (command for command in run.commands if command.name != "transient")
    return tuple(command for command in kept if command.name != "enqueue" or not traits(command.argument).refused)


PLAIN = 500
"""The number of a request that is like the first one; so are those that follow it."""


def _rejects_others(runner: Runner, run: Run, _failure: RuleFailed) -> str | None:
    """Whether as many plain requests are rejected, too, so that what is special about this one is not why."""
    numbers = count(PLAIN)
    plain = (command._replace(argument=next(numbers)) if command.name == "enqueue" else command for command in run.commands)
    failure, rule = runner.failure_of(tuple(plain)), "scheduler.enqueue.no-false-positive"
    return rule if failure is not None and failure.rule == rule else None


_OF_SPECIAL = ("scheduler.enqueue.fallback-serialization", "scheduler.enqueue.dont-filter")

_COUNTED = (
    *("scheduler.enqueue.stats", "scheduler.next.stats", "scheduler.enqueue.unserializable-stat"),
    *("scheduler.enqueue.duplicate", "scheduler.enqueue.no-false-positive", "scheduler.resume.seen", "scheduler.enqueue.bool"),
)
"""What shows the rejected requests themselves."""


ABLATIONS: tuple[Ablation, ...] = (
    Ablation((), _rejects_others, of=_OF_SPECIAL, choices=("scheduler.enqueue.no-false-positive",)),
    Ablation(_without_fallbacks, "scheduler.enqueue.fallback-once", of=["scheduler.enqueue.disk-first"]),
    Ablation(returned("enqueue", False), "scheduler.enqueue.false", unless=_COUNTED),
    Ablation(drop("breakage"), "scheduler.enqueue.other-propagates"),
    Ablation(drop("transient"), "scheduler.enqueue.fallback-transient"),
    Ablation(drop("empty_pop"), "scheduler.next.outage"),
    Ablation(drop("pending"), "scheduler.pending.pure"),
    Ablation(drop("length"), "scheduler.len"),
    Ablation(replace("reopen", name="clear_faults"), "scheduler.resume.seen", of=["scheduler.enqueue.duplicate"]),
    Ablation(
        replace("reopen", name="clear_faults"),
        "scheduler.resume.all",
        unless=("scheduler.enqueue.duplicate", "scheduler.resume.no-dup", "scheduler.len"),
    ),
    Ablation(replace("reopen", name="length"), "scheduler.resume.all", of=["scheduler.len"]),
)
