"""The machine of queues."""

from __future__ import annotations

from queue_conformance.specification import Kind
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.machine import explore
from queue_conformance.suites.programs import Operation
from queue_conformance.suites.queues.pair import player, unstorable

ITEMS = 6
"""Different items that programs push, to each queue."""


def operations(bench: Bench) -> list[Operation]:
    """Return what programs are drawn from, simple operations first; pushes and pops are the most frequent."""
    pushes = [Operation("push", 0, item) for item in range(ITEMS)]
    table = [*pushes, Operation("pop"), Operation("length"), Operation("truth")]
    if bench.offers("peek"):
        table.append(Operation("peek"))
    if bench.offers("persistent"):
        table.append(Operation("reopen"))
    if bench.offers("clear"):
        table.append(Operation("clear"))
    table += [Operation("push_refused", 0, cause) for cause, _ in enumerate(unstorable(bench))]
    if bench.implementation.kind is Kind.DOWNSTREAM_QUEUE or bench.offers("persistent"):
        table += [Operation("push", 1, 0), Operation("push", 1, 1), Operation("pop", 1)]
    return [*table, *pushes, *[Operation("pop")] * 8]


@check(
    "queue.push.accept",
    "queue.push.duplicates",
    "queue.push.failed-no-trace",
    "queue.pop.exactly-once",
    "queue.pop.empty-none",
    "queue.pop.fifo",
    "queue.pop.lifo",
    "queue.pop.order-reopen",
    "queue.peek.equals-pop",
    "queue.peek.no-effect",
    "queue.peek.then-push",
    "queue.peek.empty-none",
    "queue.len.count",
    "queue.len.truth",
    "queue.len.pop-none",
    "queue.ctor.key-isolation",
    "queue.ctor.stored-length",
    "queue.persist.reopen",
    "queue.persist.partial",
    "queuelib.clear",
    name="machine",
)
def drawn_programs(bench: Bench) -> None:
    explore(bench, player(bench), operations(bench), needed=("push", "pop"))
