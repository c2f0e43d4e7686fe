"""Which rule a failing command sequence of queues belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from queue_conformance.engine.ablation import Ablation, but_last, drop, replace, returned
from queue_conformance.engine.runner import Run
from queue_conformance.engine.sequences import Command, Commands
from queue_conformance.implementation.capabilities import Order

RULES: Mapping[str, str] = {
    "push": "queue.push.accept",
    "pop": "queue.pop.exactly-once",
    "peek": "queue.peek.equals-pop",
    "len": "queue.len.count",
    "bool": "queue.len.truth",
    "clear": "queuelib.clear",
    "close": "queue.close.releases",
}
"""The rule that fails if an operation raises, or does not return."""

WHERE_SHARED = {"queue.push.accept": "queue.pop.exactly-once"} | dict.fromkeys(
    ("queue.len.count", "queue.len.pop-none", "queue.ctor.stored-length"), "queue.len.truth"
)
"""The rules that fail instead of those that do not apply to shared queues, where a length is outdated at once."""

ORDER_RULES = {Order.FIFO: "queue.pop.fifo", Order.LIFO: "queue.pop.lifo"}
"""The rule of each order."""

SPREAD = 100
"""Items of queue n have the numbers from n * 100, so that an item in the wrong queue is recognised."""


FAULTS = ("refuse", "reset", "cut_reply", "cut_request", "stall", "slow")
"""The commands that hurt the connection, of all queues at once."""


def only_failing_queue(run: Run) -> Commands:
    """Leave out what is done to the other queues."""
    if run.at is None:
        return tuple(run.commands)
    queue = run.at.subject
    mine = (c._replace(subject=queue) if c.name in (*FAULTS, "recover") else c for c in run.commands)
    return tuple(c for c in mine if c.subject == queue)


without_reopening = replace(("reopen", "close", "open"), name="length")
"""Leaves out the closes, and looks at the length where the queue was closed, or opened again."""

without_clearing = replace("clear", name="length")
"""Does not clear, and looks at the length as a clear does."""


def _distinct(run: Run) -> Commands:
    """Give every pushed item a number of its own, with the same fields, if an item is pushed twice."""
    pushed = [(c.subject, c.argument) for c in run.commands if c.name == "push"]
    if len(set(pushed)) == len(pushed):
        return tuple(run.commands)
    taken: set[tuple[int, int]] = set()
    fields_of = cache(run.fields_of)

    def alike(command: Command) -> int:
        fields = fields_of(command.argument)
        free = [number for number in range(SPREAD) if (command.subject, number) not in taken]
        number = next((number for number in free if fields_of(number) == fields), free[0])
        taken.add((command.subject, number))
        return number

    return tuple(c._replace(argument=alike(c)) if c.name == "push" else c for c in run.commands)


def _without_earlier_pops(run: Run) -> Commands:
    """Leave out the pops that come before the last reopening."""
    last = max((place for place, c in enumerate(run.commands) if c.name in ("reopen", "open", "close")), default=0)
    return tuple(c for place, c in enumerate(run.commands) if place > last or c.name != "pop")


def _without_pushes_after_peek(run: Run) -> Commands:
    peeked: set[int] = set()
    kept = []
    for command in run.commands:
        if command.name in ("push", "push_refused") and command.subject in peeked:
            continue
        if command.name == "peek":
            peeked.add(command.subject)
        elif command.name in ("pop", "clear", "close", "open", "reopen"):
            peeked.discard(command.subject)
        kept.append(command)
    return tuple(kept)


ORDERS = tuple(ORDER_RULES.values())
COUNTS = ("queue.len.count", "queue.len.truth", "queue.ctor.stored-length")
LOST = ("queue.pop.exactly-once",)

ABLATIONS: tuple[Ablation, ...] = (
    # Other queues matter: are they mixed up when they are opened again, or are they one store anyway?
    Ablation((only_failing_queue, without_reopening), "queue.ctor.key-identity", alone=True),
    Ablation(only_failing_queue, "queue.ctor.key-isolation", alone=True),
    Ablation((drop("push_refused"), without_reopening), "queue.close.keeps"),
    Ablation(drop("push_refused"), "queue.push.failed-no-trace"),
    Ablation(drop("clear"), "queuelib.clear", unless=COUNTS),
    Ablation(without_clearing, "queuelib.clear", of=COUNTS),
    Ablation(_distinct, "queue.push.duplicates", unless=ORDERS),
    Ablation((but_last("peek"), _without_pushes_after_peek), "queue.peek.then-push"),
    Ablation(drop("peek"), "queue.peek.no-effect"),
    Ablation(drop("length", "truth"), "queue.len.count", unless=COUNTS),
    Ablation(without_reopening, "queue.pop.order-reopen", of=ORDERS),
    Ablation(without_reopening, "queue.ctor.stored-length", of=COUNTS),
    Ablation((without_reopening, _without_earlier_pops), "queue.persist.partial", of=LOST),
    Ablation(without_reopening, "queue.persist.reopen", of=LOST),
    Ablation(returned("pop", None), "queue.len.pop-none", of=COUNTS),
)
