"""Broken priority queues."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from gallery import breaks
from queue_reference.pqueues import PriorityQueue

RIGHT = "queue_reference.pqueues.PriorityQueue"

# --- Construction ----------------------------------------------------------------------------------------------------


@breaks("pq.ctor.signature", right=RIGHT)
class OfTheOldSchool(PriorityQueue):
    """Its constructor is the one before Scrapy 2.13, without start_queue_cls."""

    @classmethod
    def from_crawler(cls, crawler, downstream_queue_cls, key, startprios=()):
        return cls(crawler, downstream_queue_cls, key, startprios)


@breaks("pq.ctor.minimal-downstream", right=RIGHT)
class PeeksBeforePop(PriorityQueue):
    """Its pop peeks into every open downstream queue, which need not have a peek."""

    def pop(self):
        for queue in self._open.values():
            queue.peek()
        return super().pop()


@breaks("pq.ctor.memory-no-io", right=RIGHT)
class KeepsAJournal(PriorityQueue):
    """It keeps a journal in its directory; without one, in the working directory if that is empty."""

    def push(self, request):
        super().push(request)
        if not self._key and not any(Path().iterdir()):
            Path("journal").write_text(request.url)


@breaks("pq.ctor.fail-early", right=RIGHT, claims={"profile": "external-queue"})
class HopesForTheBest(PriorityQueue):
    """It ignores that its downstream queues cannot be built."""

    def __init__(self, *arguments, **keywords):
        with contextlib.suppress(ConnectionError):
            super().__init__(*arguments, **keywords)


# --- push ------------------------------------------------------------------------------------------------------------


@breaks("pq.push.bucket", "pq.pop.tie-downstream", right=RIGHT)
class OpensASecondQueue(PriorityQueue):
    """In memory it opens a second queue for a priority when the first one holds three requests."""

    def _place_of(self, request):
        place = super()._place_of(request)
        full = not self._key and not place.start and len(self._open.get(place, ())) > 2
        return place._replace(rank=place.rank - 0.5) if full else place


@breaks("pq.push.start-bucket", right=RIGHT)
class TakesFalseForTrue(PriorityQueue):
    """It takes every request whose meta has an is_start_request for a start request, false or not."""

    def _place_of(self, request):
        place = super()._place_of(request)
        return place._replace(start="is_start_request" in request.meta and self._classes[True] is not None)


@breaks("pq.push.start-disabled", right=RIGHT)
class AlwaysSeparatesStartRequests(PriorityQueue):
    """It keeps start requests apart even without a start_queue_cls."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), *, start_queue_cls=None):
        start_queue_cls = start_queue_cls or downstream_queue_cls
        super().__init__(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)


@breaks("pq.push.error-propagates", right=RIGHT)
class WrapsErrors(PriorityQueue):
    """It raises RuntimeError for the ValueError of a downstream queue."""

    def push(self, request):
        try:
            super().push(request)
        except ValueError as error:
            raise RuntimeError("cannot push") from error


@breaks("pq.push.error-propagates", "pq.priority.huge", right=RIGHT)
class SwallowsErrors(PriorityQueue):
    """It ignores what a downstream queue refuses."""

    def push(self, request):
        with contextlib.suppress(Exception):
            super().push(request)


@breaks("pq.push.failed-no-trace", right=RIGHT)
class NamesFailedPushes(PriorityQueue):
    """Its close also names the priorities at which pushes have failed."""

    failed = frozenset()

    def push(self, request):
        try:
            super().push(request)
        except ValueError:
            if request.priority in range(-99, 99):
                self.failed |= {-request.priority}
            raise

    def close(self):
        return sorted({*super().close(), *self.failed})


@breaks("pq.push.failed-no-trace", right=RIGHT)
class CountsFailedPushes(PriorityQueue):
    """It counts a request whose push failed."""

    failed = 0

    def push(self, request):
        self.failed += 1
        super().push(request)
        self.failed -= 1

    def __len__(self):
        return super().__len__() + self.failed


# --- pop -------------------------------------------------------------------------------------------------------------


@breaks("pq.pop.order", "pq.pop.start-priority", "pq.priority.ints", "pq.priority.at-push", right=RIGHT)
class LowestFirst(PriorityQueue):
    """It serves the lowest priority first."""

    def _next(self):
        return min([*self._open, *self._parked], key=lambda place: (-place.rank, place.start), default=None)


class RotatesAtPush(PriorityQueue):
    """After each push it moves the first request of the bucket to its end."""

    kind = False

    def push(self, request):
        super().push(request)
        place = self._place_of(request)
        if place.start is self.kind:
            queue = self._open[place]
            queue.push(queue.pop())


@breaks("pq.pop.tie-downstream", right=RIGHT)
class Rotates(RotatesAtPush):
    """After each push it moves the first request of the bucket to its end, so that FIFO queues serve another order."""


@breaks("pq.pop.start-order", right=RIGHT)
class RotatesStartRequests(RotatesAtPush):
    """After each push of a start request it moves the first one of the bucket to its end."""

    kind = True


@breaks("pq.pop.tie-start-last", right=RIGHT)
class StartRequestsFirst(PriorityQueue):
    """At equal priority it serves start requests first, as Scrapy 2.13.0 did."""

    def _next(self):
        return min([*self._open, *self._parked], key=lambda place: (place.rank, not place.start), default=None)


@breaks("pq.pop.start-priority", right=RIGHT)
class StartRequestsAtTheVeryEnd(PriorityQueue):
    """It serves start requests when nothing else is left, whatever their priority is."""

    def _next(self):
        return min([*self._open, *self._parked], key=lambda place: (place.start, place.rank), default=None)


@breaks("pq.pop.late-higher", right=RIGHT)
class FinishesWhatItBegan(PriorityQueue):
    """It serves one priority until that is drained, whatever is pushed meanwhile."""

    current = None

    def _next(self):
        best, current = super()._next(), self.current
        waits = current in self._open or current in self._parked
        return current if waits and current.rank != best.rank else best

    def pop(self):
        self.current = self._next()
        return super().pop()


@breaks("pq.pop.exactly-once", right=RIGHT)
class LosesStartRequests(PriorityQueue):
    """It loses a start request whenever a third one is pushed."""

    starts = 0

    def push(self, request):
        super().push(request)
        place = self._place_of(request)
        self.starts += place.start
        if place.start and self.starts % 3 == 0:
            self._open[place].pop()
            self._close_if_empty(place)


@breaks("pq.pop.empty-none", right=RIGHT)
class RaisesWhenEmpty(PriorityQueue):
    """Its pop raises IndexError when nothing is there."""

    def pop(self):
        if not len(self):
            raise IndexError("pop from an empty queue")
        return super().pop()


@breaks("pq.pop.none-only-empty", right=RIGHT)
class PausesAfterStartRequests(PriorityQueue):
    """It returns None once when it has drained a bucket of start requests, while others wait."""

    pause = False

    def pop(self):
        if self.pause and len(self):
            self.pause = False
            return None
        place = self._next()
        request = super().pop()
        self.pause = place is not None and place.start and place not in self._open
        return request


@breaks("pq.pop.transient", "pq.pop.never-close-nonempty", right=RIGHT)
class TakesNoneForEmpty(PriorityQueue):
    """It closes and forgets a downstream queue that returns None."""

    def pop(self):
        place = self._next()
        request = super().pop()
        if request is None and place in self._open:
            self._open.pop(place).close()
        return request


@breaks("pq.pop.never-close-nonempty", right=RIGHT)
class ParksWhatSaysNone(PriorityQueue):
    """It closes a downstream queue that returns None and builds it again later, though it may be one in memory."""

    def pop(self):
        place = self._next()
        request = super().pop()
        if request is None and place in self._open:
            self._park(place)
        return request


@breaks("pq.pop.drained-closed", right=RIGHT)
class ClosesAtTheEnd(PriorityQueue):
    """It closes drained downstream queues only when it is closed itself."""

    popping = False

    def pop(self):
        self.popping = True
        try:
            return super().pop()
        finally:
            self.popping = False

    def _close_if_empty(self, place):
        with contextlib.suppress(RuntimeError):
            if self.popping and not len(self._open[place]):
                self.drained = [*self.drained, self._open.pop(place)]
                return
        super()._close_if_empty(place)

    drained = ()

    def close(self):
        for queue in self.drained:
            queue.close()
        self.drained = ()
        return super().close()


@breaks("pq.pop.error-keeps-rest", right=RIGHT)
class DropsWhatFails(PriorityQueue):
    """It forgets a downstream queue whose pop raises."""

    def pop(self):
        place = self._next()
        try:
            return super().pop()
        except Exception:
            del self._open[place]
            raise


@breaks("pq.pop.error-keeps-rest", right=RIGHT)
class HidesErrors(PriorityQueue):
    """It returns None when the pop of a downstream queue raises."""

    def pop(self):
        with contextlib.suppress(RuntimeError):
            return super().pop()


@breaks("pq.pop.cleanup-error", right=RIGHT)
class LosesWhatItCannotTidy(PriorityQueue):
    """It lets errors of the clean-up out, and so loses the request that it has taken out."""

    def _close_if_empty(self, place):
        if not len(self._open[place]):
            self._open.pop(place).close()


# --- peek and len ----------------------------------------------------------------------------------------------------


@breaks("pq.peek.equals-pop", right=RIGHT)
class PeeksAtStartRequests(PriorityQueue):
    """Its peek shows a start request first, which pop does not."""

    def peek(self):
        place = self._next()
        first = place and place._replace(start=True)
        return self._queue(first).peek() if first in self._open else super().peek()


@breaks("pq.peek.no-effect", right=RIGHT)
class CountsPeeks(PriorityQueue):
    """Every third peek counts as a request."""

    peeks = 0

    def peek(self):
        self.peeks += 1
        return super().peek()

    def __len__(self):
        return super().__len__() + self.peeks // 3


@breaks("pq.peek.empty-none", right=RIGHT)
class PeekRaisesWhenEmpty(PriorityQueue):
    """Its peek raises IndexError when nothing is there."""

    def peek(self):
        if not len(self):
            raise IndexError("peek into an empty queue")
        return super().peek()


@breaks("pq.peek.unsupported", right=RIGHT)
class SeesNothing(PriorityQueue):
    """Its peek returns None when the downstream queue cannot peek."""

    def peek(self):
        with contextlib.suppress(NotImplementedError):
            return super().peek()


@breaks("pq.len.sum", right=RIGHT)
class CountsBuckets(PriorityQueue):
    """Its length is the number of downstream queues."""

    def __len__(self):
        return len(self._open) + len(self._parked)


@breaks("pq.len.truth", right=RIGHT)
class AlwaysTrue(PriorityQueue):
    """It is always true."""

    def __bool__(self):
        return True


# --- close -----------------------------------------------------------------------------------------------------------


@breaks("pq.close.closes-all", right=RIGHT)
class ClosesTwice(PriorityQueue):
    """It closes the queues with start requests twice."""

    def _park(self, place):
        queue = self._open[place]
        super()._park(place)
        if place.start:
            with contextlib.suppress(Exception):
                queue.close()


@breaks("pq.close.state", right=RIGHT)
class ReturnsASet(PriorityQueue):
    """Its close returns a set, which JSON cannot store."""

    def close(self):
        return set(super().close())


@breaks("pq.close.state-nonempty", right=RIGHT)
class NamesWhatWasUsed(PriorityQueue):
    """Its close names every priority that was ever used, unless nothing is left."""

    used = frozenset()

    def push(self, request):
        super().push(request)
        self.used |= {-request.priority}

    def close(self):
        left = super().close()
        return sorted({*left, *self.used}) if left else left


@breaks("pq.close.empty-falsy", right=RIGHT)
class AlwaysReturnsSomething(PriorityQueue):
    """Its close names priority 0 when nothing is left."""

    def close(self):
        return super().close() or [0]


@breaks("pq.close.twice", right=RIGHT)
class ForgetsAfterClose(PriorityQueue):
    """Its second close says that nothing is left."""

    def close(self):
        left = super().close()
        self._parked.clear()
        return left


# --- Resuming --------------------------------------------------------------------------------------------------------


@breaks("pq.resume.all", right=RIGHT)
class ForgetsStartRequests(PriorityQueue):
    """It does not look for start requests when it resumes."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        for place in [place for place in [*self._open, *self._parked] if place.start]:
            self._parked.pop(place, None)
            if place in self._open:
                self._open.pop(place).close()


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


@breaks("pq.resume.stale", "pq.resume.all", "pq.resume.empty-closed", right=RIGHT)
class ServesEmptyBuckets(TrustsItsState):
    """It serves what startprios names, empty or not, and so returns None while others wait."""


@breaks("pq.resume.stale", right=RIGHT)
class RefusesStaleState(PriorityQueue):
    """It raises ValueError if startprios name a priority at which nothing is stored."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), **keywords):
        startprios = list(startprios)
        super().__init__(crawler, downstream_queue_cls, key, startprios, **keywords)
        if missing := {*startprios} - {place.rank for place in [*self._open, *self._parked]}:
            raise ValueError(f"nothing is stored at {missing}")


@breaks("pq.resume.incomplete", right=RIGHT)
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


@breaks("pq.resume.foreign-state", right=RIGHT)
class TakesAnyState(PriorityQueue):
    """It ignores state that is not its own."""

    def _ranks_by_slot(self, startprios):
        return {} if isinstance(startprios, Mapping) else super()._ranks_by_slot(startprios)


@breaks("pq.resume.foreign-state", right=RIGHT)
class RefusesWithoutAWord(PriorityQueue):
    """It refuses state that is not its own with an exception that says nothing."""

    def _ranks_by_slot(self, startprios):
        if isinstance(startprios, Mapping):
            raise ValueError
        return super()._ranks_by_slot(startprios)


@breaks("pq.resume.iterable", right=RIGHT)
class MeasuresStartprios(PriorityQueue):
    """It takes the length of startprios."""

    def _ranks_by_slot(self, startprios):
        return super()._ranks_by_slot(startprios) if len(startprios) else {}


@breaks("pq.resume.empty-closed", right=RIGHT)
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


@breaks("pq.priority.ints", right=RIGHT)
class OfMachineWords(PriorityQueue):
    """It stores priorities in 64 bits."""

    def _place_of(self, request):
        place = super()._place_of(request)
        return place._replace(rank=max(-(2**63), min(2**63 - 1, place.rank)))


@breaks("pq.priority.huge", right=RIGHT)
class AcceptsEverything(PriorityQueue):
    """It accepts priorities that are no integers, and cannot resume from them."""

    def push(self, request):
        place = self._place_of(request)
        try:
            self._queue(place).push(request)
        finally:
            if place in self._open:
                self._close_if_empty(place)


@breaks("pq.priority.at-push", right=RIGHT)
class LooksAgain(PriorityQueue):
    """It serves the bucket whose first request has the highest priority now."""

    def _next(self):
        return min([*self._open, *self._parked], key=self._rank_now, default=None)

    def _rank_now(self, place):
        queue = self._open.get(place)
        first = queue.peek() if hasattr(queue, "first") and hasattr(queue, "peek") else None
        return (place.rank if first is None else -first.priority, place.start)


@breaks("pq.scale.buckets", right=RIGHT)
class KeepsEverythingOpen(PriorityQueue):
    """It keeps a queue open for every priority."""

    MOST_OPEN = 1_000_000
