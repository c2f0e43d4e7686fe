"""Checks of peek."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.priority_queue.script_support import BareQueue, UnpeekableQueue


@check(
    "pq.peek.equals-pop",
    sequence=(
        "push:0 peek pop push:4 push:2 push:0 peek pop peek pop push:0 peek pop peek pop",
        "push:1 push:0 peek pop peek pop",
        "push:3 push:0 push:1 pop peek pop peek pop",
        "push:3 push:0 push:2 peek pop peek pop peek pop",
        "push:2 push:1 pop peek peek pop",
        "push:0 push:3 push:8 pop peek pop peek pop",
        "push:0 push:5 push:10 peek pop peek pop peek pop",
        "activity:8 push:0 push:5 peek pop activity:4 peek pop",
    ),
)
def peek_shows_what_pop_returns(run, sequence):
    run(sequence)


@check(
    "pq.peek.no-effect",
    sequence=(
        "push:0 push:0 push:2 peek peek length pop peek truth pop peek push:4 peek pop pop",
        "push:1 push:1 peek pop peek peek length pop peek length pop",
    ),
)
def peek_changes_nothing(run, sequence):
    run(sequence)


@check(
    "pq.peek.empty-none",
    sequence=(
        "peek peek push:0 pop peek push:1 push:2 pop pop peek",
        "push:1 pop peek push:5 pop peek",
        "push:0 push:9 pop pop peek",
    ),
)
def peek_finds_nothing_in_an_empty_queue(run, sequence):
    run(sequence)


@check("pq.peek.unsupported", downstream=(UnpeekableQueue, BareQueue))
def peek_says_that_it_is_not_supported(use_queues, open_queue, request, raises, downstream):
    use_queues(downstream, downstream, keeps=False)
    queue = open_queue()
    queue.push(request())
    with raises(NotImplementedError, because=f", as a {downstream.__name__} cannot peek"):
        queue.peek()
