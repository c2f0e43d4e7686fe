"""Checks of peek."""

from __future__ import annotations

from queue_conformance.engine import registry
from queue_conformance.engine.bench import Bench
from queue_conformance.engine.check import check
from queue_conformance.kinds.priority_queue.common import KINDS


@check(
    "pq.peek.equals-pop",
    kinds=KINDS,
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
def peek_shows_what_pop_returns(play, sequence):
    play(sequence)


@check(
    "pq.peek.no-effect",
    kinds=KINDS,
    sequence=(
        "push:0 push:0 push:2 peek peek length pop peek truth pop peek push:4 peek pop pop",
        "push:1 push:1 peek pop peek peek length pop peek length pop",
    ),
)
def peek_changes_nothing(play, sequence):
    play(sequence)


@check(
    "pq.peek.empty-none",
    kinds=KINDS,
    sequence=(
        "peek peek push:0 pop peek push:1 push:2 pop pop peek",
        "push:1 pop peek push:5 pop peek",
        "push:0 push:9 pop pop peek",
    ),
)
def peek_finds_nothing_in_an_empty_queue(play, sequence):
    play(sequence)


@registry.check("pq.peek.unsupported", kinds=KINDS)
def peek_says_that_it_is_not_supported(bench: Bench) -> None:
    rule = "pq.peek.unsupported"
    for downstream in ("UnpeekableQueue", "BareQueue"):
        with bench.collecting():
            bench.restart()
            bench.driver.furnish(downstream, downstream, keeps=False)
            queue = bench.open()
            queue.push(bench.driver.item(0))
            bench.expect_raises(rule, (NotImplementedError,), queue.peek, why=f", as a {downstream} cannot peek")
