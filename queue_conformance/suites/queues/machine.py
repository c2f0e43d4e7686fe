"""The machine of queues."""

from __future__ import annotations

from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.machine import explore
from queue_conformance.suites.queues.pair import player


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
    explore(player(bench), needed=("push", "pop"))
