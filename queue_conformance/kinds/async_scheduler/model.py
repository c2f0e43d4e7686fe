"""The model of asynchronous schedulers: what was accepted, handed out and done."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


class AsyncSchedulerModel:
    """What a right scheduler holds when everything has come to rest.

    Args:
        priorities: the priority of each item, by number.

    Attributes:
        waiting: how often each item is queued.
        unsure: how often each item may be queued besides, because it was added while the scheduler was being closed.
        ignored: the items that were added after the close and never before.
        processing: how many requests were handed out and are not done.
        seen: the items whose fingerprints are known.
        closed: whether it is closed.
    """

    def __init__(self, priorities: Sequence[int]) -> None:
        self._priorities = priorities
        self.waiting: Counter[int] = Counter()
        self.unsure: Counter[int] = Counter()
        self.ignored: set[int] = set()
        self.processing = 0
        self.seen: set[int] = set()
        self.closed = False

    def add(self, item: int, retry: bool = False, closing: bool = False) -> bool:
        """Accept an item, unless it was seen or the scheduler is closed.

        Args:
            item: its number.
            retry: whether it may have been seen.
            closing: whether a close is under way, so that the item may come in time or too late.

        Returns:
            Whether it was surely accepted.
        """
        if closing and (retry or item not in self.seen):
            self.seen.add(item)
            self.unsure[item] += 1
            return False
        if self.closed:
            self.ignored |= {item} - self.seen
            return False
        if item in self.seen and not retry:
            return False
        self.seen.add(item)
        self.waiting[item] += 1
        return True

    def make_uncertain(self, item: int) -> None:
        """Take an item that was accepted for one that may have come too late."""
        self.waiting -= Counter([item])
        self.unsure[item] += 1

    def can_deliver(self, item: int | None) -> bool:
        """Whether an item may be handed out."""
        return item is not None and bool(self.waiting[item] or self.unsure[item])

    def deliver(self, item: int) -> None:
        """Hand an item out."""
        if self.waiting[item]:
            self.waiting -= Counter([item])
        else:
            self.unsure -= Counter([item])
        self.processing += 1

    def next(self) -> set[int]:
        """Return the items one of which comes next."""
        highest = max((self._priorities[item] for item in self.waiting), default=None)
        return {item for item in self.waiting if self._priorities[item] == highest}

    @property
    def queued(self) -> int:
        """How many requests are surely queued."""
        return self.waiting.total()

    @property
    def most(self) -> int:
        """How many requests are queued at most."""
        return self.queued + self.unsure.total()

    @property
    def idle(self) -> bool:
        """Whether ``join`` may end."""
        return not self.processing and (self.closed or not self.queued)
