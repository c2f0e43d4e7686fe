"""For how long a class lets others wait: operations that compute nothing, and take their time nevertheless."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from time import perf_counter

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.driver import Driver
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.processes import process
from queue_conformance.processes.stopwatch import held_up

WAITS = 0.1
"""Seconds from which on an operation does not work, but wait for something."""

TIMES = 3
"""How often an operation must do so: the machine may have been busy, and some do once what they need not do again."""

LONGEST = 0.5
"""The part of the time limit of an operation for which it is waited for: that one hangs is a matter of the checks."""


def waits(context: CheckContext) -> float:
    """Return for how many seconds a class lets wait each time where nothing is there, or ready yet; 0.0 if it does not.

    What waits for an answer from elsewhere does so there (BLPOP, a polite scheduler), and loops wait with it each time.
    """
    if not process.AVAILABLE or getattr(type(context.driver), "waiting", None) is Driver.waiting:
        return 0.0
    took: list[float] = []
    with suppress(RuntimeError, RuleFailed):  # SystemExit or the like; something that was left open
        for _ in range(TIMES):
            context.restart()  # in this process, which alone can let a server begin again
            try:
                took += process.run(partial(_measured, context), time_limit=LONGEST * context.time_limit).said
            finally:
                context.watchdog.leave()  # it may have ended in an operation
            if not took or took[-1] < WAITS:
                return 0.0
    return min(took) if len(took) == TIMES else 0.0


def _measured(context: CheckContext, say: process.Say) -> None:
    """Say how long a class lets wait once."""
    with suppress(Exception):
        if (wait := context.driver.waiting()) is not None:
            began, held = perf_counter(), held_up()
            wait()
            held = held_up() - held  # first, or else what it waits for while it looks is no part of the time
            say(perf_counter() - began - held)
