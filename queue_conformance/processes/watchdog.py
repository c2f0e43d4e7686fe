"""What a process is doing, in memory that it shares with the one that watches it."""

from __future__ import annotations

import math
import mmap
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic  # now: an implementation may replace it in its module
from typing import ClassVar, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tally:
    """How far a child has come.

    Attributes:
        unit: what it counts, in the plural, such as ``sequences``; ``""`` if it counts nothing.
        done: how many there are so far.
        goal: how many there will be, or 0 if nobody knows.
        began: when it began to count (:attr:`Watchdog.now`, seconds).
        ends: when it ends at the latest, likewise, or 0.0.
    """

    unit: str
    done: int
    goal: int
    began: float
    ends: float


class Watchdog:
    """What the child is doing, in memory that the parent can read while it runs and after it is gone.

    The layout is two doubles (when the operation in flight began, or between operations the time of the last sign of life,
    negative; and the time that the parent counts for the child), the numbers of the tally, then one slot of UTF-8 text for
    each of the names in ``_SIZES``, each preceded by its length.

    Args:
        file: what a process that was spawned shares with its parent; forked ones share the memory itself.

    Attributes:
        watched: whether a parent counts the time; the clock of the machine tells it otherwise.
    """

    _SIZES: ClassVar = {"unit": 64, "rule": 256, "sequence": 16 * 1024, "steps": 48 * 1024, "copier": 256, "copy": 16 * 1024}
    _LENGTH = struct.Struct("I")
    _CLOCK = struct.Struct("d")
    _NOW = struct.Struct("d")
    _COUNT = struct.Struct("Q")
    _TALLY = struct.Struct("QQdd")
    _TALLY_AT = _CLOCK.size + _NOW.size

    def __init__(self, file: Path | None = None) -> None:
        self._offsets: dict[str, int] = {}
        self._count = 0
        self._rule = ""
        self.watched = file is not None
        offset = self._TALLY_AT + self._TALLY.size
        for name, size in self._SIZES.items():
            self._offsets[name] = offset
            offset += self._LENGTH.size + size
        if file is None:
            self._memory = mmap.mmap(-1, offset)
        else:
            with open(file, "r+b") as opened:
                opened.truncate(offset)
                self._memory = mmap.mmap(opened.fileno(), offset)
        self._end = 0
        self.leave()

    def enter(self, step: str, rule: str) -> None:
        """Note that an operation begins.

        Args:
            step: the operation, as a line of Python.
            rule: the id of the rule that fails if it never ends.
        """
        if rule != self._rule:
            self.write("rule", rule)
            self._rule = rule
        self.note(step)
        self._CLOCK.pack_into(self._memory, 0, self.now)

    def note(self, step: str) -> None:
        """Add a line of Python to the steps."""
        line = _encoded(f"{step}\n")[: self._SIZES["steps"]]
        start = self._offsets["steps"] + self._LENGTH.size
        if self._end + len(line) > self._SIZES["steps"]:
            self._end = 0
        self._memory[start + self._end : start + self._end + len(line)] = line
        self._end += len(line)
        self._LENGTH.pack_into(self._memory, self._offsets["steps"], self._end)

    def go_on(self) -> float:
        """Note that the operation in flight does something anew, which may take as long again; return the time."""
        now = self.now
        if self._clock > 0.0:
            self._CLOCK.pack_into(self._memory, 0, now)
        return now

    def each(self, things: Iterable[T], seconds: float = math.inf) -> Iterator[T]:
        """Yield things, each of which may take as long as one operation; no more of them after so many seconds."""
        end = self.now + seconds
        for thing in things:
            if self.go_on() > end:
                return
            yield thing

    def leave(self) -> None:
        """Note that the operation in flight ended."""
        self._CLOCK.pack_into(self._memory, 0, -self.now)

    def _live(self) -> None:
        """Give a sign of life between operations."""
        if not self.in_flight_since:
            self.leave()

    def restart(self, sequence: str = "") -> None:
        """Forget the operations so far: a new sequence begins.

        Args:
            sequence: the sequence, in a form that can be run again.
        """
        self._live()
        self._end = 0
        self._LENGTH.pack_into(self._memory, self._offsets["steps"], 0)
        self.write("sequence", sequence)

    def write(self, slot: str, text: str) -> None:
        """Replace the text of a slot; what does not fit is dropped as a whole."""
        data = _encoded(text)
        if len(data) > self._SIZES[slot]:
            data = b""
        offset = self._offsets[slot]
        start = offset + self._LENGTH.size
        self._memory[start : start + len(data)] = data
        self._LENGTH.pack_into(self._memory, offset, len(data))

    def read(self, slot: str) -> str:
        """Return the text of a slot."""
        offset = self._offsets[slot]
        (length,) = self._LENGTH.unpack_from(self._memory, offset)
        start = offset + self._LENGTH.size
        return bytes(self._memory[start : start + length]).decode(errors="replace")

    def aim(self, unit: str, goal: int = 0, ends: float = 0.0) -> None:
        """Begin to count.

        Args:
            unit: what is counted, in the plural, such as ``sequences``; or what is looked for: ``finding the smallest crawl``.
            goal: how many there will be, or 0 if nobody knows.
            ends: when the counting ends at the latest (:attr:`now`, seconds), or 0.0.
        """
        self._count = 0
        self.write("unit", unit)
        self._TALLY.pack_into(self._memory, self._TALLY_AT, 0, goal, self.now, ends)

    def count(self, number: int = 1) -> None:
        """Note that so many more are done."""
        self._live()
        self._count += number
        self._COUNT.pack_into(self._memory, self._TALLY_AT, self._count)

    @property
    def tally(self) -> Tally:
        """How far the child has come."""
        return Tally(self.read("unit"), *self._TALLY.unpack_from(self._memory, self._TALLY_AT))

    @property
    def now(self) -> float:
        """The seconds that the child has had (see :class:`Stopwatch`), to a tenth; limits and budgets go by this clock."""
        if not self.watched:
            return monotonic()
        seconds: float = self._NOW.unpack_from(self._memory, self._CLOCK.size)[0]
        return seconds

    def tell(self, now: float) -> None:
        """Set the clock; the parent does."""
        self.watched = True
        self._NOW.pack_into(self._memory, self._CLOCK.size, now)

    @property
    def in_flight_since(self) -> float:
        """When the operation in flight began (:attr:`now`, seconds), or 0.0."""
        return max(0.0, self._clock)

    @property
    def silent_since(self) -> float:
        """When there was the last sign of life (:attr:`now`, seconds), or 0.0 if an operation is in flight."""
        return max(0.0, -self._clock)

    @property
    def _clock(self) -> float:
        time: float = self._CLOCK.unpack_from(self._memory, 0)[0]
        return time

    def copied(self, steps: str, rule: str) -> None:
        """Note that an operation forked, and that its copy came back from it too.

        Args:
            steps: the operations up to then, one line of Python each.
            rule: the id of the rule that fails by that.
        """
        self.write("copier", rule)
        fits = len(_encoded(steps)) <= self._SIZES["copy"]
        self.write("copy", steps if fits else steps.rpartition("\n")[2])

    def reset(self) -> None:
        """Forget everything: what comes next runs in another process."""
        for name in self._SIZES:
            self.write(name, "")
        self._TALLY.pack_into(self._memory, self._TALLY_AT, 0, 0, 0.0, 0.0)
        self._count = self._end = 0
        self._rule = ""
        self.leave()

    def show(self, other: Watchdog) -> None:
        """Show what another one does."""
        self._memory[:] = other._memory[:]

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")  # half of a surrogate pair is no character
