"""Checks of pop: what comes out, in which order, and when nothing is left."""

from __future__ import annotations

import time
from collections.abc import Sequence

from queue_conformance.implementations.capabilities import Order
from queue_conformance.implementations.drivers.base import Item
from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.clock import NOON, stopped_clock
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.construction import REQUESTS_ONLY
from queue_conformance.suites.queues.fallback import serialization_errors
from queue_conformance.suites.queues.pair import run


@check("queue.pop.exactly-once")
def every_item_comes_once(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 pop push:3 pop pop push:4 push:5 pop pop pop"))
    run(bench, program(" ".join(f"push:{number}" for number in range(60))))
    if not bench.offers("fifo") and not bench.offers("lifo"):  # elsewhere the order shows it
        _none_lost_by_the_clock(bench)


def _none_lost_by_the_clock(bench: Bench) -> None:
    rule = "queue.pop.exactly-once"
    for moments in (TICK, CORRECTED):
        bench.restart()
        with bench.recorder.blame(rule), stopped_clock(bench) as show:
            queue = bench.open()
            for number, moment in enumerate(moments):
                show(moment)
                queue.push(bench.driver.item(number))
        popped = [queue.pop(owner=rule) for _ in moments]
        came = sorted(number for number in map(bench.driver.identify, popped) if number is not None)
        bench.expect(rule, came == [0, 1, 2, 3], "each of four items once", popped[-1], "popped is not None")
        queue.close()


@check("queue.pop.empty-none")
def nothing_comes_from_an_empty_queue(bench: Bench) -> None:
    run(bench, program("pop pop pop push:0 pop pop pop pop"))
    run(bench, program("push:0 pop reopen pop pop pop push:1 reopen pop pop"))


@check("queue.pop.fifo")
def first_in_first_out(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 push:3 pop pop push:4 push:5 pop pop pop pop"))
    _by_the_clock(bench, "queue.pop.fifo", (0, 1, 2, 3))


@check("queue.pop.lifo")
def last_in_first_out(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 push:3 pop pop push:4 push:5 pop pop pop pop"))
    _by_the_clock(bench, "queue.pop.lifo", (3, 2, 1, 0))


TICK = (NOON,) * 4
"""Times of pushes within one tick of a coarse clock."""

CORRECTED = (NOON, NOON - 60, NOON - 60, NOON)
"""Times of pushes while the clock is set back, and runs until it shows the first time again."""


def _by_the_clock(bench: Bench, rule: str, order: Sequence[int]) -> None:
    """Push several items while the clock shows certain times, and pop them; no more than waited before."""
    for moments in (TICK, CORRECTED):
        bench.restart()
        with bench.recorder.blame(rule), stopped_clock(bench) as show:
            queue = bench.open()
            for number, moment in zip(sorted(order), moments, strict=True):
                show(moment)
                queue.push(bench.driver.item(number))
        for number in order:
            bench.pop_item(queue, bench.driver.item(number), rule)
        queue.close()


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


@check("queue.pop.priority", kinds=REQUESTS_ONLY)
def requests_come_by_priority(bench: Bench) -> None:
    rule = "queue.pop.priority"
    for reopens in (False, True) if bench.offers("persistent") else (False,):
        with bench.collecting():
            bench.restart()
            ranked = _Ranked(bench, rule)
            for priority in (0, 5, -5, 5, 1, -7, 0, 2**53, -(2**53)):
                ranked.push(priority)
            ranked.pop()
            ranked.push(10)
            ranked.push(9)
            if reopens:
                ranked.reopen()
            ranked.push(-1)
            ranked.drain()


BEYOND = (
    ("2**53", "2**53 + 1"),
    ("2**53 + 1", "2**53"),
    ("-2**53 - 1", "-2**53"),
    ("2**63", "2**63 + 1"),
    ("10**400", "1"),
    ("1", "-10**400"),
)
"""Pairs of priorities that floating-point numbers, or those of a database, do not tell apart or cannot hold."""


@check("queue.pop.priority-range", kinds=REQUESTS_ONLY)
def any_two_priorities_are_told_apart(bench: Bench) -> None:
    rule = "queue.pop.priority-range"
    for pair in BEYOND:
        with bench.collecting(), bench.recorder.blame(rule):
            bench.restart()
            ranked = _Ranked(bench, rule)
            for source in pair:
                ranked.push(eval(source), source)
            ranked.drain()


class _Ranked:
    """A queue that orders by priority, and what it holds."""

    def __init__(self, bench: Bench, rule: str) -> None:
        self.bench, self.rule = bench, rule
        self.queue = bench.open()
        self.stored: list[tuple[int, Item]] = []  # in the order of their pushes
        self.count = 0

    def push(self, priority: int, source: str = "") -> None:
        """Push a request; one that is refused as what cannot be serialized is not stored."""
        self.count += 1
        text = f'Request("https://example.com/{self.count}", priority={source or priority})'
        item = self.bench.driver.evaluate(text)
        try:
            self.queue.push(item)
        except OperationRaised as raised:
            if not isinstance(raised.error, serialization_errors(self.bench)):
                raise
            self.bench.recorder.steps[-1].tolerated = True
        else:
            self.stored.append((priority, item))

    def pop(self) -> None:
        """Pop, and compare with what may come: in the order that requests of one priority have, if they have one."""
        bench = self.bench
        best = (max if bench.implementation.capabilities.priority == "higher-first" else min)(found for found, _ in self.stored)
        among = [item for priority, item in self.stored if priority == best]
        allowed = {Order.FIFO: among[:1], Order.LIFO: among[-1:]}.get(bench.implementation.capabilities.order, among)
        popped = self.queue.pop(owner=self.rule)
        number = bench.driver.identify(popped)
        found = [item for item in allowed if bench.driver.identify(item.value) == number]
        condition = bench.driver.among_source("popped", allowed)
        bench.expect(self.rule, bool(found), " or ".join(item.source for item in allowed), popped, condition)
        self.stored = [(priority, item) for priority, item in self.stored if item is not found[0]]

    def reopen(self) -> None:
        """Close, and build again."""
        self.queue.close()
        self.queue = self.bench.open()

    def drain(self) -> None:
        """Pop all that is left, and close."""
        while self.stored:
            self.pop()
        self.queue.close()
