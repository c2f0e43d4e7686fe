"""Which rule a failing program of queues belongs to: the experiments of this suite."""

from __future__ import annotations

from queue_conformance.implementations.capabilities import Order
from queue_conformance.suites.outcomes import RuleBroken
from queue_conformance.suites.programs import (
    Experiment,
    Play,
    Player,
    Program,
    always,
    drop,
    without_empty_pops,
    without_reopening,
)

ORDER_RULES = {Order.FIFO: "queue.pop.fifo", Order.LIFO: "queue.pop.lifo"}
"""The rule of each order."""

SPREAD = 100
"""Items of queue n have the numbers from n * 100, so that an item in the wrong queue is recognised."""


FAULTS = ("refuse", "reset", "cut_reply", "cut_request", "stall", "slow")
"""The operations that hurt the connection, of all queues at once."""


def _only_failing_queue(play: Play) -> Program:
    if play.at is None:
        return tuple(play.played)
    queue = play.at.queue
    everywhere = (*FAULTS, "recover")
    mine = (o._replace(queue=queue) if o.name in everywhere else o for o in play.played)
    return tuple(o for o in mine if o.queue == queue)


def _distinct(play: Play) -> Program:
    """Give every pushed item a number of its own, if an item is pushed twice."""
    pushed = [(o.queue, o.item) for o in play.played if o.name == "push"]
    if len(set(pushed)) == len(pushed):
        return tuple(play.played)
    return tuple(o._replace(item=index % SPREAD) if o.name == "push" else o for index, o in enumerate(play.played))


def _without_earlier_pops(play: Play) -> Program:
    """Leave out the pops that come before the last reopening."""
    last = max((i for i, o in enumerate(play.played) if o.name in ("reopen", "open", "close")), default=0)
    return tuple(o for i, o in enumerate(play.played) if i > last or o.name != "pop")


def _needs_reopening(player: Player, play: Play) -> bool:
    reduced = without_reopening(play)
    return reduced != tuple(play.played) and player.passes(reduced, play.queues)


def _without_earlier_peeks(play: Play) -> Program:
    last = len(play.played) - 1
    return tuple(o for i, o in enumerate(play.played) if o.name != "peek" or i == last)


def _after_peek(player: Player, play: Play, _failure: RuleBroken) -> str | None:
    """The peeks matter: do they only matter because a push follows?"""
    operations = play.played
    peeked: set[int] = set()
    following = set()
    for index, operation in enumerate(operations):
        if operation.name == "push" and operation.queue in peeked:
            following.add(index)
        elif operation.name == "peek":
            peeked.add(operation.queue)
        elif operation.name in ("pop", "clear", "close", "open", "reopen"):
            peeked.discard(operation.queue)
    reduced = tuple(o for index, o in enumerate(operations) if index not in following)
    if following and player.passes(reduced, play.queues):
        return "queue.peek.then-push"
    return None if operations[-1].name == "peek" else "queue.peek.no-effect"


def _after_duplicates(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    return None if failure.rule in ORDER_RULES.values() else "queue.push.duplicates"


def _after_refused(player: Player, play: Play, _failure: RuleBroken) -> str:
    return "queue.close.keeps" if _needs_reopening(player, play) else "queue.push.failed-no-trace"


def _after_other_queues(player: Player, play: Play, _failure: RuleBroken) -> str:
    """Other queues matter: are they mixed up when they are opened again, or are they one store anyway?"""
    isolation = "queue.ctor.key-isolation"
    return isolation if isolation in player.known or not _needs_reopening(player, play) else "queue.ctor.key-identity"


def _after_measuring(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    return None if failure.rule in _COUNT_RULES else "queue.len.count"


def _after_reopening(player: Player, play: Play, failure: RuleBroken) -> str | None:
    if failure.rule in ORDER_RULES.values():
        return "queue.pop.order-reopen"
    if failure.rule in _COUNT_RULES:
        return "queue.ctor.stored-length"
    if failure.rule != "queue.pop.exactly-once":
        return None
    earlier = _without_earlier_pops(play)
    return (
        "queue.persist.partial"
        if len(earlier) < len(play.played) and player.passes(earlier, play.queues)
        else "queue.persist.reopen"
    )


def _after_empty_pops(_player: Player, _play: Play, failure: RuleBroken) -> str | None:
    return "queue.len.pop-none" if failure.rule in _COUNT_RULES else None


_COUNT_RULES = ("queue.len.count", "queue.len.truth", "queue.ctor.stored-length")

EXPERIMENTS = (
    Experiment(_only_failing_queue, _after_other_queues, alone=True),
    Experiment(drop("push_refused"), _after_refused),
    Experiment(drop("clear"), always("queuelib.clear")),
    Experiment(_distinct, _after_duplicates),
    Experiment(_without_earlier_peeks, _after_peek),
    Experiment(drop("length", "truth"), _after_measuring),
    Experiment(without_reopening, _after_reopening),
    Experiment(without_empty_pops, _after_empty_pops),
)
