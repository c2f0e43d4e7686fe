"""Right priority queues that do what the reference implementations do not."""

from __future__ import annotations

import heapq
import logging
import uuid
from itertools import count
from urllib.parse import urlsplit

from queue_reference.pqueues import PriorityQueue, SlotPriorityQueue

logger = logging.getLogger(__name__)


class StateOfItsOwn(PriorityQueue):
    """Its state has a form that no released class has."""

    def close(self):
        left = super().close()
        return {"version": 1, "ranks": left} if left else None

    def _ranks_by_slot(self, startprios):
        if startprios and not isinstance(startprios, dict):
            raise ValueError("this state was written by another priority queue class")
        return super()._ranks_by_slot(dict(startprios or {}).get("ranks", ()))


class RefusesOtherTypes(SlotPriorityQueue):
    """It raises TypeError of state that is no dict, and says why."""

    def _ranks_by_slot(self, startprios):
        if startprios and not isinstance(startprios, dict):
            raise TypeError("this state was written by another priority queue class")
        return super()._ranks_by_slot(startprios)


class PriorityWithoutPeek(PriorityQueue):
    """It has no peek."""

    peek = None


class ForgetsAtClose(PriorityQueue):
    """It is for queues in memory only: nothing survives its close."""

    MOST_OPEN = 1_000_000

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), **keywords):
        super().__init__(crawler, downstream_queue_cls, f"{key}/{uuid.uuid4()}", (), **keywords)

    def close(self):
        super().close()


class LogsWhatItCannotClose(PriorityQueue):
    """Its close logs what downstream queues raise, and returns its state all the same."""

    unclosed = 0

    def _park(self, place):
        try:
            super()._park(place)
        except OSError:
            logger.exception("Cannot close the downstream queue of %s", place)
            self.unclosed += 1


class KeepsItsOwn:
    """It keeps all requests itself, in memory, and asks no other queue."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), *, start_queue_cls=None):
        self.requests, self.numbers = [], count()

    @classmethod
    def from_crawler(cls, crawler, *arguments, **keywords):
        return cls(crawler, *arguments, **keywords)

    def push(self, request):
        heapq.heappush(self.requests, (-request.priority, -next(self.numbers), request))

    def pop(self):
        return heapq.heappop(self.requests)[2] if self.requests else None

    def peek(self):
        return self.requests[0][2] if self.requests else None

    def close(self):
        pass

    def __len__(self):
        return len(self.requests)


class AsksAnother(SlotPriorityQueue):
    """When a downstream queue says None, it asks the others, too."""

    def pop(self):
        if (request := super().pop()) is not None:
            return request
        for place in sorted([*self._open, *self._parked]):
            request = self._queue(place).pop()
            self._close_if_empty(place)
            if request is not None:
                return request
        return None


class PriorityThenSlot(SlotPriorityQueue):
    """Its priorities count across all slots; the slots with the fewest active downloads come first only among equals."""

    def _next(self):
        first = min((self._of(min(places)) for places in self._turn.values()), default=None)
        waiting = [slot for slot, places in self._turn.items() if self._of(min(places)) == first]
        slot = min(waiting, key=self._active, default=None)
        return None if slot is None else min(self._turn[slot])

    def _of(self, place):
        return place.rank


class PriorityAndStartThenSlot(PriorityThenSlot):
    """At equal priority start requests come last in all slots together, whatever these are busy with."""

    def _of(self, place):
        return place.rank, place.start


class CountsWhatIsBusy(PriorityQueue):
    """It asks the downloader how busy a slot is, for nothing but a figure to show."""

    busiest = 0

    def push(self, request):
        downloader = self._crawler.engine.downloader
        self.busiest = max([self.busiest, *(len(slot.active) for slot in downloader.slots.values())])
        super().push(request)


class CountsRefusals(PriorityQueue):
    """It notes the next priority to serve when the downstream queue has stored the request, and counts what that refuses."""

    first = None
    refused = 0

    def push(self, request):
        place = self._place_of(request)
        try:
            super().push(request)
        except ValueError:
            self.refused += 1
            raise
        self.first = place if self.first is None else min(self.first, place)

    def pop(self):
        request = super().pop()
        self.first = self._next()
        return request


class ServesDomains(SlotPriorityQueue):
    """Its slots are the last two labels of a host, whatever the downloader calls its own."""

    def _slot_of(self, request):
        return ".".join((urlsplit(request.url).hostname or "").split(".")[-2:])


class HostsInTurn(SlotPriorityQueue):
    """It serves one host after the other, however many downloads each of them has, and whatever the priorities are."""

    def _slot_of(self, request):
        return urlsplit(request.url).hostname or ""

    def _active(self, slot):
        return 0
