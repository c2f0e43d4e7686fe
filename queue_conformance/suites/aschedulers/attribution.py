"""Which rule a failing program on a scheduler breaks."""

from __future__ import annotations

from queue_conformance.suites.outcomes import RuleBroken
from queue_conformance.suites.programs import Experiment, Play, Player, Program, always, drop

LOST = "ascheduler.get.no-lost-wakeup"
"""The rule on requests that wait beside a consumer."""


def _without_duplicates(play: Play) -> Program:
    """Leave out the adds of what was added before."""
    seen: set[int] = set()
    kept = []
    for operation in play.played:
        if operation.name == "reopen":
            seen.clear()
        if operation.name != "add" or operation.item not in seen:
            kept.append(operation)
        if operation.name == "add":
            seen.add(operation.item)
    return tuple(kept)


def _over_memory(play: Play) -> Program:
    """Let all queues be those that answer at once."""
    return tuple(operation._replace(item=0) if operation.name == "reopen" else operation for operation in play.played)


def _after_cancelling(player: Player, play: Play, _failure: RuleBroken) -> str | None:
    """Blame cancellations, unless the same fails without the consumers."""
    return "ascheduler.add.direct-cancel" if player.passes(drop("cancel", "get")(play)) else None


def _after_joining(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    return None if ".join" in failure.rule else "ascheduler.idle-running"


EXPERIMENTS = (
    Experiment(_without_duplicates, always("ascheduler.add.dedupe")),
    Experiment(_over_memory, lambda _player, _play, failure: failure.rule if "close" in failure.rule else LOST),
    Experiment(drop("cancel"), _after_cancelling),
    Experiment(drop("join"), _after_joining),
)
