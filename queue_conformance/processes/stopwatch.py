"""Time as processes have it: what a busy or stopped machine keeps from them does not count."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic  # now: an implementation may replace it in its module

LONGEST = 0.2
"""Seconds that count at most between two looks: whoever looks more often, and comes later than that, was held up itself."""

LEAST = 0.1
"""The part of the time that counts in any case, so that what never ends is found however busy the machine is."""


LEAST_AFTERWARDS, LAST = 3.0, 10.0
"""Seconds that a check gets at least and at most, when the time of a run is over, to tell what it has found: a tenth of that."""


@dataclass(frozen=True, slots=True)
class RunTime:
    """The time that a run may take, by the clock of the machine.

    Attributes:
        seconds: how long that is.
        ends: when it is over (``time.monotonic()``).
    """

    seconds: float = math.inf
    ends: float = math.inf

    @classmethod
    def from_now(cls, seconds: float) -> RunTime:
        """Return the time of a run that begins now."""
        return cls(seconds, monotonic() + seconds)

    @property
    def over(self) -> bool:
        """Whether no check begins any more, and the one in hand has to come to its end."""
        return monotonic() > self.ends

    @property
    def long_over(self) -> bool:
        """Whether the check in hand had time to do that."""
        return monotonic() > self.ends + self._afterwards

    @property
    def again(self) -> RunTime:
        """The time in which what a check has found by then may be tried again: as long again."""
        return RunTime(self.seconds, self.ends + self._afterwards)

    @property
    def _afterwards(self) -> float:
        return min(LAST, max(LEAST_AFTERWARDS, self.seconds / 10))

    def __str__(self) -> str:
        return f"the time that the run may take, {self.seconds:g} s, was over"


WITHOUT_END = RunTime()
"""That of a run that takes as long as it takes."""


_asked: Path | None = None
"""The thread of another process that looks at system calls of this one, and of all below it, before they go on."""


def asks(pid: int) -> None:
    """Note the process that looks at system calls of this one, and of all below it, before they go on."""
    global _asked
    _asked = Path(f"/proc/{pid}/task/{pid}")


class Stopwatch:
    """Counts the seconds that a process, and those that it started, could use.

    The time in which one of them, or the one that they ask, was ready to run, and the machine ran others, does not count where
    the system tells of it (Linux); nor the time in which the one that looks was held up, as it is when the whole run is stopped.

    Args:
        pid: the number of the process.
        passed: how much has passed already.

    Attributes:
        seconds: how much has passed, at the last look.
        processes: how many there were then, with those that have ended and were not waited for.
    """

    def __init__(self, pid: int, passed: float = 0.0) -> None:
        self.seconds = passed
        self.processes = 1
        self._pid = pid
        self._began = passed
        self._latest = monotonic()
        self._passed = self._waited = 0.0
        self._known: dict[Path, float] = {}

    def look(self) -> float:
        """Return how much has passed. Whoever looks less often than five times a second counts too little."""
        now = monotonic()
        self._passed += min(now - self._latest, LONGEST)
        self._latest = now
        found = dict(_waits(self._pid))
        answers = dict(_wait_of(_asked)) if _asked else {}
        self._waited += self._longest(found) + self._longest(answers)  # who asks does nothing until there is an answer
        self._known = found | answers
        self.processes = len({str(task).rpartition("/task/")[0] for task in found})
        # The system tells of a wait once it is over, and so the clock may have been ahead, but it never goes back.
        self.seconds = max(self.seconds, self._began + max(self._passed - self._waited, self._passed * LEAST))
        return self.seconds

    def _longest(self, waits: Mapping[Path, float]) -> float:
        """Return the longest wait since the last look."""
        return max((waited - self._known.get(task, waited) for task, waited in waits.items()), default=0.0)


class IdleTime:
    """Tells, from when it is made on, whether this process and what it started and waited for use a processor."""

    def __init__(self) -> None:
        self._began, self._used, self._held_up = monotonic(), _used(), held_up()

    @property
    def prevails(self) -> bool:
        """Whether a processor was neither used nor waited for in most of the time."""
        busy = _used() - self._used + held_up() - self._held_up
        return busy < (monotonic() - self._began) / 2


def _used() -> float:
    """Return the seconds for which processors were used."""
    return sum(os.times()[:4])


def held_up() -> float:
    """Return the seconds for which this process was ready to run, and the machine ran others; 0.0 where nothing tells."""
    return max((waited for _, waited in _waits(os.getpid())), default=0.0)


def _waits(pid: int) -> Iterator[tuple[Path, float]]:
    """Yield the seconds that each thread of a process, and of those that it started, has waited for a processor."""
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            yield from _wait_of(task)
            with suppress(OSError, ValueError):
                for child in (task / "children").read_text().split():
                    yield from _waits(int(child))


def _wait_of(task: Path) -> Iterator[tuple[Path, float]]:
    """Yield the seconds that one thread has waited for a processor, if the system tells."""
    with suppress(OSError, ValueError, IndexError):
        yield task, int((task / "schedstat").read_text().split()[1]) / 1e9
