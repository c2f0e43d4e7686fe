"""The model of Scrapy's priority queues: one bucket per slot, priority and class of downstream queue."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable
from typing import NamedTuple


class Place(NamedTuple):
    """Where a request waits.

    Attributes:
        priority: the higher, the sooner it is served.
        start: whether it is a start request.
        slot: the slot of the downloader that it belongs to.
    """

    priority: int = 0
    start: bool = False
    slot: str = ""


class PriorityQueueModel:
    """Buckets of item numbers.

    Args:
        lifo: the order of the buckets without start requests; those with start requests are FIFO.
        slots: whether the slots with the fewest active downloads are served first; which of several is left open.
        priority_first: whether slots decide only among requests of equal priority; it is left open whether start requests
            come last in each slot or in all of them.
        start_last: whether start requests come last at equal priority; otherwise that is left open.

    Attributes:
        active: how many active downloads each slot has.
    """

    def __init__(self, *, lifo: bool, slots: bool, priority_first: bool = False, start_last: bool = True) -> None:
        self._lifo = lifo
        self._slots = slots
        self._priority_first = priority_first
        self._start_last = start_last
        self._buckets: dict[Place, deque[int]] = {}
        self.active: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._buckets.values()))

    def push(self, number: int, place: Place) -> None:
        """Store an item."""
        self._buckets.setdefault(place, deque()).append(number)

    def allowed(self) -> list[int]:
        """Return the items that may come next; none if nothing is stored."""
        return [self.head(place) for place in self._next_places()]

    def heads(self) -> list[int]:
        """Return the items that are the next ones of their buckets."""
        return [self.head(place) for place in self._buckets]

    def head(self, place: Place) -> int:
        """Return the next item of a bucket."""
        bucket = self._buckets[place]
        return bucket[-1] if self._lifo and not place.start else bucket[0]

    def remove(self, number: int) -> None:
        """Take out an item.

        Raises:
            LookupError: if it is not stored.
        """
        place = self.place_of(number)
        self._buckets[place].remove(number)
        if not self._buckets[place]:
            del self._buckets[place]

    def place_of(self, number: int) -> Place:
        """Return the bucket of an item.

        Raises:
            LookupError: if it is not stored.
        """
        for place, bucket in self._buckets.items():
            if number in bucket:
                return place
        raise LookupError(number)

    def shares(self, number: int) -> bool:
        """Whether others are stored in the bucket of an item."""
        return len(self._buckets[self.place_of(number)]) > 1

    def contains(self, number: int) -> bool:
        """Whether an item is stored."""
        return any(number in bucket for bucket in self._buckets.values())

    @property
    def places(self) -> set[Place]:
        """The buckets that hold items."""
        return set(self._buckets)

    def _next_places(self) -> Iterable[Place]:
        """Yield the buckets that may be served next."""
        if not self._buckets:
            return
        if not self._slots:
            yield from self._first(self._buckets)
            return
        waiting = self._highest(self._buckets) if self._priority_first else list(self._buckets)
        found = self._of_idle_slots(waiting)
        if self._priority_first:
            found += self._of_idle_slots(self._first(waiting))
        yield from dict.fromkeys(found)

    def _of_idle_slots(self, places: Collection[Place]) -> list[Place]:
        """Return the first of these buckets in each of the slots with the fewest active downloads."""
        least = min(self.active[place.slot] for place in places)
        slots = sorted({place.slot for place in places if self.active[place.slot] == least})
        return [first for slot in slots for first in self._first([place for place in places if place.slot == slot])]

    def _first(self, places: Iterable[Place]) -> list[Place]:
        """Return the buckets that come first where slots do not count."""
        top = self._highest(places)
        others = [place for place in top if not place.start]
        return others if others and self._start_last else top

    def _highest(self, places: Iterable[Place]) -> list[Place]:
        """Return the buckets of the highest priority."""
        found = list(places)
        highest = max(place.priority for place in found)
        return [place for place in found if place.priority == highest]
