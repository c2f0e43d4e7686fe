"""Broken schedulers: the interface, and the duplicates filter."""

from __future__ import annotations

import time

from gallery import breaks
from queue_reference.scheduler import Scheduler

RIGHT = "queue_reference.scheduler.Scheduler"


# --- The interface ---------------------------------------------------------------------------------------------------


@breaks("claims.true", right=RIGHT, claims={"length": "yes"})
class ClaimsALength(Scheduler):
    """It has no length, though its author says so."""

    __len__ = None

    def has_pending_requests(self):
        return bool(Scheduler.__len__(self))


@breaks("scheduler.iface", right=RIGHT)
class CannotBeAsked(Scheduler):
    """It lacks has_pending_requests."""

    has_pending_requests = None


@breaks("scheduler.ctor.from-crawler", right=RIGHT)
class WantsAKey(Scheduler):
    """Its from_crawler takes a key, like that of a queue."""

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler)


@breaks("scheduler.ctor.from-crawler", right=RIGHT)
class WantsATable(Scheduler):
    """Its open raises, since nobody has made the table that it wants."""

    def open(self, spider):
        raise LookupError("no such table")


@breaks("scheduler.open.result", right=RIGHT)
class OpensAsynchronously(Scheduler):
    """Its open is a coroutine."""

    async def open(self, spider):
        return super().open(spider)


@breaks("scheduler.open.result", right=RIGHT)
class ReturnsItself(Scheduler):
    """Its close returns whether that worked."""

    def close(self, reason):
        super().close(reason)
        return True


@breaks("scheduler.enqueue.true", right=RIGHT)
class LosesTheFortieth(Scheduler):
    """It forgets a request when forty are pending."""

    def enqueue_request(self, request):
        return True if len(self) == 39 else super().enqueue_request(request)


@breaks("scheduler.enqueue.false", right=RIGHT)
class StoresAndRejects(Scheduler):
    """It rejects a start request that it has seen, but stores it nevertheless."""

    def enqueue_request(self, request):
        accepted = super().enqueue_request(request)
        if not accepted and request.meta.get("is_start_request"):
            self._memory.push(request)
        return accepted


@breaks("scheduler.enqueue.bool", right=RIGHT)
class AnswersNothing(Scheduler):
    """Its enqueue_request returns None."""

    def enqueue_request(self, request):
        super().enqueue_request(request)


@breaks("scheduler.enqueue.bool", "scheduler.enqueue.duplicate", right=RIGHT)
class AnswersNothingAndFiltersByPriority(AnswersNothing):
    """Its enqueue_request returns None, and a request of another priority is no duplicate."""

    def enqueue_request(self, request):
        if request.priority == 5:
            self._forgiven.add(self._fingerprint(request))
        super().enqueue_request(request)


@breaks("scheduler.next.none-empty", right=RIGHT)
class RaisesWhenEmpty(Scheduler):
    """Its next_request raises when nothing is pending."""

    def next_request(self):
        if not len(self):
            raise IndexError("nothing is pending")
        return super().next_request()


@breaks("scheduler.next.bounded-time", right=RIGHT)
class WaitsForWork(Scheduler):
    """Its next_request waits until something is pending."""

    def next_request(self):
        while not len(self):
            time.sleep(0.01)
        return super().next_request()


@breaks("scheduler.next.priority", right=RIGHT)
class ComparesText(Scheduler):
    """It compares priorities as text."""

    def __init__(self, crawler):
        super().__init__(crawler)
        buckets = self._memory
        buckets._best = lambda: max((b for b, q in buckets._queues.items() if len(q)), key=lambda b: (str(b[0]), not b[1]))


@breaks("scheduler.pending.exact", right=RIGHT)
class LooksAtTheDiskOnly(Scheduler):
    """With a job directory, what is in memory is not pending."""

    def has_pending_requests(self):
        return bool(len(self._memory) if self._disk is None else len(self._disk))


@breaks("scheduler.pending.pure", right=RIGHT)
class GetsTiredOfQuestions(Scheduler):
    """It forgets a request when it was asked fifty times whether something is pending."""

    questions = 0

    def has_pending_requests(self):
        self.questions += 1
        if self.questions % 50 == 0:
            super().next_request()
        return super().has_pending_requests()


@breaks("scheduler.len", right=RIGHT)
class CountsPriorities(Scheduler):
    """Its length is the number of priorities."""

    def __len__(self):
        queues = [part._queues for part in (self._memory, self._disk) if part is not None]
        return len({priority for found in queues for (priority, _), queue in found.items() if len(queue)})

    def has_pending_requests(self):
        return Scheduler.__len__(self) > 0


@breaks("scheduler.close.reason", right=RIGHT)
class RaisesAtTheEnd(Scheduler):
    """Its close raises, whatever the reason."""

    def close(self, reason):
        super().close(reason)
        raise LookupError("no such table")


@breaks("scheduler.close.reason", right=RIGHT)
class KnowsThreeReasons(Scheduler):
    """Its close takes no reason but those that Scrapy itself gives."""

    def close(self, reason):
        if reason not in ("finished", "shutdown", "cancelled"):
            raise ValueError(f"{reason!r} is no reason")
        return super().close(reason)


# --- The filter ------------------------------------------------------------------------------------------------------


@breaks("scheduler.enqueue.duplicate", right=RIGHT)
class FiltersByPriority(Scheduler):
    """A request of another priority is no duplicate."""

    def enqueue_request(self, request):
        if request.priority == 5:
            self._forgiven.add(self._fingerprint(request))
        return super().enqueue_request(request)


@breaks("scheduler.enqueue.duplicate", right=RIGHT)
class FiltersByAddress(Scheduler):
    """It takes requests of other methods to the same address for duplicates."""

    def __init__(self, crawler):
        super().__init__(crawler)
        seen = self._filter.request_seen
        self._filter.request_seen = lambda request: seen(request.replace(method="GET"))

    def _fingerprint(self, request):
        return super()._fingerprint(request.replace(method="GET"))


@breaks("scheduler.enqueue.dont-filter", right=RIGHT)
class FiltersEverything(Scheduler):
    """It rejects a request with dont_filter whose address was seen without it."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._urls = set()

    def enqueue_request(self, request):
        if request.dont_filter and request.url in self._urls:
            return False
        if not request.dont_filter:
            self._urls.add(request.url)
        return super().enqueue_request(request)


@breaks("scheduler.enqueue.dont-filter-unseen", right=RIGHT)
class AsksTheFilterAlways(Scheduler):
    """It asks the filter about requests with dont_filter, too, and ignores the answer."""

    def enqueue_request(self, request):
        if request.dont_filter:
            self._filter.request_seen(request)
        return super().enqueue_request(request)


@breaks("scheduler.enqueue.drop-logged", right=RIGHT)
class DropsInSilence(Scheduler):
    """It does not tell the filter about a duplicate."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._filter.log = lambda request, spider: None


@breaks("scheduler.enqueue.failed-not-seen", right=RIGHT)
class ForgivesNothing(Scheduler):
    """A request that could not be stored stays seen."""

    def _store(self, request):
        try:
            return super()._store(request)
        except Exception:
            self._forgiven = Nothing()
            raise


class Nothing(set):
    """A set that stays empty."""

    def add(self, element):
        pass


@breaks("scheduler.open.dupefilter", right=RIGHT)
class ClosesTheFilterWithoutReason(Scheduler):
    """It always says to the filter that the crawl is finished."""

    def close(self, reason):
        return super().close("finished")


@breaks("scheduler.open.dupefilter", right=RIGHT)
class DoesNotWaitForTheFilter(Scheduler):
    """It does not return what the filter returns when it is opened."""

    def open(self, spider):
        super().open(spider)
