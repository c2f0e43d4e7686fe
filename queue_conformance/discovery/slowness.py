"""For how long a class lets others wait: operations that compute nothing, and take their time nevertheless."""

from __future__ import annotations

from contextlib import suppress
from time import perf_counter

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.driver import Driver
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

    def measure(say: process.Say) -> None:
        context.directory /= "waits"  # what lies in the others is that of the process that goes on
        context.directory.mkdir()
        with suppress(Exception):
            for _ in range(TIMES):
                context.restart()
                if (wait := context.driver.waiting()) is None:
                    return
                began, held = perf_counter(), held_up()
                wait()
                say(took := perf_counter() - began - (held_up() - held))
                if took < WAITS:
                    return

    try:
        said = process.run(measure, time_limit=LONGEST * context.time_limit).said
    except RuntimeError:  # SystemExit or the like
        return 0.0
    finally:
        context.watchdog.leave()  # it may have ended in an operation
    return float(min(said)) if len(said) == TIMES else 0.0
