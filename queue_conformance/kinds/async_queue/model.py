"""The model of asynchronous queues: what they may hold while several tasks put, get and are cancelled."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count


@dataclass(eq=False)
class Entry:
    """A request that a queue may hold.

    Attributes:
        number: its number; every request has its own.
        priority: its priority.
        began: when its put began.
        ended: when its put returned, or ``None``.
    """

    number: int
    priority: int
    began: int
    ended: int | None = None

    @property
    def certain(self) -> bool:
        """Whether it must be there; it may or may not while its put goes on, or was cancelled."""
        return self.ended is not None


class AsyncQueueModel:
    """All that a queue may hold.

    Args:
        higher_first: whether the highest priority comes first, or the lowest.
        limit: how many requests it holds at most, or 0.

    Attributes:
        entries: the requests that it may hold.
        delivered, failed, cleared, late: the numbers of those that came out, whose put raised, that were there when the
            queue was cleared, and that were put after the queue was closed.
        closed: whether it is closed.
    """

    def __init__(self, *, higher_first: bool = True, limit: int = 0) -> None:
        self.higher_first = higher_first
        self.limit = limit
        self.entries: dict[int, Entry] = {}
        self.delivered: set[int] = set()
        self.failed: set[int] = set()
        self.cleared: set[int] = set()
        self.late: set[int] = set()
        self.closed = False
        self._clock = count()

    @property
    def least(self) -> int:
        """How many requests it must hold."""
        return sum(entry.certain for entry in self.entries.values())

    @property
    def most(self) -> int:
        """How many requests it can hold."""
        return len(self.entries)

    @property
    def full(self) -> bool:
        """Whether it must refuse what is put."""
        return bool(self.limit) and self.least >= self.limit

    @property
    def may_be_full(self) -> bool:
        """Whether it may refuse what is put."""
        return bool(self.limit) and self.most >= self.limit

    def begin_put(self, number: int, priority: int) -> None:
        """A put begins; on a closed queue it stores nothing."""
        if self.closed:
            self.late.add(number)
        else:
            self.entries[number] = Entry(number, priority, next(self._clock))

    def end_put(self, number: int) -> None:
        """A put returned."""
        if number in self.entries:
            self.entries[number].ended = next(self._clock)

    def fail_put(self, number: int) -> None:
        """A put raised."""
        self.entries.pop(number, None)
        self.failed.add(number)

    def take(self, number: int) -> None:
        """A request came out."""
        del self.entries[number]
        self.delivered.add(number)

    def clear(self) -> None:
        """Everything is gone."""
        self.cleared |= self.entries.keys()
        self.entries.clear()

    def first(self) -> set[int]:
        """Return the numbers of the requests of which one must come next, if nothing else happens meanwhile."""
        entries = self.entries.values()
        return {entry.number for entry in entries if not any(self._before(other, entry) for other in entries)}

    def better(self, number: int) -> list[int]:
        """Return the numbers of the requests of a better priority that must be there."""
        mine = self._urgency(self.entries[number])
        return [entry.number for entry in self.entries.values() if entry.certain and self._urgency(entry) > mine]

    def _before(self, first: Entry, second: Entry) -> bool:
        """Whether a request must come before another one."""
        if first.ended is None or first is second:
            return False
        mine, other = self._urgency(first), self._urgency(second)
        return mine > other or (mine == other and first.ended < second.began)

    def _urgency(self, entry: Entry) -> int:
        return entry.priority if self.higher_first else -entry.priority
