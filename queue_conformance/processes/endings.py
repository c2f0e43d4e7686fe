"""How a process ended that was watched, and when one must be ended."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from queue_conformance.processes.watchdog import Watchdog

MANY = 200 + 4 * (os.cpu_count() or 1)
"""Processes below one that is tested, at most: far more than a class needs that starts one for each processor."""

SILENCE = 120.0
"""Seconds, plus three time limits, without a sign of life between operations; no wait of the kit's own is as long."""


@dataclass(frozen=True, slots=True)
class Abort:
    """How a process ended without an answer.

    Attributes:
        how: one clause, such as ``did not return within 10 s`` or ``ended the interpreter with status 3``.
        hung: whether it was ended for taking too long.
        between: whether that was not in an operation, but after the last one had returned.
        stacks: the stacks of all threads, as far as they are known.
        rule: the id of the rule that the operation in flight belongs to, or ``""``.
        steps: the operations, as lines of Python; the last one was in flight.
        sequence: the sequence that was being run, or ``""``.
        twice: whether it is no end at all: the operation came back in two processes.
        of_parent: whether it is that of the parent, which takes the process along, maybe some operations later.
        many: whether it was ended because more than :data:`MANY` processes were below it.
    """

    how: str
    hung: bool
    stacks: str
    rule: str
    steps: tuple[str, ...]
    sequence: str
    between: bool = False
    twice: bool = False
    of_parent: bool = False
    many: bool = False


OVER = "was in hand when the time of the run was over"
"""How a process ended by then, which says nothing of the class."""


def too_many() -> str:
    return f"was in hand when there were more than {MANY} processes of the class, running or not waited for"


def overdue(watchdog: Watchdog, time_limit: float) -> bool:
    """Whether an operation, or what is between two of them, takes longer than it may."""
    began, silent = watchdog.in_flight_since, watchdog.silent_since
    return bool((began and watchdog.now - began > time_limit) or (silent and watchdog.now - silent > _timeout(time_limit)))


def _timeout(time_limit: float) -> float:
    """Return the seconds that may pass between operations without any sign of life."""
    return SILENCE + 3 * time_limit


def how_it_ended(status: int) -> str:
    """Return what a class did whose process ended with that status."""
    if os.WIFSIGNALED(status):
        return f"killed the process ({signal_name(os.WTERMSIG(status))})"
    return f"ended the interpreter with status {os.WEXITSTATUS(status)}"


def signal_name(number: int) -> str:
    """Return the name of a signal; most of those in real time have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def abort(watchdog: Watchdog, how: str, time_limit: float, stacks: str = "") -> Abort:
    """Return how a process ended.

    Args:
        watchdog: where it noted what it did.
        how: how it ended, as a clause; ``""`` if it was ended because it took too long.
        time_limit: seconds that one operation may take.
        stacks: the stacks of its threads, if they are known.
    """
    hung = not how
    between = hung and not watchdog.in_flight_since
    if between:
        how = f"returned, and then nothing went on for {_timeout(time_limit):g} s"
    elif hung:
        how = f"did not return within {time_limit:g} s"
    return Abort(
        how=how,
        hung=hung,
        stacks=stacks,
        rule=watchdog.read("rule"),
        steps=tuple(watchdog.read("steps").splitlines()),
        sequence=watchdog.read("sequence"),
        between=between,
        many=how == too_many(),
    )
