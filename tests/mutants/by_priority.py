"""Queues of requests that order by priority: a right one in memory, and mutants."""

from __future__ import annotations

import bisect
import heapq
from itertools import count

from mutants import mutant


class HeapQueue:
    """A right queue: higher priorities come first, and of one priority what was pushed first."""

    def __init__(self):
        self.heap, self.numbers = [], count()

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls()

    def rank(self, priority):
        return -priority

    def push(self, request):
        heapq.heappush(self.heap, (self.rank(request.priority), next(self.numbers), request))

    def peek(self):
        return self.heap[0][2] if self.heap else None

    def pop(self):
        return heapq.heappop(self.heap)[2] if self.heap else None

    def close(self):
        pass

    def __len__(self):
        return len(self.heap)


class LowestFirst(HeapQueue):
    """A right queue: lower priorities come first, as its author claims."""

    def rank(self, priority):
        return priority


class Unstable(HeapQueue):
    """A right queue: of one priority any request may come next, here that of the smallest URL."""

    def push(self, request):
        heapq.heappush(self.heap, (-request.priority, request.url[::-1], next(self.numbers), request))

    def peek(self):
        return self.heap[0][3] if self.heap else None

    def pop(self):
        return heapq.heappop(self.heap)[3] if self.heap else None


class RefusesWhatIsLarge(HeapQueue):
    """A right queue: it refuses priorities that it could not tell apart."""

    def push(self, request):
        if abs(request.priority) > 2**53:
            raise ValueError(f"the priority {request.priority} is too large")
        super().push(request)


@mutant(fails=("queue.pop.priority", "queue.pop.priority-range"))
class AsText(HeapQueue):
    """It compares the first digits alone, as text does."""

    def rank(self, priority):
        first = int(str(abs(priority))[0])
        return -first if priority > 0 else first


@mutant(fails=("queue.pop.priority", "queue.pop.priority-range"))
class UrgentOrNot(HeapQueue):
    """It knows no more than six kinds of urgency."""

    def rank(self, priority):
        return -max(-5, min(priority, 5))


@mutant(fails="queue.pop.priority")
class NewestOfOnePriority(HeapQueue):
    """Of one priority other than 0 the newest comes first."""

    def push(self, request):
        number = next(self.numbers)
        heapq.heappush(self.heap, (-request.priority, number if request.priority == 0 else -number, request))


@mutant(fails="queue.pop.priority-range")
class AsScores(HeapQueue):
    """Its priorities are floating-point numbers."""

    def rank(self, priority):
        return -float(priority)


@mutant(
    fails=("queue.pop.priority", "queue.pop.priority-range"),
    control="mutants.by_priority.LowestFirst",
    claims={"priority": "lower-first"},
)
class ClaimsToBeLowestFirst(HeapQueue):
    """Its author claims that lower priorities come first."""


@mutant(fails="queue.pop.priority")
class SeldomSorts(HeapQueue):
    """It sorts what is pushed only while it is small."""

    def push(self, request):
        entry = (-request.priority, next(self.numbers), request)
        if len(self.heap) < 6:
            bisect.insort(self.heap, entry)
        else:
            self.heap.append(entry)

    def pop(self):
        return self.heap.pop(0)[2] if self.heap else None
