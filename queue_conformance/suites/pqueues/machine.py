"""The machine of Scrapy's priority queues."""

from __future__ import annotations

from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.machine import explore
from queue_conformance.suites.pqueues.common import KINDS
from queue_conformance.suites.pqueues.pair import player


@check(
    "pq.push.failed-no-trace",
    "pq.pop.order",
    "pq.pop.tie-downstream",
    "pq.pop.tie-start-last",
    "pq.pop.start-order",
    "pq.pop.start-priority",
    "pq.pop.exactly-once",
    "pq.pop.empty-none",
    "pq.pop.none-only-empty",
    "pq.pop.transient",
    "pq.peek.equals-pop",
    "pq.peek.no-effect",
    "pq.peek.empty-none",
    "pq.len.sum",
    "pq.len.truth",
    "pq.close.state",
    "pq.close.state-nonempty",
    "pq.close.empty-falsy",
    "pq.resume.all",
    "pq.resume.stale",
    "pq.slot.least-active",
    kinds=KINDS,
    name="machine",
)
def drawn_programs(bench: Bench) -> None:
    explore(player(bench), needed=("push", "pop"))
