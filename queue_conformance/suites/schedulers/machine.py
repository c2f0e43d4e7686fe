"""The machines of schedulers: in memory, and with a job directory."""

from __future__ import annotations

from queue_conformance.specification import Kind
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.machine import explore
from queue_conformance.suites.outcomes import NotApplicable
from queue_conformance.suites.schedulers.pair import player

SCHEDULERS = {Kind.SCHEDULER}

_COMMON = (
    "scheduler.enqueue.true",
    "scheduler.enqueue.false",
    "scheduler.enqueue.answers",
    "scheduler.enqueue.bool",
    "scheduler.enqueue.duplicate",
    "scheduler.enqueue.dont-filter",
    "scheduler.enqueue.stats",
    "scheduler.next.stats",
    "scheduler.next.roundtrip",
    "scheduler.next.none-empty",
    "scheduler.next.no-spurious-none",
    "scheduler.next.priority",
    "scheduler.pending.exact",
    "scheduler.pending.pure",
    "scheduler.len",
)


@check(
    *_COMMON,
    "scheduler.enqueue.disk-first",
    "scheduler.enqueue.fallback-serialization",
    "scheduler.enqueue.fallback-transient",
    "scheduler.enqueue.other-propagates",
    "scheduler.enqueue.unserializable-stat",
    "scheduler.next.memory-first",
    "scheduler.next.outage",
    "scheduler.resume.all",
    "scheduler.resume.seen",
    "scheduler.resume.no-dup",
    kinds=SCHEDULERS,
    name="machine",
)
def drawn_programs(bench: Bench) -> None:
    explore(player(bench), needed=("enqueue", "next"))


@check(*_COMMON, kinds=SCHEDULERS, name="machine-in-memory")
def drawn_programs_in_memory(bench: Bench) -> None:
    if not bench.offers("persistent"):
        raise NotApplicable("it is all that the machine examines")
    bench.examples = max(1, bench.examples // 2)
    explore(player(bench, job=False), needed=("enqueue", "next"))
