"""Several processes that use one store at once: what it costs to put one in and take one out."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.growth import Growth
from queue_conformance.engine.recording import describe
from queue_conformance.engine.registry import part_of
from queue_conformance.measuring.step import Cost, Measured
from queue_conformance.processes.process import fork

COUNTS = (1, 2, 4)
"""How many processes there are."""

SECONDS = 0.3
"""How long they work at a time."""

REPEATS = 3
"""Times of which the quickest counts."""

AT_ONCE = 10
"""How many a process puts in before it takes as many out, so that it finds some whatever the others take."""

APART = 1_000_000
"""What each process has of numbers, so that no two put in the same."""


def measured_together(name: str, count: int, context: CheckContext) -> Measured | str:
    """Return what it costs to put one in and take one out where so many processes do, all of them together.

    Args:
        name: what the implementation is called.
        count: how many processes.
        context: where it is; nothing else has run there.
    """
    begun = time.perf_counter()
    growth = _growth(context, 0)  # it stays open, so that the store is there all the time
    shares = []
    for turn in range(REPEATS):
        told = [*_work(context, [1 + turn * count + place for place in range(count)])]
        if failed := [one for one in told if isinstance(one, str)]:
            return f"fails where {count} processes use it at once: {failed[0]}"
        done = [one for one in told if not isinstance(one, str)]
        shares.append(max(seconds for _, seconds in done) / sum(number for number, _ in done))
    growth.close()
    cost = Cost(min(shares), max(shares), min(shares))
    took = time.perf_counter() - begun
    return Measured(name, "processes", count, {"in and out": cost}, took=took, served=True)


def _growth(context: CheckContext, number: int) -> Growth:
    growth: Growth = part_of(context.implementation.kind, "growth").Growth(context, "stored")
    growth.numbers(number * APART)
    growth.open()
    return growth


def _work(context: CheckContext, numbers: list[int]) -> Iterator[Sequence[float] | str]:
    """Let processes work at once, and yield what each has done, or how it failed."""
    with ExitStack() as at_end:
        go_from, go = os.pipe()
        ready_from, ready = os.pipe()
        told = []
        for number in numbers:
            tell_from, tell = os.pipe()
            pid = fork()
            if pid == 0:
                os.close(go)
                _one(context, number, go_from, ready, tell)
            os.close(tell)
            at_end.callback(os.waitpid, pid, 0)
            at_end.callback(os.close, tell_from)
            told.append(tell_from)
        os.close(ready)
        os.close(go_from)
        waiting = len(numbers)
        while waiting and (some := os.read(ready_from, waiting)):
            waiting -= len(some)
        os.close(ready_from)
        os.close(go)  # they wait until it is closed
        for descriptor in told:
            said = b""
            while more := os.read(descriptor, 1 << 16):
                said += more
            yield json.loads(said) if said else "one of them ended"


def _one(context: CheckContext, number: int, go: int, ready: int, tell: int) -> None:
    """Put in and take out for some time, tell how many that were, and end this process."""
    try:
        growth = _growth(context, number)
        put, take, *_ = growth.operations()
        os.write(ready, b"!")
        os.read(go, 1)
        done, begun = 0, time.perf_counter()
        while (took := time.perf_counter() - begun) < SECONDS:
            for operation in (put, take):
                growth.timed(operation, operation.make(AT_ONCE))
            done += AT_ONCE
        os.write(tell, json.dumps([done, took]).encode())
    except BaseException as error:
        os.write(tell, json.dumps(f"one of them raised {describe(error)}").encode())
    finally:
        os._exit(0)
