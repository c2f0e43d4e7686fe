"""The machine of asynchronous queues: several producers and consumers, cancelled anywhere."""

from __future__ import annotations

from queue_conformance.suites import check
from queue_conformance.suites.aqueues.common import ASYNC
from queue_conformance.suites.aqueues.getting import REAL
from queue_conformance.suites.aqueues.pair import player
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.machine import SHRINKING, explore


@check(
    "aqueue.put.accept",
    "aqueue.put.failed-no-trace",
    "aqueue.put.cancelled-no-trace",
    "aqueue.put.closed",
    "aqueue.order.priority",
    "aqueue.order.fifo",
    "aqueue.get.blocks",
    "aqueue.get.close-wakes",
    "aqueue.get.closed-drains",
    "aqueue.get.cancel-safe",
    "aqueue.get.concurrent",
    "aqueue.bound.limit",
    "aqueue.bound.full-signal",
    "aqueue.bound.usable",
    "aqueue.size",
    "aqueue.clear",
    "aqueue.persist.reopen",
    kinds=ASYNC,
    name="machine",
)
def drawn_programs(bench: Bench) -> None:
    shrinking = SHRINKING
    if not bench.driver.simulated:
        shrinking = 3
        bench.notes.append(REAL.format("tasks went on"))
        bench.examples = min(bench.examples, 15)
    explore(player(bench), ("put", "get"), shrinking)
