"""Right schedulers that use the world around them: none of them may be reported."""

from __future__ import annotations

import asyncio
import pickle
import sqlite3
import time
from pathlib import Path
from typing import ClassVar

from scrapy import signals
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.job import job_dir
from scrapy.utils.request import fingerprint, request_from_dict
from twisted.internet import task

from mutants.controls_schedulers import PlainScheduler
from queue_reference.scheduler import Scheduler


class StoresWhereItWorks:
    """It keeps its requests in a database below the working directory, whatever the job, and in memory what pickle refuses."""

    def __init__(self, crawler):
        self.crawler = crawler
        self.volatile = PlainScheduler()
        self.seen_in_memory = set()

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def path(self):
        return Path("state.db")

    def open(self, spider):
        self.spider = spider
        self.db = sqlite3.connect(self.path(), isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, priority INTEGER, data BLOB)")
        self.db.execute("CREATE INDEX IF NOT EXISTS of_priority ON requests (priority, id)")
        self.db.execute("CREATE TABLE IF NOT EXISTS seen (fingerprint BLOB PRIMARY KEY)")

    def close(self, reason):
        self.db.close()

    def enqueue_request(self, request):
        fingerprint = self.crawler.request_fingerprinter.fingerprint(request)
        if not request.dont_filter and fingerprint in self.seen_in_memory:
            return False
        try:
            data = pickle.dumps(request.to_dict(spider=self.spider))
        except Exception:  # what pickle calls belongs to others, and raises anything
            return self.keep(request, fingerprint)
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            if not request.dont_filter:
                new = self.db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (fingerprint,)).rowcount
                if not new:
                    return False
            self.db.execute("INSERT INTO requests (priority, data) VALUES (?, ?)", (-request.priority, data))
        return True

    def keep(self, request, fingerprint):
        if not request.dont_filter:
            if self.db.execute("SELECT 1 FROM seen WHERE fingerprint = ?", (fingerprint,)).fetchone():
                return False
            self.seen_in_memory.add(fingerprint)
        return self.volatile.enqueue_request(request)

    def next_request(self):
        row = self.db.execute("SELECT id, priority, data FROM requests ORDER BY priority, id LIMIT 1").fetchone()
        if row is None or (self.volatile.heap and self.volatile.heap[0][0] <= row[1]):
            return self.next_volatile()
        self.db.execute("DELETE FROM requests WHERE id = ?", row[:1])
        return request_from_dict(pickle.loads(row[2]), spider=self.spider)

    def next_volatile(self):
        request = self.volatile.next_request()
        if request is not None and not request.dont_filter:  # from now on it was seen, even if this run ends
            fingerprint = self.crawler.request_fingerprinter.fingerprint(request)
            self.db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (fingerprint,))
        return request

    def has_pending_requests(self):
        return len(self) > 0

    def __len__(self):
        return self.db.execute("SELECT count(*) FROM requests").fetchone()[0] + len(self.volatile.heap)


class RemembersInItsProcess(PlainScheduler):
    """What it has seen is kept for all of the process, as a crawl has one of its own."""

    seen: ClassVar = set()

    def enqueue_request(self, request):
        if not request.dont_filter:
            key = fingerprint(request)
            if key in self.seen:
                return False
            self.seen.add(key)
        return super().enqueue_request(request)


class NeedsAJob(StoresWhereItWorks):
    """It keeps them in the job directory, and there must be one."""

    def path(self):
        return Path(job_dir(self.crawler.settings)) / "state.db"


class LooksAround(PlainScheduler):
    """It asks the engine and its parts what they do, counts, and wakes the engine, as a scheduler may."""

    def __init__(self, crawler):
        super().__init__()
        self.crawler = crawler
        assert crawler.engine.downloader.slots == {}

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open(self, spider):
        assert self.crawler.spider is spider is self.crawler.engine.spider
        assert spider.settings is spider.crawler.settings is self.crawler.settings
        self.crawler.signals.connect(self.idle, signals.spider_idle)
        self.names = [type(extension).__name__ for extension in self.crawler.extensions.middlewares]

    def idle(self): ...

    def enqueue_request(self, request):
        engine = self.crawler.engine
        engine._slot.nextcall.schedule()
        self.crawler.stats.inc_value("seen")
        assert self.crawler.logformatter is not None
        self.crawler.request_fingerprinter.fingerprint(request)
        if not engine.downloader.slots:  # nothing was downloaded yet
            assert engine.scraper.slot.is_idle()
            assert not engine.needs_backout()
        assert engine.downloader.get_slot_key(request) is not None
        return super().enqueue_request(request)


class FlushesInTheReactor(PlainScheduler):
    """It has timers of the reactor, and of its event loop, which runs."""

    def open(self, spider):
        self.calls = task.LoopingCall(self.flush)
        self.calls.start(0.01)
        asyncio.get_running_loop().call_later(0.01, self.flush)

    def flush(self): ...

    def enqueue_request(self, request):
        from twisted.internet import reactor

        reactor.callLater(0, self.flush)
        self.task = asyncio.create_task(self.later())
        return super().enqueue_request(request)

    async def later(self):
        await asyncio.sleep(0)

    def close(self, reason):
        self.calls.stop()


class FetchesInTheLoop(PlainScheduler):
    """It fetches one request after the other in a task, and wakes the engine when it has one."""

    wait = 0.05

    def open(self, spider):
        self.fetched, self.fetching, self.opened = [], None, time.monotonic()

    def has_pending_requests(self):
        return bool(self.heap or self.fetched)

    def next_request(self):
        if self.fetched:
            return self.fetched.pop()
        if self.heap and self.fetching is None:
            self.fetching = asyncio.get_running_loop().create_task(self.fetch())
        return None

    async def fetch(self):
        await asyncio.sleep(self.wait)
        self.fetched.append(super().next_request())
        self.fetching = None


class StartsLate(PlainScheduler):
    """It has nothing ready in its first second and a little."""

    def open(self, spider):
        self.opened = time.monotonic()

    def next_request(self):
        return super().next_request() if time.monotonic() > self.opened + 1.2 else None


class Pauses(PlainScheduler):
    """It has nothing ready for a while after each request."""

    ready = 0.0

    def next_request(self):
        if time.monotonic() < self.ready:
            return None
        self.ready = time.monotonic() + 0.05
        return super().next_request()


class ReadsItsSpider(PlainScheduler):
    """Its spider says how long its batches are, and what they are called."""

    def open(self, spider):
        self.batch = spider.settings.getint("BATCH", spider.batch)
        self.key = spider.redis_key

    def next_request(self):
        return super().next_request() if self.key and self.batch else None


class SpiderKeyedQueue:
    """A downstream queue in memory, which asks its spider for a limit."""

    def __init__(self, crawler, key):
        self.requests, self.limit = [], crawler.spider.limit

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def push(self, request):
        self.requests.append(request)

    def pop(self):
        return self.requests.pop() if self.requests else None

    def peek(self):
        return self.requests[-1] if self.requests else None

    def close(self): ...

    def __len__(self):
        return len(self.requests[: self.limit])


class SpiderKeyedFilter(BaseDupeFilter):
    """A dupefilter in memory, under a key of its spider."""

    def __init__(self, spider):
        self.seen = {spider.redis_key: set()}[spider.redis_key]

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler.spider)

    def request_seen(self, request):
        known = request.url in self.seen
        self.seen.add(request.url)
        return known


def prepare(spider):
    """Give a spider what these classes look for in it."""
    spider.limit = 10**6
    spider.batch, spider.redis_key = 5, f"{spider.name}:requests"


class WorksInAJob(Scheduler):
    """The reference, which refuses to crawl without a job directory."""

    @classmethod
    def from_crawler(cls, crawler):
        if not job_dir(crawler.settings):
            raise ValueError("set JOBDIR")
        return super().from_crawler(crawler)
