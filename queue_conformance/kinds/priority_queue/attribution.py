"""Which rule a failing command sequence of priority queues belongs to."""

from __future__ import annotations

from collections.abc import Mapping

from queue_conformance.engine.ablation import Ablation, Change, chain, drop, replace
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.runner import Run, Runner
from queue_conformance.engine.sequences import Commands

ORDERS = ("pq.pop.order", "pq.pop.start-priority")
NAMES = ("pq.close.state-nonempty",)
LOSSES = ("pq.pop.exactly-once", "pq.pop.empty-none", "pq.len.sum", "pq.len.truth")

FACTORS: Mapping[str, Change] = {
    "pq.resume.stale": replace("reopen_stale", name="reopen"),
    "pq.push.failed-no-trace": drop("push_refused", always=True),
    "pq.pop.transient": drop("pop_none", always=True),
}
"""By the rule that fails if one of them matters, how to do without what not every sequence uses."""


def _pushes_first(run: Run) -> Commands:
    """Push everything before anything else happens."""
    return tuple(sorted(run.commands, key=lambda command: command.name != "push"))


def _all_but(kept: str) -> Change:
    """Return the change that leaves out all factors but one."""
    return chain(*(change for rule, change in FACTORS.items() if rule != kept))


def _factor_that_matters(runner: Runner, run: Run, failure: RuleFailed) -> str | None:
    """Name the first factor that fails alone; a mistake needs no other one, but two mistakes may hide each other."""

    def cures(change: Change) -> bool:
        return runner.cures(change(run), tuple(run.subjects))

    if failure.rule in NAMES:  # whether a failed push is named, or something that was used before
        return None if cures(_all_but("pq.push.failed-no-trace")) else "pq.push.failed-no-trace"
    alone = (rule for rule in FACTORS if not cures(_all_but(rule)))
    needed = [rule for rule, change in FACTORS.items() if cures(change)]
    used = [rule for rule, change in FACTORS.items() if change(run) != tuple(run.commands)]
    known = (rule for rule in (*needed, *used) if rule in runner.known)
    found = next(alone, None) or next(known, None) or next(iter(needed), None)
    if found == "pq.pop.transient" and failure.rule in ORDERS and cures(_pushes_first):
        return "pq.pop.late-higher"  # a pop is a pop, whatever it returns
    if found == "pq.push.failed-no-trace" and failure.rule in LOSSES:
        return "pq.push.refused-no-loss"
    return found


ABLATIONS = (
    Ablation(_all_but(""), _factor_that_matters, choices=(*FACTORS, "pq.push.refused-no-loss")),
    Ablation(drop("peek"), "pq.peek.no-effect"),
    Ablation(drop("length", "truth"), "pq.len.sum", unless=("pq.len.sum", "pq.len.truth")),
    Ablation(replace("reopen", name="reopen_unsaved"), "pq.close.state", unless=NAMES),
    Ablation(replace(("reopen", "reopen_stale", "reopen_unsaved"), name="length"), "pq.resume.all", unless=NAMES),
    Ablation(_pushes_first, "pq.pop.late-higher", of=ORDERS),
)
