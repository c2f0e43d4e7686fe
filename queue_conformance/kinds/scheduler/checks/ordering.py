"""Checks of the order that the default scheduler promises, and of what it counts."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.registry import check
from queue_conformance.kinds.scheduler.checks.storing import opened
from queue_conformance.kinds.scheduler.commands import run_everywhere
from queue_conformance.kinds.scheduler.scenes import FIFO, SCHEDULERS, case, defaults, expect_left, fill, jobs


@check("scheduler.enqueue.stats", kinds=SCHEDULERS)
def what_is_stored_is_counted(bench: Bench) -> None:
    run_everywhere(bench, "enqueue:0 enqueue:0 enqueue:15 enqueue:8 enqueue:13 next enqueue:0")


@check("scheduler.next.stats", kinds=SCHEDULERS)
def what_is_returned_is_counted(bench: Bench) -> None:
    run_everywhere(bench, "next enqueue:0 enqueue:0 enqueue:15 enqueue:8 next next next next")


@check("scheduler.next.no-spurious-none", kinds=SCHEDULERS)
def something_comes_while_something_is_pending(bench: Bench) -> None:
    # A request that the disk queue refuses: on a slot, a priority, and among start requests, where there is nothing else.
    for text in ("enqueue:0 enqueue:24 next next", "enqueue:8 enqueue:15 next next", "enqueue:0 enqueue:17 next next"):
        run(bench, text)


@check("scheduler.next.memory-first", kinds=SCHEDULERS)
def memory_comes_before_disk(bench: Bench) -> None:
    for on_disk, in_memory in ((0, 15), (3, 17), (8, 18)):
        with case(bench):
            scheduler = opened(bench)
            fill(bench, scheduler, on_disk, in_memory)
            expect_left(bench, "scheduler.next.memory-first", scheduler, [in_memory, on_disk])


@check("scheduler.next.priority-across", kinds=SCHEDULERS)
def priority_counts_across_memory_and_disk(bench: Bench) -> None:
    scheduler = opened(bench)
    fill(bench, scheduler, 15, 3)
    expect_left(bench, "scheduler.next.priority-across", scheduler, [3, 15])


@check("scheduler.next.default-order", kinds=SCHEDULERS)
def start_requests_come_last_and_in_order(bench: Bench) -> None:
    for job in jobs(bench):
        with case(bench):
            scheduler = bench.open(defaults(bench), job=job)
            fill(bench, scheduler, 0, 8, 1, 9, 2, 10)
            expect_left(bench, "scheduler.next.default-order", scheduler, [2, 1, 0, 8, 9, 10])


@check("scheduler.next.fifo-settings", kinds=SCHEDULERS)
def fifo_queues_give_fifo_order(bench: Bench) -> None:
    for job in jobs(bench):
        with case(bench):
            scheduler = bench.open({**defaults(bench), **FIFO}, job=job)
            fill(bench, scheduler, 0, 1, 2)
            expect_left(bench, "scheduler.next.fifo-settings", scheduler, [0, 1, 2])


@check("scheduler.next.start-none", kinds=SCHEDULERS)
def start_requests_can_be_like_all_others(bench: Bench) -> None:
    names = ("SCHEDULER_START_DISK_QUEUE", "SCHEDULER_START_MEMORY_QUEUE")
    for job in jobs(bench):
        for nothing in ("None", '""'):
            with case(bench), bench.recorder.blame("scheduler.next.start-none"):
                scheduler = bench.open({**defaults(bench), **dict.fromkeys(names, nothing)}, job=job)
                fill(bench, scheduler, 0, 8, 1)
                expect_left(bench, "scheduler.next.start-none", scheduler, [1, 8, 0])
