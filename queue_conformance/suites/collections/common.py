"""Checks that queuelib's queues of queues share with all queues."""

from __future__ import annotations

from queue_conformance.engine.lockstep import run
from queue_conformance.specification import Kind
from queue_conformance.suites import COLLECTIONS, check
from queue_conformance.suites.bench import Bench

BY_PRIORITY = {Kind.BYTE_PRIORITY_QUEUE}
BY_TURNS = {Kind.ROUND_ROBIN_QUEUE}


@check("queue.push.accept", kinds=COLLECTIONS)
def push_is_accepted(bench: Bench) -> None:
    run(bench, "push:0 push:1 push:2 push:3 push:4 push:0 pop push:1")


@check("queue.push.returns-none", kinds=COLLECTIONS)
def push_returns_none(bench: Bench) -> None:
    queue = bench.open()
    result = queue.push(bench.driver.item(0), bench.driver.places[0])
    bench.recorder.steps[-1].source = f"result = {bench.recorder.steps[-1].source}"
    bench.expect("queue.push.returns-none", result is None, "None", result, "result is None")


@check("queue.push.failed-no-trace", kinds=COLLECTIONS)
def failed_push_leaves_no_trace(bench: Bench) -> None:
    run(bench, "push_refused:0 length pop push:1 push_refused:2 push_refused:1 length truth pop length pop")
    run(bench, "push:0 push:1 push_refused:2 pop push_refused:0 push:2 pop length pop")


@check("queue.push.zero-length", kinds=BY_PRIORITY)
def empty_bytes_are_an_item(bench: Bench) -> None:
    rule = "queue.push.zero-length"
    with bench.recorder.blame(rule):
        queue = bench.open()
        queue.push(bench.driver.evaluate('b""'), bench.driver.places[0])
        length = queue.length()
        bench.expect(rule, length == 1, "len 1", length, "length == 1")
        popped = queue.pop()
        bench.expect(rule, popped == b"", 'b""', popped, 'popped == b""')
        length = queue.length()
        bench.expect(rule, length == 0, "len 0", length, "length == 0")


@check("queue.pop.exactly-once", kinds=COLLECTIONS)
def every_item_comes_once(bench: Bench) -> None:
    run(bench, "push:0 push:1 push:2 push:4 pop push:3 pop pop push:5 push:0 pop pop pop pop")


@check("queue.pop.empty-none", kinds=COLLECTIONS)
def nothing_comes_from_an_empty_queue(bench: Bench) -> None:
    run(bench, "pop pop push:0 pop pop pop push:1 push:2 pop pop pop")


@check("queue.peek.no-effect", kinds=COLLECTIONS)
def peek_changes_nothing(bench: Bench) -> None:
    run(bench, "push:0 push:1 push:2 peek peek length pop peek truth pop peek push:3 peek pop pop")


@check("queue.peek.empty-none", kinds=COLLECTIONS)
def peek_finds_nothing_in_an_empty_queue(bench: Bench) -> None:
    run(bench, "peek peek push:0 pop peek push:1 push:2 pop pop peek")


@check("queue.len.count", kinds=COLLECTIONS)
def length_counts_what_is_stored(bench: Bench) -> None:
    run(bench, "length push:0 length push:1 push:4 length pop length push:2 length pop pop pop length")


@check("queue.len.truth", kinds=COLLECTIONS)
def truth_is_false_when_empty(bench: Bench) -> None:
    run(bench, "truth push:0 truth push:1 pop truth pop truth push:2 truth")


@check("queue.len.pop-none", kinds=COLLECTIONS)
def popping_nothing_does_not_count(bench: Bench) -> None:
    run(bench, "pop length pop length push:0 length pop pop length push:1 length")
