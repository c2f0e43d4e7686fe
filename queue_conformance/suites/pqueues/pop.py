"""Checks of pop: the order of requests, and of len, which goes with it."""

from __future__ import annotations

from queue_conformance.engine.lockstep import run, run_each
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.pqueues.common import KINDS, need_start_queues


@check("pq.pop.order", kinds=KINDS)
def higher_priorities_come_first(bench: Bench) -> None:
    run_each(bench, ["push:0 push:4 push:2 push:0 push:2 pop pop pop pop pop", "push:9 push:10 push:4 push:5 push:7"])


@check("pq.pop.tie-downstream", kinds=KINDS)
def the_downstream_queue_orders_equal_priorities(bench: Bench) -> None:
    text = "push:0 push:0 push:0 pop push:0 push:0 pop pop pop pop"
    run(bench, text)
    run(bench, text, furnish=lambda driver: driver.furnish("FifoQueue", "FifoQueue", keeps=False), lifo=False)


@check("pq.pop.tie-start-last", kinds=KINDS)
def start_requests_come_last_at_equal_priority(bench: Bench) -> None:
    need_start_queues(bench)
    run(bench, "push:1 push:0 push:1 push:0 pop pop push:0 pop pop pop")


@check("pq.pop.start-order", kinds=KINDS)
def the_start_queue_orders_start_requests(bench: Bench) -> None:
    need_start_queues(bench)
    run(bench, "push:1 push:1 push:1 pop push:1 pop push:0 pop pop pop")


@check("pq.pop.start-priority", kinds=KINDS)
def start_requests_of_higher_priority_come_first(bench: Bench) -> None:
    need_start_queues(bench)
    run(bench, "push:0 push:3 push:4 push:1 push:3 pop pop pop pop pop")


@check("pq.pop.late-higher", kinds=KINDS)
def a_higher_priority_comes_first_though_it_is_late(bench: Bench) -> None:
    rule = "pq.pop.late-higher"
    run_each(bench, ["push:0 push:0 pop push:2 pop pop", "push:4 push:4 pop push:3 push:0 pop pop pop"])
    bench.examined[rule] += rule not in bench.broken


@check("pq.pop.exactly-once", kinds=KINDS)
def every_request_comes_once(bench: Bench) -> None:
    texts = (
        "push:0 push:1 push:5 push:2 push:9 pop pop push:8 push:3 pop pop pop push:0 push:6 pop pop pop",
        "push:0 pop push:0 pop push:1 pop push:1 pop push:2 push:2 pop pop",
    )
    run_each(bench, texts)


@check("pq.pop.empty-none", kinds=KINDS)
def nothing_comes_from_an_empty_queue(bench: Bench) -> None:
    run_each(bench, ("pop pop push:0 pop pop pop push:1 push:2 pop pop pop", "reopen_stale pop push:0 pop pop"))


@check("pq.pop.none-only-empty", kinds=KINDS)
def something_comes_while_something_is_there(bench: Bench) -> None:
    texts = (
        "push:4 push:0 push:2 pop pop push:1 pop pop pop",
        "push:1 push:0 push:3 pop pop push:3 pop pop",
        "push:0 push:5 push:9 pop push:4 pop pop push:8 pop pop",
    )
    run_each(bench, texts)


@check("pq.len.sum", kinds=KINDS)
def length_counts_all_requests(bench: Bench) -> None:
    run(
        bench,
        "length push:0 length push:1 push:5 length pop length push:2 push:9 length pop pop pop length pop pop length",
    )


@check("pq.len.truth", kinds=KINDS)
def truth_is_false_when_empty(bench: Bench) -> None:
    run_each(bench, ("truth push:1 truth push:5 pop truth pop truth push:2 truth", "push:0 truth pop pop truth"))
