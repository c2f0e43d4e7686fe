"""Checks of peek."""

from __future__ import annotations

from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench, must_raise
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.construction import REQUESTS_ONLY
from queue_conformance.suites.queues.pair import run


@check("queue.peek.equals-pop")
def peek_shows_what_pop_returns(bench: Bench) -> None:
    run(bench, program("push:0 peek pop push:1 push:2 push:3 peek pop peek pop push:4 peek pop peek pop peek"))


@check("queue.peek.no-effect")
def peek_changes_nothing(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 peek length peek truth peek pop peek peek length pop pop"))
    run(bench, program("push:0 push:1 peek reopen peek pop peek reopen pop peek"))


@check("queue.peek.then-push")
def push_after_peek_keeps_everything(bench: Bench) -> None:
    run(bench, program("push:0 push:1 peek push:2 pop pop pop"))
    run(bench, program("push:0 push:1 pop peek push:2 peek push:3 reopen peek push:4"))


@check("queue.peek.empty-none")
def peek_finds_nothing_in_an_empty_queue(bench: Bench) -> None:
    run(bench, program("peek peek push:0 pop peek length push:1 reopen pop peek"))


@check("queue.peek.unsupported", kinds=REQUESTS_ONLY)
def unsupported_peek_says_so(bench: Bench) -> None:
    rule = "queue.peek.unsupported"
    queue = bench.open()
    queue.push(bench.driver.item(0))
    try:
        with bench.recorder.blame(rule):
            queue.peek()
    except OperationRaised as raised:
        bench.examined[rule] += 1
        if not isinstance(raised.error, NotImplementedError):
            tail = must_raise(raised.step.source, "NotImplementedError")
            bench.fail(rule, "NotImplementedError", f"{describe(raised.error)} raised", tail, replaces=True)
    queue.pop()
    queue.close()
