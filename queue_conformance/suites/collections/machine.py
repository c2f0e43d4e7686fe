"""The machines of queuelib's queues of queues."""

from __future__ import annotations

from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.collections.common import BY_PRIORITY, BY_TURNS
from queue_conformance.suites.collections.pair import player
from queue_conformance.suites.machine import explore
from queue_conformance.suites.programs import Operation

ITEMS = 8
"""Different items that programs push; their numbers decide their priorities or keys."""

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


def operations(bench: Bench) -> list[Operation]:
    """Return what programs are drawn from, simple operations first; pushes and pops are the most frequent."""
    pushes = [Operation("push", 0, item) for item in range(ITEMS)]
    table = [*pushes, Operation("pop"), Operation("length"), Operation("truth"), Operation("reopen")]
    table += [Operation(name) for name in ("peek", "clear") if bench.offers(name)]
    table += [Operation("push_refused", 0, item) for item in range(2)]
    return [*table, *[Operation("pop")] * 5]


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
    explore(bench, player(bench), operations(bench), needed=("push", "pop"))


@check(
    *_COMMON,
    "queuelib.rr.cycle",
    "queuelib.rr.peek",
    "queuelib.rr.close",
    "queuelib.clear",
    kinds=BY_TURNS,
    name="machine",
)
def drawn_programs_by_turns(bench: Bench) -> None:
    explore(bench, player(bench), operations(bench), needed=("push", "pop"))
