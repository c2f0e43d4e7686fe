"""How failures of asynchronous queues are attributed: what changes if something is left out of the program."""

from __future__ import annotations

from collections.abc import Callable

from queue_conformance.suites.outcomes import RuleBroken
from queue_conformance.suites.programs import Experiment, Operation, Play, Player, Program, drop, program

_ATONCE = {"start_put": "put", "start_get": "get"}
_CONTROL = ("tick", "run_job", "deliver", "settle")


def one_after_another(play: Play) -> Program:
    """Let every put and get end before the next one begins."""
    kept = (o._replace(name=_ATONCE.get(o.name, o.name)) for o in play.played if o.name not in _CONTROL)
    return tuple(kept)


def without_reopening(play: Play) -> Program:
    """Do not close and open again; what is closed at last stays closed."""
    last = max((number for number, o in enumerate(play.played) if o.name == "reopen"), default=-1)
    kept = (o for number, o in enumerate(play.played) if o.name != "close" or number > last)
    return tuple(Operation("size") if o.name == "reopen" else o for o in kept)


def without_late_puts(play: Play) -> Program:
    """Put nothing into a closed queue."""
    kept, closed = [], False
    for operation in play.played:
        closed = operation.name == "close" or (closed and operation.name != "reopen")
        if not closed or operation.name not in ("put", "start_put"):
            kept.append(operation)
    return tuple(kept)


PUT_RETURNS = "put returns"
"""What is expected of a put for which there is room."""

GET_ENDS = "get ends when the queue is closed"
"""What is expected of a get that finds a closed queue empty."""

USABLE = "aqueue.bound.usable"

_CLOSED = ("aqueue.put.closed", "aqueue.get.close-wakes", "aqueue.get.closed-drains")

_UNMOVED = ("aqueue.order.priority", "aqueue.order.fifo", "aqueue.bound.full-signal", "aqueue.bound.limit")
"""What is broken where it shows, whatever else a program does."""


def _cancelling(cancelled: str, begun: str, otherwise: str) -> Experiment:
    """Return what blames cancellations, unless the same fails without the tasks that were cancelled."""

    def rule(player: Player, play: Play, failure: RuleBroken) -> str | None:
        without_tasks = drop(cancelled, begun)(play)
        return otherwise if failure.rule not in _UNMOVED and player.passes(without_tasks, play.queues) else None

    return Experiment(drop(cancelled), rule)


def _after_clearing(player: Player, play: Play, failure: RuleBroken) -> str | None:
    """Blame clear, unless the same fails without all that was cleared."""
    last = max(number for number, operation in enumerate(play.played) if operation.name == "clear")
    before = [operation for operation in play.played[:last] if operation.name not in ("put", "start_put", "clear")]
    without = (*before, *play.played[last + 1 :])
    kept = (*_UNMOVED, *_CLOSED, USABLE)
    return "aqueue.clear" if failure.rule not in kept and player.passes(without) else None


def _but(*kept: str, otherwise: str) -> Callable[[Player, Play, RuleBroken], str | None]:
    """Return what names a rule for every failure but those of some rules, which stay what they are."""

    def rule(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
        return None if failure.rule in kept else otherwise

    return rule


def _after_limiting(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    """A bound matters: has this put failed, or did one that was refused before leave something behind?"""
    if failure.rule in (*_UNMOVED, *_CLOSED, USABLE):
        return None
    return USABLE if failure.expected == PUT_RETURNS else "aqueue.put.failed-no-trace"


AGAIN = 2
"""How often a program without its reopenings must pass again, since an order may be right by chance."""


def _after_reopening(player: Player, play: Play, failure: RuleBroken) -> str | None:
    kept = ("aqueue.bound.full-signal", "aqueue.bound.limit", "aqueue.put.closed", "aqueue.get.close-wakes")
    if failure.rule in kept or failure.expected == GET_ENDS:
        return None
    if failure.rule == "aqueue.order.fifo":
        player.passes(program("put:0 " * 8))  # which keeps the failure on the bench, if there is no order at all
        if failure.rule in player.bench.broken:
            return None
    steady = all(player.passes(without_reopening(play), play.queues) for _ in range(AGAIN))
    return "aqueue.persist.reopen" if steady else None


EXPERIMENTS = (
    _cancelling("cancel_get", "start_get", "aqueue.get.cancel-safe"),
    _cancelling("cancel_put", "start_put", "aqueue.put.cancelled-no-trace"),
    Experiment(drop("clear"), _after_clearing),
    Experiment(without_late_puts, _but(*_UNMOVED, otherwise="aqueue.put.closed")),
    Experiment(without_reopening, _after_reopening),
    Experiment(
        drop("close"),
        _but(*_UNMOVED, *_CLOSED, otherwise="aqueue.get.closed-drains"),
    ),
    Experiment(
        one_after_another,
        _but(*_UNMOVED, "aqueue.get.blocks", *_CLOSED, otherwise="aqueue.get.concurrent"),
    ),
    Experiment(drop("size"), _but(*_UNMOVED, otherwise="aqueue.size")),
    Experiment(drop("limit"), _after_limiting),
)
