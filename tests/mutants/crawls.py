"""Wrong schedulers and queues whose mistakes only whole crawls show: what comes to them there comes from nowhere else."""

from __future__ import annotations

import signal
from contextlib import suppress
from functools import partial
from sqlite3 import OperationalError
from typing import ClassVar
from uuid import uuid4

from redis import exceptions
from scrapy import signals

from mutants import mutant
from mutants.disk import PopsInMemoryOnly
from queue_reference.disk import FifoDiskQueue
from queue_reference.redis import FifoRedisQueue
from queue_reference.redis_scheduler import SharedRedisScheduler
from queue_reference.scheduler import Buckets, Scheduler

SETTINGS = {
    "DUPEFILTER_CLASS": "queue_reference.dupefilter.DupeFilter",
    "SCHEDULER_DISK_QUEUE": "queue_reference.disk.LifoDiskQueue",
    "SCHEDULER_START_DISK_QUEUE": "queue_reference.disk.FifoDiskQueue",
}
EXTERNAL = {"profile": "external-queue"}


# --- Pages -----------------------------------------------------------------------------------------------------------


@mutant(fails="e2e.all-once", settings=SETTINGS, hint="A request comes out with")
class LosesCallbacksOfRedirects(Scheduler):
    """It makes the request anew that a redirect leads to, and forgets the callback."""

    def enqueue_request(self, request):
        return super().enqueue_request(request.replace(callback=None) if "redirect_urls" in request.meta else request)


@mutant(fails="e2e.all-once", settings=SETTINGS)
class LosesArgumentsOfRedirects(Scheduler):
    """It makes the request anew that a redirect leads to, and forgets what is for the callback."""

    def enqueue_request(self, request):
        return super().enqueue_request(request.replace(cb_kwargs={}) if "redirect_urls" in request.meta else request)


@mutant(fails=("e2e.all-once", "scheduler.enqueue.true"), settings=SETTINGS)
class DropsRetries(Scheduler):
    """It says that it has stored a request that is to be tried again, and takes that for a duplicate."""

    def enqueue_request(self, request):
        return "retry_times" in request.meta or super().enqueue_request(request)


@mutant(fails=("e2e.all-once", "scheduler.next.roundtrip"), settings=SETTINGS, hint="A page that comes twice")
class StoresRedirectsTwice(Scheduler):
    """It stores what a redirect leads to once for its new URL, and once for its old one."""

    def enqueue_request(self, request):
        if "redirect_urls" in request.meta:
            super().enqueue_request(request.replace(dont_filter=True))
        return super().enqueue_request(request)


@mutant(fails=("e2e.all-once", "queue.pop.exactly-once"))
class DropsRetriesBelow(FifoDiskQueue):
    """It takes a request that is to be tried again for one that was stored before, and stores it no more."""

    def push(self, request):
        if "retry_times" not in request.meta:
            super().push(request)


@mutant(
    fails="e2e.no-early-end",
    may_fail=(
        *("scheduler.settings.classes", "scheduler.enqueue.fallback-serialization", "scheduler.enqueue.true"),
        *("scheduler.enqueue.other-propagates", "scheduler.next.no-spurious-none"),
    ),
    settings=SETTINGS,
)
class TakesARestForTheEnd(Scheduler):
    """It gives nothing every other time, and says that nothing is pending then."""

    rests = False

    def next_request(self):
        self.rests = not self.rests
        return None if self.rests else super().next_request()

    def has_pending_requests(self):
        return not self.rests and super().has_pending_requests()


@mutant(fails="e2e.all-once", settings=SETTINGS, hint="Something is pending")
class CountsAnswersOnly(Scheduler):
    """It has places for two requests at a time, and frees one when a response comes, but not when none does."""

    free = 2

    def __init__(self, crawler):
        super().__init__(crawler)
        crawler.signals.connect(self._taken, signals.request_reached_downloader)
        crawler.signals.connect(self._freed, signals.response_downloaded)

    def _taken(self):
        self.free -= 1

    def _freed(self):
        self.free += 1

    def next_request(self):
        return super().next_request() if self.free > 0 else None


@mutant(fails="e2e.all-once", settings=SETTINGS)
class FiltersRedirects(Scheduler):
    """It filters what a redirect leads to, even where the first request was not to be filtered."""

    def enqueue_request(self, request):
        return super().enqueue_request(request.replace(dont_filter=False) if "redirect_urls" in request.meta else request)


@mutant(fails="e2e.pop-transient", settings=SETTINGS)
class EmptiesSilentQueues(Scheduler):
    """It takes a queue that returns nothing for an empty one, and begins another one."""

    def next_request(self):
        request = super().next_request()
        if request is None and self._memory:
            self._memory = Buckets(self._crawler, "MEMORY")
        return request


# --- Signals ---------------------------------------------------------------------------------------------------------


@mutant(fails="e2e.dropped-signal", settings=SETTINGS)
class SendsDropped(Scheduler):
    """It sends request_dropped itself, which the engine does."""

    def enqueue_request(self, request):
        accepted = super().enqueue_request(request)
        if not accepted:
            self._crawler.signals.send_catch_log(signals.request_dropped, request=request, spider=self._crawler.spider)
        return accepted


@mutant(fails="e2e.empty-signal", settings=SETTINGS)
class SendsEmpty(Scheduler):
    """It sends scheduler_empty itself, which the engine does."""

    def next_request(self):
        request = super().next_request()
        if request is None:
            self._crawler.signals.send_catch_log(signals.scheduler_empty)
        return request


@mutant(fails=("e2e.lifecycle", "e2e.ignored-request"), settings=SETTINGS)
class CrawlsOnAfterTheEnd(Scheduler):
    """It gives its last request to the engine once more when the spider is closed, because it has no answer to that yet."""

    last = None

    def __init__(self, crawler):
        super().__init__(crawler)
        crawler.signals.connect(self._once_more, signals.spider_closed)

    def next_request(self):
        request = super().next_request()
        self.last = request or self.last
        return request

    def _once_more(self):
        self._crawler.engine.crawl(self.last)


@mutant(fails=("e2e.keep-alive", "e2e.pop-transient"), may_fail=("e2e.ignored-request", "e2e.two-crawlers"), settings=SETTINGS)
class ClosesTheSpider(Scheduler):
    """It closes the spider when it is empty and nothing is in flight."""

    def next_request(self):
        request = super().next_request()
        if request is None and self._crawler.crawling and not self._crawler.engine.downloader.active:
            self._crawler.engine.close_spider(self._crawler.spider, "finished")
        return request


@mutant(fails="e2e.ignored-request", settings=SETTINGS)
class TakesWhatIsAnnounced(Scheduler):
    """It stores a request when it is announced, and does not wait for it."""

    def __init__(self, crawler):
        super().__init__(crawler)
        crawler.signals.connect(self._announced, signals.request_scheduled)
        self._answers = {}

    def _announced(self, request):
        self._answers[request] = super().enqueue_request(request)

    def enqueue_request(self, request):
        return self._answers.pop(request) if request in self._answers else super().enqueue_request(request)


@mutant(fails="e2e.unserializable-throughput", settings=SETTINGS)
class RestsAfterMemory(Scheduler):
    """It returns nothing after a request that it had to keep in memory beside a job, and that a callback had made."""

    rests = 0

    def next_request(self):
        if self.rests:
            self.rests -= 1
            return None
        before = len(self._memory)
        request = super().next_request()
        if self._disk is not None and len(self._memory) < before and "depth" in request.meta:
            self.rests = 3
        return request


# --- Pause, many slots, two crawls -----------------------------------------------------------------------------------


@mutant(fails="e2e.pause-resume")
class ForgetsWhileClosing(FifoDiskQueue):
    """It stores nothing any more once the spider is being closed."""

    def push(self, request):
        engine = self._crawler.engine
        slot = getattr(engine, "_slot", None) or getattr(engine, "slot", None)  # its name until Scrapy 2.13
        if not (slot and slot.closing):
            super().push(request)


@mutant(
    fails=("e2e.pause-resume", "queue.persist.partial"),
    control="queue_reference.disk.FifoDiskQueue",
    may_fail=("queue.pop.unreadable", "e2e.all-once"),
    hint=("A page that comes in both", "A pop must reach the storage"),
)
class RepeatsWhatItPopped(PopsInMemoryOnly):
    """It does not tell the file what was popped, unless all was, so that a crawl that continues gets it again."""


@mutant(fails="e2e.broad", settings=SETTINGS)
class OpensAFileForEachSlot(Scheduler):
    """It keeps a file open for each slot that callbacks name."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self.files = {}

    def enqueue_request(self, request):
        slot = request.meta.get("download_slot")
        if self._job and slot and "depth" in request.meta and slot not in self.files:
            self.files[slot] = open(f"{self._job}/{slot}", "a")  # noqa: SIM115
        return super().enqueue_request(request)


@mutant(fails="e2e.two-crawlers", settings=SETTINGS)
class OneMemoryForASite(Scheduler):
    """It has one memory and one disk for all crawls of a site in this process."""

    opened: ClassVar[dict] = {}

    def open(self, spider):
        opened = super().open(spider)
        if site := self._crawler.settings["SITE"]:
            self._disk = self.opened.setdefault(site, self._disk)
        return opened


# --- Faults ----------------------------------------------------------------------------------------------------------


@mutant(
    fails=("e2e.push-transient", "scheduler.enqueue.fallback-transient", "scheduler.enqueue.debug-log"),
    claims=EXTERNAL,
    settings=SETTINGS,
)
class LetsTransientErrorsThrough(Scheduler):
    """It lets the transient error of its disk queue through, and logs nothing of what it keeps in memory instead."""

    def _store(self, request):
        if self._disk is not None:
            try:
                self._disk.push(request)
                return "disk"
            except ValueError:
                self._count("unserializable")
        self._memory.push(request)
        return "memory"


@mutant(fails=("e2e.push-permanent", "e2e.ctor-error"), claims=EXTERNAL, settings=SETTINGS)
class KeepsInMemoryWhatDiskRefuses(Scheduler):
    """It keeps a request in memory whatever its disk queue raises, once a crawl has begun."""

    def _store(self, request):
        try:
            return super()._store(request)
        except RuntimeError:
            if not self._crawler.crawling:
                raise
            self._memory.push(request)
            return "memory"


@mutant(fails="e2e.pop-permanent", claims=EXTERNAL, settings=SETTINGS)
class WaitsForBrokenQueues(Scheduler):
    """It lets through what its disk queue raises, after which the engine asks again, and again."""

    def _pop_from_disk(self, disk):
        return disk.pop()


# --- A server that is away or refuses, and a full disk ----------------------------------------------------------------

served = partial(
    mutant,
    control="queue_reference.redis.FifoRedisQueue",
    settings={"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.5"},
    server="redis",
)


@served(fails="e2e.server-away")
class GivesUpWaiting(FifoRedisQueue):
    """It takes itself for empty once it has returned nothing six times in a row."""

    misses = 0

    def push(self, request):
        super().push(request)
        self.misses = 0

    def pop(self):
        request = super().pop()
        self.misses = 0 if request else self.misses + 1
        return request

    def __len__(self):
        return super().__len__() if self.misses < 6 else 0


@served(fails="e2e.server-refuses")
class BeginsAnewAfterARefusal(FifoRedisQueue):
    """It removes what is stored when it is closed after its server has refused something."""

    refused = False

    def push(self, request):
        try:
            super().push(request)
        except exceptions.ResponseError:
            self.refused = True
            raise

    def close(self):
        if self.refused:
            with suppress(exceptions.RedisError):
                self._client.delete(self._key)
        super().close()


@mutant(fails=("e2e.disk-full", "queue.push.no-silent-loss"))
class ForgivesAFullDisk(FifoDiskQueue):
    """It says nothing of what the disk refuses."""

    def push(self, request):
        with suppress(OperationalError):
            super().push(request)


# --- Order -----------------------------------------------------------------------------------------------------------


@mutant(fails=("e2e.dfo", "scheduler.next.roundtrip"), settings=SETTINGS)
class DeepLast(Scheduler):
    """It puts requests last that are far from the start."""

    def enqueue_request(self, request):
        deep = request.meta.get("depth", 0) > 1 and not request.priority
        return super().enqueue_request(request.replace(priority=-1) if deep else request)


@mutant(fails=("e2e.bfo", "e2e.priority", "scheduler.next.roundtrip"), settings=SETTINGS)
class DeepFirst(Scheduler):
    """It puts requests first that are far from the start."""

    def enqueue_request(self, request):
        far = 9 if request.meta.get("depth", 0) > 1 else 0
        return super().enqueue_request(request.replace(priority=request.priority + far))


# --- Several crawlers on one scheduler -------------------------------------------------------------------------------

shared = partial(
    mutant,
    control="queue_reference.redis_scheduler.SharedRedisScheduler",
    claims={"shared": "yes"},
    settings={"REDIS_URL": "redis://{host}:{port}/0", "REDIS_LEASE": "3", "REDIS_TIMEOUT": "0.5"},
    server="redis",
)


shared_for_longer = partial(
    shared, settings={"REDIS_URL": "redis://{host}:{port}/0", "REDIS_LEASE": "10", "REDIS_TIMEOUT": "0.5"}
)
"""The page whose links were dropped is lent for longer than an accident lasts, or another crawler would find them again."""


@shared(fails=("e2e.shared.once", "scheduler.resume.seen"))
class FiltersAlone(SharedRedisScheduler):
    """Each crawler knows only of the requests that it has stored itself."""

    def open(self, spider):
        self.own = uuid4().hex
        super().open(spider)

    def _key(self, name):
        return super()._key(f"seen:{self.own}" if name == "seen" else name)


@shared(fails="e2e.shared.frozen")
class StoresNothingAfterAPause(SharedRedisScheduler):
    """A crawler that stood still takes itself for replaced, and stores nothing any more."""

    replaced = False

    def open(self, spider):
        super().open(spider)
        signal.signal(signal.SIGCONT, self.replace)

    def replace(self, *_):
        self.replaced = True

    def enqueue_request(self, request):
        return not self.replaced and super().enqueue_request(request)


@shared_for_longer(fails=("e2e.shared.restarted", "scheduler.fault.keeps"))
class DropsWhatFindsNoServer(SharedRedisScheduler):
    """It keeps what a server does not take that says nothing, and forgets what one does not take that is gone."""

    def _send(self):
        try:
            return super()._send()
        except exceptions.ConnectionError:
            try:
                self._client.ping()
            except exceptions.ConnectionError:
                self._unsent.clear()
            raise


@shared_for_longer(fails="e2e.shared.cut-off")
class DropsWhatComesTooLate(SharedRedisScheduler):
    """It keeps what a server that is gone does not take, and forgets what one does not take that says nothing."""

    def _send(self):
        try:
            return super()._send()
        except exceptions.TimeoutError:
            self._unsent.clear()
            raise


@shared(fails=("e2e.shared.redelivered", "scheduler.fault.keeps"), claims={"shared": "yes", "redelivers": "yes"})
class RemovesWhatItTakes(SharedRedisScheduler):
    """It removes a request from the store when it returns it."""

    def next_request(self):
        request = super().next_request()
        for data in self._held:
            self._client.zrem(self._key("requests"), data)
        return request


@shared(fails=("e2e.shared.killed", "e2e.priority", "scheduler.next.priority"))
class TakesAll(SharedRedisScheduler):
    """It takes all requests out of the store at once, and puts back what is left of them when it is closed."""

    def open(self, spider):
        self.batch = []
        super().open(spider)

    def next_request(self):
        if not self.batch:
            self.batch = self._client.zpopmin(self._key("requests"), 1000)
        return self._rebuilt(self.batch.pop(0)[0][20:]) if self.batch else self._next_volatile()

    def __len__(self):
        return super().__len__() + len(self.batch)

    def close(self, reason):
        for data, score in self.batch:
            self._client.zadd(self._key("requests"), {data: score})
        super().close(reason)
