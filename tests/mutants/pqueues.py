"""Wrong priority queues: how they are built, and what they do with requests."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import ClassVar

from mutants import mutant
from queue_reference.pqueues import PriorityQueue

RIGHT = "queue_reference.pqueues.PriorityQueue"

# --- Construction ----------------------------------------------------------------------------------------------------


@mutant(fails="pq.ctor.signature")
class OfTheOldSchool(PriorityQueue):
    """Its constructor is the one before Scrapy 2.13, without start_queue_cls."""

    @classmethod
    def from_crawler(cls, crawler, downstream_queue_cls, key, startprios=()):
        return cls(crawler, downstream_queue_cls, key, startprios)


@mutant(fails="pq.ctor.signature", hint="Define `close`")
class WithoutClose(PriorityQueue):
    """It has no close."""

    close = None


@mutant(
    fails="pq.pop.exactly-once",
    may_fail=("pq.peek.equals-pop", "pq.resume.all", "pq.resume.incomplete", "pq.priority.ints"),
    hint="What a push or a pop raises",
)
class PopRaises(PriorityQueue):
    """Its pop raises when six requests are stored."""

    def pop(self):
        if len(self) == 6:
            raise LookupError("six")
        return super().pop()


@mutant(fails="pq.pop.exactly-once", hint="What the class or the module holds")
class KeptByKey(PriorityQueue):
    """It finds its downstream queues in memory by its key, which those of another crawl in the same process have, too."""

    by_key: ClassVar[dict] = {}

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), *, start_queue_cls=None):
        super().__init__(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)
        if not key:
            self._open = self.by_key.setdefault(key, self._open)

    def close(self):
        self.by_key.pop(self._key, None)
        return super().close()


@mutant(fails="pq.ctor.minimal-downstream")
class PeeksBeforePop(PriorityQueue):
    """Its pop peeks into every open downstream queue, which need not have a peek."""

    def pop(self):
        for queue in self._open.values():
            queue.peek()
        return super().pop()


@mutant(fails="pq.ctor.memory-no-io")
class KeepsAJournal(PriorityQueue):
    """It keeps a journal in its directory; without one, in the working directory if that is empty."""

    def push(self, request):
        super().push(request)
        if not self._key and not any(Path().iterdir()):
            Path("journal").write_text(request.url)


@mutant(fails="pq.ctor.fail-early", claims={"profile": "external-queue"})
class HopesForTheBest(PriorityQueue):
    """It ignores that its downstream queues cannot be built."""

    def __init__(self, *arguments, **keywords):
        with contextlib.suppress(ConnectionError):
            super().__init__(*arguments, **keywords)


# --- push ------------------------------------------------------------------------------------------------------------


@mutant(fails=("pq.push.bucket", "pq.pop.tie-downstream"))
class OpensASecondQueue(PriorityQueue):
    """In memory it opens a second queue for a priority when the first one holds three requests."""

    def _place_of(self, request):
        place = super()._place_of(request)
        full = not self._key and not place.start and len(self._open.get(place, ())) > 2
        return place._replace(rank=place.rank - 0.5) if full else place


@mutant(fails="pq.push.start-bucket")
class TakesFalseForTrue(PriorityQueue):
    """It takes every request whose meta has an is_start_request for a start request, false or not."""

    def _place_of(self, request):
        place = super()._place_of(request)
        return place._replace(start="is_start_request" in request.meta and self._classes[True] is not None)


@mutant(fails="pq.push.start-disabled")
class AlwaysSeparatesStartRequests(PriorityQueue):
    """It keeps start requests apart even without a start_queue_cls."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), *, start_queue_cls=None):
        start_queue_cls = start_queue_cls or downstream_queue_cls
        super().__init__(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)


@mutant(fails="pq.push.error-propagates")
class WrapsErrors(PriorityQueue):
    """It raises RuntimeError for the ValueError of a downstream queue."""

    def push(self, request):
        try:
            super().push(request)
        except ValueError as error:
            raise RuntimeError("cannot push") from error


@mutant(fails="pq.push.error-propagates")
class SwallowsErrors(PriorityQueue):
    """It ignores what a downstream queue refuses."""

    def push(self, request):
        with contextlib.suppress(Exception):
            super().push(request)


@mutant(fails="pq.push.failed-no-trace")
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


@mutant(fails=("pq.push.refused-no-loss", "pq.push.failed-no-trace"))
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


@mutant(fails=("pq.pop.order", "pq.pop.start-priority", "pq.priority.ints", "pq.priority.at-push"))
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


@mutant(fails="pq.pop.tie-downstream", control=RIGHT)
class Rotates(RotatesAtPush):
    """After each push it moves the first request of the bucket to its end, so that FIFO queues serve another order."""


@mutant(fails="pq.pop.start-order", control=RIGHT)
class RotatesStartRequests(RotatesAtPush):
    """After each push of a start request it moves the first one of the bucket to its end."""

    kind = True


@mutant(fails="pq.pop.tie-start-last")
class StartRequestsFirst(PriorityQueue):
    """At equal priority it serves start requests first, as Scrapy 2.13.0 did."""

    def _next(self):
        return min([*self._open, *self._parked], key=lambda place: (place.rank, not place.start), default=None)


@mutant(fails="pq.pop.start-priority")
class StartRequestsAtTheVeryEnd(PriorityQueue):
    """It serves start requests when nothing else is left, whatever their priority is."""

    def _next(self):
        return min([*self._open, *self._parked], key=lambda place: (place.start, place.rank), default=None)


@mutant(fails="pq.pop.late-higher")
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


@mutant(fails="pq.pop.exactly-once", may_fail=("pq.resume.all", "pq.scale.buckets"))
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


@mutant(fails="pq.pop.exactly-once")
class ParksStartRequestsElsewhere(PriorityQueue):
    """It keeps no more than eight downstream queues open, and notes one of start requests under the ordinary one."""

    MOST_OPEN = 8

    def _park(self, place):
        super()._park(place)
        if place.start and place in self._parked:
            self._parked[place._replace(start=False)] = self._parked.pop(place)


@mutant(fails="pq.pop.exactly-once", may_fail="pq.peek.equals-pop")
class ParksInMemory(PriorityQueue):
    """It keeps no more than a hundred downstream queues open, also those in memory, which lose what they hold."""

    def _queue(self, place):
        queue = super()._queue(place)
        if len(self._open) > self.MOST_OPEN:
            self._park(next(iter(self._open)))
        return queue


@mutant(fails=("pq.pop.exactly-once", "pq.scale.buckets"))
class ForgetsWhatIsParked(PriorityQueue):
    """It remembers no more than three hundred of the downstream queues that it has closed to save descriptors."""

    def _park(self, place):
        super()._park(place)
        if len(self._parked) > 300:
            del self._parked[next(iter(self._parked))]


@mutant(fails="pq.pop.exactly-once")
class SharesItsQueues(PriorityQueue):
    """The open downstream queues are an attribute of the class, so that those in memory and on disk are mixed up."""

    shared: ClassVar = {}

    @property
    def _open(self):
        return self.shared

    @_open.setter
    def _open(self, queues):
        SharesItsQueues.shared = queues


@mutant(fails="pq.pop.empty-none")
class RaisesWhenEmpty(PriorityQueue):
    """Its pop raises IndexError when nothing is there."""

    def pop(self):
        if not len(self):
            raise IndexError("pop from an empty queue")
        return super().pop()


@mutant(fails="pq.pop.none-only-empty", may_fail="pq.resume.all")
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


@mutant(fails=("pq.pop.transient", "pq.pop.never-close-nonempty"))
class TakesNoneForEmpty(PriorityQueue):
    """It closes and forgets a downstream queue that returns None."""

    def pop(self):
        place = self._next()
        request = super().pop()
        if request is None and place in self._open:
            self._open.pop(place).close()
        return request


@mutant(fails="pq.pop.transient")
class LosesPatience(PriorityQueue):
    """It forgets a downstream queue that has returned None ten times."""

    answers = 0

    def pop(self):
        place = self._next()
        request = super().pop()
        self.answers = self.answers + 1 if request is None and place in self._open else 0
        if self.answers == 10:
            del self._open[place]
        return request


@mutant(fails="pq.pop.never-close-nonempty")
class ParksWhatSaysNone(PriorityQueue):
    """It closes a downstream queue that returns None and builds it again later, though it may be one in memory."""

    def pop(self):
        place = self._next()
        request = super().pop()
        if request is None and place in self._open:
            self._park(place)
        return request


class ClosesLater:
    """Downstream queues that a pop drains are closed when another one is opened, or the whole is closed."""

    popping = False
    drained = ()

    def pop(self):
        self.popping = True
        try:
            return super().pop()
        finally:
            self.popping = False

    def _close_if_empty(self, place):
        with contextlib.suppress(RuntimeError):
            if self.popping and not len(self._open[place]):
                self.drained = [*self.drained, self._open[place]]
                return self._let_go(place)
        return super()._close_if_empty(place)

    def _queue(self, place):
        if place not in self._open:
            self._close_drained()
        return super()._queue(place)

    def close(self):
        self._close_drained()
        return super().close()

    def _close_drained(self):
        for queue in self.drained:
            queue.close()
        self.drained = ()


@mutant(fails="pq.pop.drained-closed", control=RIGHT)
class ClosesAtTheEnd(ClosesLater, PriorityQueue):
    """It closes drained downstream queues only when it opens another one, or is closed itself."""

    def _let_go(self, place):
        del self._open[place]


@mutant(fails="pq.pop.error-keeps-rest")
class DropsWhatFails(PriorityQueue):
    """It forgets a downstream queue whose pop raises."""

    def pop(self):
        place = self._next()
        try:
            return super().pop()
        except Exception:
            del self._open[place]
            raise


@mutant(fails="pq.pop.error-keeps-rest")
class DropsFlaggedWhereOneFails(PriorityQueue):
    """It forgets a downstream queue whose pop raises, if a request with flags was pushed into it."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        self.flagged = set()

    def push(self, request):
        super().push(request)
        if request.flags:
            self.flagged.add(self._place_of(request))

    def pop(self):
        place = self._next()
        try:
            return super().pop()
        except Exception:
            if place in self.flagged:
                del self._open[place]
            raise


@mutant(fails="pq.pop.error-keeps-rest")
class DropsWhatFailsThrice(PriorityQueue):
    """It forgets a downstream queue whose pop has raised three times."""

    errors = 0

    def pop(self):
        place = self._next()
        try:
            return super().pop()
        except Exception:
            self.errors += 1
            if self.errors == 3:
                del self._open[place]
            raise


@mutant(fails="pq.len.sum")
class CountsBeforeItPops(PriorityQueue):
    """It counts a request as popped before the downstream queue is asked, so that its length is too low after an error."""

    popped = 0

    def pop(self):
        self.popped += 1
        request = super().pop()
        self.popped -= 1
        return request

    def __len__(self):
        return max(super().__len__() - self.popped, 0)


@mutant(fails=("pq.pop.error-keeps-rest",))
class StopsWhenItsCountSaysSo(CountsBeforeItPops):
    """It counts a request as popped before the downstream queue is asked, and gives up when it has counted to the end."""

    def pop(self):
        return super().pop() if len(self) else None


@mutant(fails="pq.pop.error-keeps-rest")
class HidesErrors(PriorityQueue):
    """It returns None when the pop of a downstream queue raises."""

    def pop(self):
        with contextlib.suppress(RuntimeError):
            return super().pop()


@mutant(fails="pq.pop.cleanup-error")
class LosesWhatItCannotTidy(PriorityQueue):
    """It lets errors of the clean-up out, and so loses the request that it has taken out."""

    def _close_if_empty(self, place):
        if not len(self._open[place]):
            self._open.pop(place).close()
