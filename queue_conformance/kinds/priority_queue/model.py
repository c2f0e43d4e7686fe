"""The model of Scrapy's priority queues: one bucket per slot, priority and class of downstream queue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple


class Place(NamedTuple):
    """The bucket of a request.

    Attributes:
        priority: the higher, the sooner it is served.
        start: whether it is a start request.
        slot: its slot of the downloader.
    """

    priority: int = 0
    start: bool = False
    slot: str = ""


class PriorityQueueModel:
    """Buckets of item numbers.

    Args:
        lifo: whether buckets are LIFO; those of start requests are always FIFO.
        slots: whether the slots with the fewest active downloads are served first; which of several is left open.
        priority_first: whether slots decide only among requests of equal priority; it is left open whether start requests
            come last in each slot or in all of them.
        turns: whether any slot may be served next, whatever the downloader does.
        start_last: whether start requests come last at equal priority; otherwise that is left open.

    Attributes:
        active: how many active downloads each slot has.
    """

    def __init__(
        self, *, lifo: bool, slots: bool, priority_first: bool = False, turns: bool = False, start_last: bool = True
    ) -> None:
        self._lifo = lifo
        self._slots = slots
        self._turns = turns
        self._priority_first = priority_first
        self._start_last = start_last
        self._stored: dict[int, Place] = {}  # in the order of the pushes
        self.active: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._stored)

    @property
    def items(self) -> list[int]:
        """All items."""
        return [*self._stored]

    def __contains__(self, number: int) -> bool:
        return number in self._stored

    @property
    def places(self) -> set[Place]:
        """The buckets that hold items."""
        return set(self._stored.values())

    def push(self, number: int, place: Place) -> None:
        """Store an item."""
        self._stored[number] = place

    def remove(self, number: int) -> None:
        """Take out an item.

        Raises:
            KeyError: if it is not stored.
        """
        del self._stored[number]

    def place_of(self, number: int) -> Place:
        """Return the bucket of an item.

        Raises:
            KeyError: if it is not stored.
        """
        return self._stored[number]

    def shares(self, number: int) -> bool:
        """Whether others are stored in the bucket of an item."""
        return len(self._items_at(self._stored[number])) > 1

    def allowed(self) -> list[int]:
        """Return the items that may come next; none if nothing is stored."""
        return [self._head(place) for place in self._next_places()]

    def heads(self) -> list[int]:
        """Return the next item of each bucket."""
        return [self._head(place) for place in dict.fromkeys(self._stored.values())]

    def _items_at(self, place: Place) -> list[int]:
        return [number for number, other in self._stored.items() if other == place]

    def _head(self, place: Place) -> int:
        """Return the next item of a bucket."""
        return self._items_at(place)[-1 if self._lifo and not place.start else 0]

    def _next_places(self) -> list[Place]:
        """Return the buckets that may be served next."""
        places = list(dict.fromkeys(self._stored.values()))
        if self._turns:
            return self._of_slots(places, {place.slot for place in places})
        if not places or not self._slots:
            return self._first(places)
        if not self._priority_first:
            return self._of_idle_slots(places)
        highest = self._of_idle_slots(_highest(places))
        return list(dict.fromkeys([*highest, *self._of_idle_slots(self._first(places))]))

    def _of_idle_slots(self, places: Collection[Place]) -> list[Place]:
        """Return the first of these buckets in each of the slots with the fewest active downloads."""
        least = min(self.active[place.slot] for place in places)
        return self._of_slots(places, {place.slot for place in places if self.active[place.slot] == least})

    def _of_slots(self, places: Collection[Place], slots: Collection[str]) -> list[Place]:
        """Return the first of these buckets in each of some slots."""
        return [first for slot in sorted(slots) for first in self._first([place for place in places if place.slot == slot])]

    def _first(self, places: Collection[Place]) -> list[Place]:
        """Return the buckets that come first where slots do not count."""
        top = _highest(places)
        others = [place for place in top if not place.start]
        return others if others and self._start_last else top


def _highest(places: Collection[Place]) -> list[Place]:
    """Return the buckets of the highest priority."""
    highest = max((place.priority for place in places), default=0)
    return [place for place in places if place.priority == highest]
