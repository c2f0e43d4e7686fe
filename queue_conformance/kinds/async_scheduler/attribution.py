"""Which rule a failing command sequence of asynchronous schedulers belongs to."""

from __future__ import annotations

from queue_conformance.engine.ablation import Ablation, drop, replace
from queue_conformance.engine.runner import Run
from queue_conformance.engine.sequences import Commands

CLOSES = (
    "ascheduler.add.closed",
    "ascheduler.get.closed",
    *(f"ascheduler.close.{what}" for what in ("waiters", "queue", "join")),
)
JOINS = ("ascheduler.join", "ascheduler.close.join")


def _without_duplicates(run: Run) -> Commands:
    """Leave out the adds of what was added before."""
    added: set[int] = set()
    kept = []
    for command in run.commands:
        if command.name == "reopen":
            added.clear()
        if command.name != "add" or command.argument not in added:
            kept.append(command)
        if command.name == "add":
            added.add(command.argument)
    return tuple(kept)


ABLATIONS = (
    Ablation(_without_duplicates, "ascheduler.add.dedupe"),
    # Over a queue that answers at once nothing is lost; what close does stays what it is.
    Ablation(replace("reopen", argument=0), lambda _runner, _run, failure: failure.rule, of=CLOSES),
    Ablation(replace("reopen", argument=0), "ascheduler.get.no-lost-wakeup", unless=CLOSES),
    # Cancellations, unless the same fails without the consumers.
    Ablation((drop("cancel"), drop("cancel", "get")), "ascheduler.add.direct-cancel"),
    Ablation(drop("join"), "ascheduler.idle-running", unless=JOINS),
)
