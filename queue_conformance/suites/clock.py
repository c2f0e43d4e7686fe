"""A clock that stands still, and is set, while a check works."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from queue_conformance.suites.bench import Bench

NOON = 1_700_000_000
"""What it shows at first, in seconds."""


@contextmanager
def stopped_clock(bench: Bench) -> Iterator[Callable[[int], None]]:
    """Stop the clock, as a coarse one does between its ticks.

    Yields:
        What sets it to another time, as somebody does who corrects it.
    """
    clocks = time.time, time.time_ns
    names: dict[str, object] = {"time": time}

    def run(line: str) -> None:
        bench.recorder.note(line)
        exec(line, names)

    def show(moment: int) -> None:
        if names.get("moment") != moment:
            run(f"moment = {moment}")

    bench.recorder.note("clocks = time.time, time.time_ns")
    show(NOON)
    run("time.time, time.time_ns = lambda: float(moment), lambda: moment * 10**9")
    try:
        yield show
    finally:
        time.time, time.time_ns = clocks
        bench.recorder.note("time.time, time.time_ns = clocks")
