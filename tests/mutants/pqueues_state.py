"""Wrong priority queues: what they show, what they return when they are closed, and how they resume."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping

from mutants import mutant
from mutants.controls_pqueues import LogsWhatItCannotClose
from queue_reference.pqueues import PriorityQueue, SlotPriorityQueue

RIGHT = "queue_reference.pqueues.PriorityQueue"

# --- Keys ------------------------------------------------------------------------------------------------------------


@mutant(fails="pq.ctor.keys-below")
class StartsElsewhere(PriorityQueue):
    """It keeps start requests beside its directory."""

    def _queue(self, place):
        key, self._key = self._key, f"{self._key}-start" if place.start and self._key else self._key
        try:
            return super()._queue(place)
        finally:
            self._key = key


@mutant(fails="pq.ctor.keys-below")
class AddsToItsKey(PriorityQueue):
    """It forgets the slash between its key and what it adds."""

    def _path_of(self, slot):
        return f"{super()._path_of(slot)}-buckets"


@mutant(fails="pq.resume.all", may_fail="pq.resume.stale")
class ResumesNoPriorityOfZero(PriorityQueue):
    """It takes a zero in its state for nothing."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), **options):
        super().__init__(crawler, downstream_queue_cls, key, [rank for rank in startprios or () if rank], **options)


# --- peek and len ----------------------------------------------------------------------------------------------------


@mutant(fails="pq.peek.equals-pop")
class PeeksAtStartRequests(PriorityQueue):
    """Its peek shows a start request first, which pop does not."""

    def peek(self):
        place = self._next()
        first = place and place._replace(start=True)
        return self._queue(first).peek() if first in self._open else super().peek()


@mutant(fails="pq.peek.no-effect")
class CountsPeeks(PriorityQueue):
    """Every third peek counts as a request."""

    peeks = 0

    def peek(self):
        self.peeks += 1
        return super().peek()

    def __len__(self):
        return super().__len__() + self.peeks // 3


@mutant(fails="pq.peek.empty-none")
class PeekRaisesWhenEmpty(PriorityQueue):
    """Its peek raises IndexError when nothing is there."""

    def peek(self):
        if not len(self):
            raise IndexError("peek into an empty queue")
        return super().peek()


@mutant(fails="pq.peek.unsupported")
class SeesNothing(PriorityQueue):
    """Its peek returns None when the downstream queue cannot peek."""

    def peek(self):
        with contextlib.suppress(NotImplementedError):
            return super().peek()


@mutant(fails="pq.len.sum")
class CountsBuckets(PriorityQueue):
    """Its length is the number of downstream queues."""

    def __len__(self):
        return len(self._open) + len(self._parked)


@mutant(fails="pq.len.sum")
class CountsOneTooMany(PriorityQueue):
    """Its length is one too many."""

    def __len__(self):
        return super().__len__() + 1


@mutant(fails="pq.len.truth")
class AlwaysTrue(PriorityQueue):
    """It is always true."""

    def __bool__(self):
        return True


# --- close -----------------------------------------------------------------------------------------------------------


@mutant(fails="pq.close.closes-all")
class ClosesTwice(PriorityQueue):
    """It closes the queues with start requests twice."""

    def _park(self, place):
        queue = self._open[place]
        super()._park(place)
        if place.start:
            with contextlib.suppress(Exception):
                queue.close()


@mutant(fails="pq.close.closes-all", may_fail="pq.close.fault")
class LooksAfterItClosed(PriorityQueue):
    """Its close asks the downstream queues for their length when they are closed, which those in SQLite do not know then."""

    def close(self):
        for queue in self._open.values():
            queue.close()
        left = {place.rank for place, queue in self._open.items() if len(queue)}
        return sorted(left | {place.rank for place in self._parked})


@mutant(fails="pq.close.fault")
class ClosesUntilOneFails(PriorityQueue):
    """Its close ends at the first downstream queue that cannot be closed."""

    def close(self):
        for place in list(self._open):
            self._park(place)
        return super().close()


@mutant(fails="pq.close.fault", control="mutants.controls_pqueues.LogsWhatItCannotClose")
class ForgetsOthersWhereOneFails(LogsWhatItCannotClose):
    """Its state names nothing if a downstream queue cannot be closed."""

    def close(self):
        left = super().close()
        return [] if self.unclosed else left


@mutant(fails="pq.close.state")
class ReturnsASet(PriorityQueue):
    """Its close returns a set, which JSON cannot store."""

    def close(self):
        return set(super().close())


@mutant(fails="pq.close.state-nonempty")
class NamesWhatWasUsed(PriorityQueue):
    """Its close names every priority that was ever used, unless nothing is left."""

    used = frozenset()

    def push(self, request):
        super().push(request)
        self.used |= {-request.priority}

    def close(self):
        left = super().close()
        return sorted({*left, *self.used}) if left else left


@mutant(fails="pq.close.empty-falsy")
class AlwaysReturnsSomething(PriorityQueue):
    """Its close names priority 0 when nothing is left."""

    def close(self):
        return super().close() or [0]


@mutant(fails=("pq.close.empty-falsy", "pq.resume.all"), may_fail="pq.resume.foreign-state")
class ForgetsBesideAVersion(PriorityQueue):
    """Its state is a dictionary with a version, never empty; of several priorities in it, the last is missing."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), **keywords):
        super().__init__(crawler, downstream_queue_cls, key, startprios["left"] if startprios else (), **keywords)

    def close(self):
        left = super().close()
        return {"version": 1, "left": left[:-1] or left}


@mutant(fails="pq.close.twice")
class ForgetsAfterClose(PriorityQueue):
    """Its second close says that nothing is left."""

    def close(self):
        left = super().close()
        self._parked.clear()
        return left


# --- Resuming --------------------------------------------------------------------------------------------------------


@mutant(fails="pq.resume.all")
class ForgetsAFullPage(PriorityQueue):
    """Its close names no priority when it holds exactly 64 requests."""

    def close(self):
        full = len(self) == 64
        left = super().close()
        return [] if full else left


@mutant(fails="pq.resume.all")
class ForgetsAFullBlock(SlotPriorityQueue):
    """Its close names no slot when it holds exactly 1,024 requests."""

    def close(self):
        full = len(self) == 1024
        left = super().close()
        return {} if full else left


@mutant(fails="pq.resume.all")
class ForgetsStartRequests(PriorityQueue):
    """It does not look for start requests when it resumes."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        for place in [place for place in [*self._open, *self._parked] if place.start]:
            self._parked.pop(place, None)
            if place in self._open:
                self._open.pop(place).close()


@mutant(fails="pq.resume.all")
class NamesAThousand(PriorityQueue):
    """Its close names no more than a thousand priorities."""

    def close(self):
        return super().close()[:1000]


class TrustsItsState(PriorityQueue):
    """It takes what startprios names for what holds requests."""

    begun = False

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.begun = True

    def _close_if_empty(self, place):
        if self.begun or not place.rank:
            super()._close_if_empty(place)

    def pop(self):
        place = self._next()
        if place is None:
            return None
        request = self._queue(place).pop()
        self._close_if_empty(place)
        return request


@mutant(fails=("pq.resume.stale", "pq.resume.all", "pq.resume.empty-closed"), control=RIGHT)
class ServesEmptyBuckets(TrustsItsState):
    """It serves what startprios names, empty or not, and so returns None while others wait."""


@mutant(fails="pq.resume.stale")
class RefusesStaleState(PriorityQueue):
    """It raises ValueError if startprios name a priority at which nothing is stored."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), **keywords):
        startprios = list(startprios)
        super().__init__(crawler, downstream_queue_cls, key, startprios, **keywords)
        if missing := {*startprios} - {place.rank for place in [*self._open, *self._parked]}:
            raise ValueError(f"nothing is stored at {missing}")


@mutant(fails="pq.resume.incomplete")
class ClearsWhatItDoesNotKnow(PriorityQueue):
    """It empties a bucket that startprios did not name when it is used again."""

    begun = False

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.begun = True

    def _queue(self, place):
        known = place in self._open or place in self._parked
        queue = super()._queue(place)
        while self.begun and not known and queue.pop() is not None:
            pass
        return queue


@mutant(fails="pq.resume.foreign-state")
class TakesAnyState(PriorityQueue):
    """It ignores state that is not its own."""

    def _ranks_by_slot(self, startprios):
        return {} if isinstance(startprios, Mapping) else super()._ranks_by_slot(startprios)


@mutant(fails="pq.resume.foreign-state")
class RefusesWithoutAWord(PriorityQueue):
    """It refuses state that is not its own with an exception that says nothing."""

    def _ranks_by_slot(self, startprios):
        if isinstance(startprios, Mapping):
            raise ValueError
        return super()._ranks_by_slot(startprios)


@mutant(fails="pq.resume.iterable")
class MeasuresStartprios(PriorityQueue):
    """It takes the length of startprios."""

    def _ranks_by_slot(self, startprios):
        return super()._ranks_by_slot(startprios) if len(startprios) else {}


@mutant(fails="pq.resume.empty-closed")
class LeavesEmptyQueuesOpen(PriorityQueue):
    """It drops empty queues that it opened while resuming, without closing them."""

    begun = False

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.begun = True

    def _close_if_empty(self, place):
        if self.begun or not place.rank or len(self._open[place]):
            super()._close_if_empty(place)
        else:
            del self._open[place]


# --- Priorities ------------------------------------------------------------------------------------------------------


@mutant(fails="pq.priority.ints")
class OfMachineWords(PriorityQueue):
    """It stores priorities in 64 bits."""

    def _place_of(self, request):
        place = super()._place_of(request)
        return place._replace(rank=max(-(2**63), min(2**63 - 1, place.rank)))


@mutant(fails="pq.priority.at-push")
class LooksAgain(PriorityQueue):
    """It serves the bucket whose first request has the highest priority now."""

    def _next(self):
        return min([*self._open, *self._parked], key=self._rank_now, default=None)

    def _rank_now(self, place):
        queue = self._open.get(place)
        first = queue.peek() if hasattr(queue, "peek") else None
        return (place.rank if first is None else -first.priority, place.start)


@mutant(fails="pq.pop.exactly-once")
class ForgetsWhatItHasDrained(PriorityQueue):
    """Where it has drained more than thirty priorities, what is pushed at one of them later never comes."""

    def __init__(self, *arguments, **keywords):
        self._drained = set()
        super().__init__(*arguments, **keywords)

    def _close_if_empty(self, place):
        super()._close_if_empty(place)
        if place not in self._open:
            self._drained.add(place)

    def _next(self):
        places = {*self._open, *self._parked}
        return min(places - self._drained if len(self._drained) > 30 else places, default=None)


@mutant(fails="pq.scale.buckets")
class KeepsEverythingOpen(PriorityQueue):
    """It keeps a queue open for every priority."""

    MOST_OPEN = 1_000_000


@mutant(fails="pq.resume.all")
class CountsWhenItIsAsked(PriorityQueue):
    """It counts what an earlier run has left once it is asked for its length, or given a request, and closes as empty before."""

    counted = False

    def push(self, request):
        super().push(request)
        self.counted = True

    def __len__(self):
        self.counted = True
        return super().__len__()

    def close(self):
        state = super().close()
        return state if self.counted else type(state)()
