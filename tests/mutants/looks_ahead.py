"""Queues of queues whose peek looks no further than at some of many places."""

from __future__ import annotations

from scrapy.pqueues import ScrapyPriorityQueue

from mutants import mutant
from queue_reference import collections, pqueues

FEW = 12
"""Places that are looked at: more than the short sequences have."""


@mutant(fails="pq.peek.equals-pop", may_fail="pq.peek.unsupported")
class PeeksAtTwelvePriorities(pqueues.PriorityQueue):
    """Its peek looks through the first twelve priorities that were used."""

    def peek(self):
        place = min([*self._open, *self._parked][:FEW], default=None)
        return None if place is None else self._queue(place).peek()


@mutant(fails="pq.peek.equals-pop")
class PeeksAtTwelveSlots(pqueues.SlotPriorityQueue):
    """Its peek says that nothing is there where requests of more than twelve slots wait."""

    def peek(self):
        return super().peek() if len(self._turn) <= FEW else None


@mutant(fails="queue.peek.equals-pop")
class PeeksAtTwelveQueues(collections.PriorityQueue):
    """Its peek looks through the first twelve priorities that were used."""

    def peek(self):
        return self._queues[min(list(self._queues)[:FEW])].peek() if self._queues else None


@mutant(fails="queuelib.rr.peek")
class PeeksAtTwelveKeys(collections.RoundRobinQueue):
    """Its peek says that nothing is there where more than twelve keys take turns."""

    def peek(self):
        return super().peek() if len(self._turn) <= FEW else None


class PeeksAtTwelveBuckets(ScrapyPriorityQueue):
    """Besides what the peek of its base class gets wrong, it says that nothing is there where more than twelve buckets are."""

    def peek(self):
        return super().peek() if len(self.queues) <= FEW else None
