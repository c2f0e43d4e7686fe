"""Checks of pop: the order of requests, and of len, which goes with it."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.priority_queue.script_support import FifoQueue


@check(
    "pq.pop.order",
    sequence=("push:0 push:4 push:2 push:0 push:2 pop pop pop pop pop", "push:9 push:10 push:4 push:5 push:7"),
)
def higher_priorities_come_first(run, sequence):
    run(sequence)


@check("pq.pop.tie-downstream")
def the_downstream_queue_orders_equal_priorities(run):
    sequence = "push:0 push:0 push:0 pop push:0 push:0 pop pop pop pop"
    run(sequence)
    run(sequence, configure=lambda driver: driver.configure(FifoQueue, FifoQueue, keeps=False), lifo=False)


@check("pq.pop.tie-start-last")
def start_requests_come_last_at_equal_priority(start_queues, run):
    run("push:1 push:0 push:1 push:0 pop pop push:0 pop pop pop")


@check("pq.pop.start-order")
def the_start_queue_orders_start_requests(start_queues, run):
    run("push:1 push:1 push:1 pop push:1 pop push:0 pop pop pop")


@check("pq.pop.start-priority")
def start_requests_of_higher_priority_come_first(start_queues, run):
    run("push:0 push:3 push:4 push:1 push:3 pop pop pop pop pop")


@check(
    "pq.pop.late-higher",
    sequence=("push:0 push:0 pop push:2 pop pop", "push:4 push:4 pop push:3 push:0 pop pop pop"),
)
def a_higher_priority_comes_first_though_it_is_late(context, run, sequence, rule):
    run(sequence)
    context.covered[rule] += 1


@check(
    "pq.pop.exactly-once",
    sequence=(
        "push:0 push:1 push:5 push:2 push:9 pop pop push:8 push:3 pop pop pop push:0 push:6 pop pop pop",
        "push:0 pop push:0 pop push:1 pop push:1 pop push:2 push:2 pop pop",
    ),
)
def every_request_comes_once(run, sequence):
    run(sequence)


@check(
    "pq.pop.empty-none",
    sequence=("pop pop push:0 pop pop pop push:1 push:2 pop pop pop", "reopen_stale pop push:0 pop pop"),
)
def nothing_comes_from_an_empty_queue(run, sequence):
    run(sequence)


@check(
    "pq.pop.none-only-empty",
    sequence=(
        "push:4 push:0 push:2 pop pop push:1 pop pop pop",
        "push:1 push:0 push:3 pop pop push:3 pop pop",
        "push:0 push:5 push:9 pop push:4 pop pop push:8 pop pop",
    ),
)
def something_comes_while_something_is_there(run, sequence):
    run(sequence)


@check("pq.len.sum")
def length_counts_all_requests(run):
    run("length push:0 length push:1 push:5 length pop length push:2 push:9 length pop pop pop length pop pop length")


@check(
    "pq.len.truth",
    sequence=("truth push:1 truth push:5 pop truth pop truth push:2 truth", "push:0 truth pop pop truth"),
)
def truth_is_false_when_empty(run, sequence):
    run(sequence)
