"""The machine of asynchronous schedulers."""

from __future__ import annotations

from queue_conformance.suites import check
from queue_conformance.suites.aschedulers.pair import player
from queue_conformance.suites.aschedulers.scene import KINDS
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.machine import explore


@check(
    "ascheduler.add.forms",
    "ascheduler.add.dedupe",
    "ascheduler.add.closed",
    "ascheduler.add.direct",
    "ascheduler.add.direct-fifo",
    "ascheduler.add.direct-cancel",
    "ascheduler.get.order",
    "ascheduler.get.waits",
    "ascheduler.get.no-lost-wakeup",
    "ascheduler.get.closed",
    "ascheduler.close.waiters",
    "ascheduler.close.queue",
    "ascheduler.close.join",
    "ascheduler.join",
    "ascheduler.task-done.extra",
    "ascheduler.task-done.early",
    "ascheduler.stats.keys",
    "ascheduler.stats.pending",
    "ascheduler.qsize",
    "ascheduler.retry",
    kinds=KINDS,
    name="machine",
)
def drawn_programs(bench: Bench) -> None:
    explore(player(bench), needed=("add", "get", "cancel", "join", "close", "reopen"))
