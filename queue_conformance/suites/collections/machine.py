"""The machines of queuelib's queues of queues."""

from __future__ import annotations

from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.collections.common import BY_PRIORITY, BY_TURNS
from queue_conformance.suites.collections.pair import player
from queue_conformance.suites.machine import explore

_COMMON = (
    "queue.push.accept",
    "queue.push.failed-no-trace",
    "queue.pop.exactly-once",
    "queue.pop.empty-none",
    "queue.peek.no-effect",
    "queue.peek.empty-none",
    "queue.len.count",
    "queue.len.truth",
    "queue.len.pop-none",
)


@check(
    *_COMMON,
    "queue.peek.equals-pop",
    "queuelib.pq.order",
    "queuelib.pq.close",
    "queuelib.pq.startprios",
    "queuelib.pq.clear",
    kinds=BY_PRIORITY,
    name="machine",
)
def drawn_programs_by_priority(bench: Bench) -> None:
    explore(player(bench), needed=("push", "pop"))


@check(
    *_COMMON,
    "queuelib.rr.cycle",
    "queuelib.rr.peek",
    "queuelib.rr.peek-empty",
    "queuelib.rr.close",
    "queuelib.clear",
    kinds=BY_TURNS,
    name="machine",
)
def drawn_programs_by_turns(bench: Bench) -> None:
    explore(player(bench), needed=("push", "pop"))
