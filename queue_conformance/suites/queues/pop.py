"""Checks of pop: what comes out, in which order, and when nothing is left."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.construction import REQUESTS_ONLY
from queue_conformance.suites.queues.pair import run


@check("queue.pop.exactly-once")
def every_item_comes_once(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 pop push:3 pop pop push:4 push:5 pop pop pop"))
    run(bench, program(" ".join(f"push:{number}" for number in range(60))))


@check("queue.pop.empty-none")
def nothing_comes_from_an_empty_queue(bench: Bench) -> None:
    run(bench, program("pop pop pop push:0 pop pop pop pop"))
    run(bench, program("push:0 pop reopen pop pop pop push:1 reopen pop pop"))


@check("queue.pop.fifo")
def first_in_first_out(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 push:3 pop pop push:4 push:5 pop pop pop pop"))
    _within_a_tick(bench, "queue.pop.fifo", (0, 1, 2, 3, 4))


@check("queue.pop.lifo")
def last_in_first_out(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 push:3 pop pop push:4 push:5 pop pop pop pop"))
    _within_a_tick(bench, "queue.pop.lifo", (4, 3, 2, 1, 0))


def _within_a_tick(bench: Bench, rule: str, order: Sequence[int]) -> None:
    """Push several items while the clock shows one time, as a coarse clock does, and pop them."""
    bench.restart()
    with bench.recorder.blame(rule), _stopped_clock(bench):
        queue = bench.open()
        for number in sorted(order):
            queue.push(bench.driver.item(number))
    for number in order:
        bench.pop_item(queue, bench.driver.item(number), rule)
    queue.close()


@contextmanager
def _stopped_clock(bench: Bench) -> Iterator[None]:
    clocks = time.time, time.time_ns
    stopped = "time.time, time.time_ns = lambda: 1.7e9, lambda: 1_700_000_000 * 10**9"
    bench.recorder.note(f"clocks = time.time, time.time_ns\n{stopped}")
    exec(stopped, {"time": time})
    try:
        yield
    finally:
        time.time, time.time_ns = clocks
        bench.recorder.note("time.time, time.time_ns = clocks")


@check("queue.pop.order-reopen")
def order_survives_reopening(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 reopen push:3 push:4 pop reopen push:5 pop reopen pop pop pop pop"))


NO_WAIT = 0.5
"""Seconds that a pop from an empty queue may take at the best of three times."""


@check("queue.pop.no-wait", kinds=REQUESTS_ONLY)
def an_empty_queue_answers_at_once(bench: Bench) -> None:
    rule = "queue.pop.no-wait"
    queue = bench.open()
    bench.recorder.note("started = time.monotonic()")
    best = float("inf")
    for _ in range(3):
        started = time.monotonic()
        queue.pop(owner="queue.pop.empty-none")
        best = min(best, time.monotonic() - started)
        if best < NO_WAIT:
            break
    tries = len(bench.recorder.steps) - 2
    bench.recorder.note("elapsed = time.monotonic() - started")
    bench.expect(rule, best < NO_WAIT, "an answer at once", f"waited {best:.1f} s", f"elapsed < {NO_WAIT * tries}")
    queue.close()
