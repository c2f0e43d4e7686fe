"""Wrong schedulers: the interface, and the dupefilter."""

from __future__ import annotations

import re
import time
from collections import Counter
from urllib.parse import urlsplit

from scrapy.utils.request import fingerprint
from w3lib.url import canonicalize_url

from mutants import mutant
from queue_reference.scheduler import Scheduler

# --- The interface ---------------------------------------------------------------------------------------------------


@mutant(fails="claims.true", claims={"length": "yes"})
class ClaimsALength(Scheduler):
    """It has no length, though its author says so."""

    __len__ = None

    def has_pending_requests(self):
        return bool(Scheduler.__len__(self))


@mutant(fails="scheduler.iface")
class CannotBeAsked(Scheduler):
    """It lacks has_pending_requests."""

    has_pending_requests = None


@mutant(fails="scheduler.ctor.from-crawler", hint="Declare `@classmethod")
class WantsAKey(Scheduler):
    """Its from_crawler takes a key, like that of a queue."""

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler)


@mutant(fails="scheduler.ctor.from-crawler", hint="The engine calls `open(spider)`")
class WantsATable(Scheduler):
    """Its open raises, since nobody has made the table that it wants."""

    def open(self, spider):
        raise LookupError("no such table")


@mutant(fails="scheduler.ctor.from-crawler", hint="What it looks for in its spider")
class WantsTheNameOfAQueue(Scheduler):
    """Its open raises where the spider names no queue."""

    def open(self, spider):
        if not hasattr(spider, "queue_name"):
            raise ValueError("the spider names no queue")
        return super().open(spider)


@mutant(fails="scheduler.ctor.from-crawler", hint="A scheduler that needs a job directory")
class WantsAJob(Scheduler):
    """It cannot be built without a job directory."""

    def __init__(self, crawler):
        super().__init__(crawler)
        if not crawler.settings["JOBDIR"]:
            raise ValueError("JOBDIR is not set")


@mutant(fails="scheduler.ctor.from-crawler", hint="Return the scheduler")
class FactoryReturnsNone(Scheduler):
    """Its from_crawler forgets to return the scheduler."""

    @classmethod
    def from_crawler(cls, crawler):
        cls(crawler)


@mutant(fails="scheduler.open.result")
class OpensAsynchronously(Scheduler):
    """Its open is a coroutine."""

    async def open(self, spider):
        return super().open(spider)


@mutant(fails="scheduler.open.result")
class ReturnsItself(Scheduler):
    """Its close returns whether that worked."""

    def close(self, reason):
        super().close(reason)
        return True


@mutant(
    fails="scheduler.enqueue.true", may_fail=("e2e.all-once", "e2e.pause-resume", "job.resume.command", "scheduler.close.persist")
)
class DropsBodies(Scheduler):
    """It says that it has stored a request with a body, and drops it."""

    def enqueue_request(self, request):
        return True if request.body else super().enqueue_request(request)


@mutant(fails="scheduler.enqueue.true", hint="Count copies")
class KeepsEqualOnesOnce(Scheduler):
    """It says that it has stored a request which is not to be filtered, and has not where an equal one waits."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self.waiting = set()

    def enqueue_request(self, request):
        equal = fingerprint(request)
        if request.dont_filter and equal in self.waiting:
            return True
        self.waiting.add(equal)
        return super().enqueue_request(request)

    def next_request(self):
        popped = super().next_request()
        if popped is not None:
            self.waiting.discard(fingerprint(popped))
        return popped


@mutant(fails="scheduler.enqueue.true")
class LosesTheFortieth(Scheduler):
    """It forgets a request when forty are pending."""

    def enqueue_request(self, request):
        return True if len(self) == 39 else super().enqueue_request(request)


@mutant(fails="scheduler.enqueue.false")
class StoresAndRejects(Scheduler):
    """It rejects a start request that it has seen, but stores it nevertheless."""

    def enqueue_request(self, request):
        accepted = super().enqueue_request(request)
        if not accepted and request.meta.get("is_start_request"):
            self._memory.push(request)
        return accepted


@mutant(fails="scheduler.enqueue.bool")
class AnswersNothing(Scheduler):
    """Its enqueue_request returns None."""

    def enqueue_request(self, request):
        super().enqueue_request(request)


@mutant(fails=("scheduler.enqueue.bool", "scheduler.enqueue.duplicate"))
class AnswersNothingAndFiltersByPriority(AnswersNothing):
    """Its enqueue_request returns None, and a request of another priority is no duplicate."""

    def enqueue_request(self, request):
        if request.priority == 5:
            self._forgiven.add(self._fingerprint(request))
        super().enqueue_request(request)


@mutant(fails="scheduler.next.none-empty")
class RaisesWhenEmpty(Scheduler):
    """Its next_request raises when nothing is pending."""

    def next_request(self):
        if not len(self):
            raise IndexError("nothing is pending")
        return super().next_request()


@mutant(fails="scheduler.next.bounded-time")
class WaitsForWork(Scheduler):
    """Its next_request waits until something is pending."""

    def next_request(self):
        while not len(self):
            time.sleep(0.01)
        return super().next_request()


@mutant(fails="scheduler.next.bounded-time")
class WaitsForItsDisk(Scheduler):
    """Its enqueue_request waits for more than half a second, as if each request were sent to a disk that is far away."""

    def enqueue_request(self, request):
        time.sleep(0.6)
        return super().enqueue_request(request)


@mutant(fails="scheduler.next.priority")
class ComparesText(Scheduler):
    """It compares priorities as text."""

    def __init__(self, crawler):
        super().__init__(crawler)
        buckets = self._memory
        buckets._best = lambda: max((b for b, q in buckets._queues.items() if len(q)), key=lambda b: (str(b[0]), not b[1]))


@mutant(fails="scheduler.pending.exact")
class LooksAtTheDiskOnly(Scheduler):
    """With a job directory, what is in memory is not pending."""

    def has_pending_requests(self):
        return bool(len(self._memory) if self._disk is None else len(self._disk))


@mutant(fails="scheduler.pending.exact")
class WaitsForNoRetry(Scheduler):
    """What is tried again is not pending."""

    retries = 0

    def enqueue_request(self, request):
        stored = super().enqueue_request(request)
        self.retries += bool(stored and request.meta.get("retry_times"))
        return stored

    def next_request(self):
        request = super().next_request()
        if request is not None and request.meta.get("retry_times"):
            self.retries = max(self.retries - 1, 0)
        return request

    def has_pending_requests(self):
        return len(self) > self.retries


@mutant(fails="scheduler.pending.pure")
class GetsTiredOfQuestions(Scheduler):
    """It forgets a request when it was asked fifty times whether something is pending."""

    questions = 0

    def has_pending_requests(self):
        self.questions += 1
        if self.questions % 50 == 0:
            super().next_request()
        return super().has_pending_requests()


@mutant(fails="scheduler.len")
class CountsPriorities(Scheduler):
    """Its length is the number of priorities."""

    def __len__(self):
        queues = [part._queues for part in (self._memory, self._disk) if part is not None]
        return len({priority for found in queues for (priority, _), queue in found.items() if len(queue)})

    def has_pending_requests(self):
        return Scheduler.__len__(self) > 0


@mutant(fails="scheduler.len")
class CountsOneTooMany(Scheduler):
    """Its length is one too many."""

    def __len__(self):
        return super().__len__() + 1

    def has_pending_requests(self):
        return Scheduler.__len__(self) > 0


@mutant(fails="scheduler.close.reason", hint="Whatever fails at the end")
class RaisesAtTheEnd(Scheduler):
    """Its close raises, whatever the reason."""

    def close(self, reason):
        super().close(reason)
        raise LookupError("no such table")


@mutant(fails="scheduler.close.reason", hint="Declare `def close(self, reason)`")
class KnowsThreeReasons(Scheduler):
    """Its close takes no reason but those that Scrapy itself gives."""

    def close(self, reason):
        if reason not in ("finished", "shutdown", "cancelled"):
            raise ValueError(f"{reason!r} is no reason")
        return super().close(reason)


# --- The filter ------------------------------------------------------------------------------------------------------


@mutant(fails="scheduler.enqueue.duplicate")
class FiltersByPriority(Scheduler):
    """A request of another priority is no duplicate."""

    def enqueue_request(self, request):
        if request.priority == 5:
            self._forgiven.add(self._fingerprint(request))
        return super().enqueue_request(request)


@mutant(fails="scheduler.enqueue.no-false-positive", hint="What is meant to be ignored")
class FiltersByAddress(Scheduler):
    """It takes requests of other methods to the same address for duplicates."""

    def __init__(self, crawler):
        super().__init__(crawler)
        seen = self._filter.request_seen
        self._filter.request_seen = lambda request: seen(self.alike(request))

    def _fingerprint(self, request):
        return super()._fingerprint(self.alike(request))

    def alike(self, request):
        return request.replace(method="GET")


@mutant(
    fails="scheduler.enqueue.no-false-positive",
    may_fail=("scheduler.enqueue.dont-filter", "job.resume.command", "e2e.all-once"),
)
class TakesTenOfASite(Scheduler):
    """It accepts ten requests of a site, whatever they are, and rejects all others."""

    def open(self, spider):
        self.of_sites = Counter()
        return super().open(spider)

    def enqueue_request(self, request):
        site = urlsplit(request.url).netloc
        accepted = self.of_sites[site] < 10 and super().enqueue_request(request)
        self.of_sites[site] += accepted
        return accepted


@mutant(fails="scheduler.enqueue.no-false-positive")
class TakesHTTPForHTTPS(FiltersByAddress):
    """It takes what http and https show under one address for one page."""

    def alike(self, request):
        return request.replace(url=request.url.replace("http://", "https://", 1))


@mutant(fails="scheduler.enqueue.no-false-positive")
class IgnoresTheLastSlash(FiltersByAddress):
    """It takes an address with a slash at its end for the one without."""

    def alike(self, request):
        return request.replace(url=request.url.rstrip("/"))


@mutant(fails="scheduler.enqueue.no-false-positive")
class IgnoresPorts(FiltersByAddress):
    """It takes what two ports of a host show for one page."""

    def alike(self, request):
        return request.replace(url=re.sub(r":\d+/", "/", request.url, count=1))


@mutant(fails="scheduler.enqueue.no-false-positive")
class IgnoresEmptyArguments(FiltersByAddress):
    """It takes an argument without a value for none."""

    def alike(self, request):
        return request.replace(url=canonicalize_url(request.url, keep_blank_values=False))


@mutant(fails="scheduler.enqueue.dont-filter")
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


@mutant(fails="scheduler.enqueue.dont-filter-unseen")
class AsksTheFilterAlways(Scheduler):
    """It asks the filter about requests with dont_filter, too, and ignores the answer."""

    def enqueue_request(self, request):
        if request.dont_filter:
            self._filter.request_seen(request)
        return super().enqueue_request(request)


@mutant(fails="scheduler.enqueue.drop-logged")
class DropsInSilence(Scheduler):
    """It does not tell the filter about a duplicate."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._filter.log = lambda request, spider: None


@mutant(fails="scheduler.enqueue.failed-not-seen")
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


@mutant(fails="scheduler.open.dupefilter")
class ClosesTheFilterWithoutReason(Scheduler):
    """It always says to the filter that the crawl is finished."""

    def close(self, reason):
        return super().close("finished")


@mutant(fails="scheduler.open.dupefilter")
class DoesNotWaitForTheFilter(Scheduler):
    """It does not return what the filter returns when it is opened."""

    def open(self, spider):
        super().open(spider)
