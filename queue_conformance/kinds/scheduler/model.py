"""The model of a scheduler: which requests it holds, in memory or on disk, and which of them may come next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from queue_conformance.implementation.capabilities import Order
from queue_conformance.kinds.scheduler.pool import traits


class Place(StrEnum):
    """Where a request is."""

    MEMORY = "memory"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a scheduler is made up.

    Attributes:
        orders: the order of equal requests in each place; ``Order.NONE`` if it is not known.
        start_orders: the order of start requests in each place that has queues of their own for them.
        slots: whether the slots of the downloader are served in turn, so that priorities count within a slot only.
        start_last: whether start requests come after others of their priority; if not, either may be first.
        filters: whether a request that was seen is rejected.
        memory_first: whether of equal priorities those in memory come first; if not, either place may be asked first.
        priorities: whether requests of higher priority come first; if not, any request may.
        turns: whether slots may take turns among requests of equal priority.
    """

    orders: Mapping[Place, Order]
    start_orders: Mapping[Place, Order]
    slots: bool = False
    start_last: bool = True
    filters: bool = True
    memory_first: bool = True
    priorities: bool = True
    turns: bool = False


class SchedulerModel:
    """Numbers of requests, in memory and on disk.

    Attributes:
        seen: what was enqueued and may not come again.
        unsure: what may or may not be remembered as seen: it failed, or was lost with the memory.
        uncertain: what was in memory when the crawl was stopped, and may come again nevertheless.
        stats: what was counted in this run.
    """

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._stored: dict[Place, list[int]] = {Place.MEMORY: [], Place.DISK: []}
        self.seen: set[int] = set()
        self.unsure: set[int] = set()
        self.uncertain: Counter[int] = Counter()
        self.stats: Counter[str] = Counter()

    def __len__(self) -> int:
        return sum(map(len, self._stored.values()))

    @property
    def items(self) -> list[int]:
        """Everything that is pending."""
        return [number for numbers in self._stored.values() for number in numbers]

    def stored(self, place: Place) -> Sequence[int]:
        """Return what is in one place, the oldest first."""
        return self._stored[place]

    # --- Changes -----------------------------------------------------------------------------------------------------

    def accepts(self, number: int) -> bool:
        """Whether a request is stored; ask :attr:`unsure` first."""
        return traits(number).dont_filter or not self._layout.filters or number not in self.seen

    def see(self, number: int) -> None:
        """Note that a request was accepted."""
        self.unsure.discard(number)
        if not traits(number).dont_filter:
            self.seen.add(number)

    def enqueue(self, number: int, place: Place) -> None:
        """Store a request."""
        self.see(number)
        self._stored[place].append(number)
        self.stats["scheduler/enqueued"] += 1
        self.stats[f"scheduler/enqueued/{place}"] += 1

    def fail(self, number: int) -> None:
        """Storing a request failed."""
        if not traits(number).dont_filter and number not in self.seen:
            self.unsure.add(number)

    def ignore_priorities(self) -> None:
        """From here on any request may come next."""
        self._layout = replace(self._layout, priorities=False)

    def remove(self, number: int) -> None:
        """Take out a request that was allowed."""
        place = next(place for place, numbers in self._allowed_in().items() if number in numbers)
        numbers = self._stored[place]
        starts = self._layout.start_orders if traits(number).start else {}
        if starts.get(place, self._layout.orders[place]) is Order.LIFO:
            numbers.reverse()
            numbers.remove(number)
            numbers.reverse()
        else:
            numbers.remove(number)
        self.stats["scheduler/dequeued"] += 1
        self.stats[f"scheduler/dequeued/{place}"] += 1

    def reopen(self) -> None:
        """The crawl was stopped and continued: what was in memory is gone, and counting begins again."""
        for number in self._stored[Place.MEMORY]:
            if not traits(number).dont_filter:
                self.unsure.add(number)
        self.uncertain.update(self._stored[Place.MEMORY])
        self._stored[Place.MEMORY].clear()
        self.stats.clear()

    # --- What may come next ------------------------------------------------------------------------------------------

    def allowed(self) -> list[int]:
        """Return the requests that may come next; none if nothing is pending."""
        found = self._allowed_in()
        return list(dict.fromkeys([*found[Place.MEMORY], *found[Place.DISK]]))

    def _allowed_in(self) -> dict[Place, list[int]]:
        found: dict[Place, list[int]] = {Place.MEMORY: [], Place.DISK: []}
        if not self._layout.priorities:
            return {place: list(self._stored[place]) for place in Place}
        slots = {self._slot(number) for number in self.items}
        for slot in slots:
            memory, disk = (self._top([n for n in self._stored[place] if self._slot(n) == slot], place) for place in Place)
            found[Place.MEMORY] += memory
            if not memory or not self._layout.memory_first:
                found[Place.DISK] += disk
                continue
            best = traits(memory[0]).priority
            starts_wait = all(traits(n).start for n in memory)
            for number in disk:
                mine = traits(number)
                if mine.priority > best or (mine.priority == best and starts_wait and not mine.start):
                    found[Place.DISK].append(number)
        return found

    def _slot(self, number: int) -> str:
        return traits(number).slot if self._layout.slots else ""

    def _top(self, numbers: Sequence[int], place: Place) -> list[int]:
        """Return which of some requests in one place may come first."""
        if not numbers:
            return []
        highest = max(traits(number).priority for number in numbers)
        numbers = [number for number in numbers if traits(number).priority == highest]
        if not self._layout.turns:
            return self._head(numbers, place)
        slots = dict.fromkeys(traits(number).slot for number in numbers)
        return [n for slot in slots for n in self._head([m for m in numbers if traits(m).slot == slot], place)]

    def _head(self, numbers: Sequence[int], place: Place) -> list[int]:
        """Return which of some requests of equal priority in one place may come first."""
        starts = [n for n in numbers if traits(n).start] if place in self._layout.start_orders else []
        first_others = _first([n for n in numbers if n not in starts], self._layout.orders[place])
        first_starts = _first(starts, self._layout.start_orders.get(place, Order.NONE))
        return first_others or first_starts if self._layout.start_last else [*first_others, *first_starts]


def _first(numbers: list[int], order: Order) -> list[int]:
    if order is Order.FIFO:
        return numbers[:1]
    return numbers[-1:] if order is Order.LIFO else numbers
