"""Right schedulers of other kinds than the reference: none of them may be reported."""

from __future__ import annotations

import asyncio
import copy
import heapq
import inspect
import logging
import os
import pickle
import sqlite3
import time
from collections import deque
from itertools import count
from pathlib import Path

from redis import Redis, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry
from scrapy import signals
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.httpobj import urlparse_cached
from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import fingerprint, request_from_dict
from twisted.internet.defer import succeed

from queue_reference.scheduler import Buckets, DiskBuckets, Scheduler

logger = logging.getLogger(__name__)


class PlainScheduler:
    """It has the three methods that a scheduler needs, and nothing else: no settings, no filter, no file."""

    def __init__(self):
        self.heap, self.numbers = [], count()

    def enqueue_request(self, request):
        heapq.heappush(self.heap, (-request.priority, next(self.numbers), request))
        return True

    def next_request(self):
        return heapq.heappop(self.heap)[2] if self.heap else None

    def has_pending_requests(self):
        return bool(self.heap)


class NotesLater(PlainScheduler):
    """What comes and goes is noted a moment later, several changes at a time; until then it is kept."""

    def __init__(self):
        super().__init__()
        self.changes = []

    def enqueue_request(self, request):
        self.change(request)
        return super().enqueue_request(request)

    def next_request(self):
        request = super().next_request()
        self.change(request)
        return request

    def change(self, request):
        if not self.changes:
            asyncio.get_event_loop().call_later(0.05, self.changes.clear)
        self.changes.append(request)


class WaitsForBusySlots(PlainScheduler):
    """It hands out no request of a slot that has four in the downloader already."""

    def __init__(self, crawler):
        super().__init__()
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def idle(self, request):
        downloader = self.crawler.engine.downloader
        slot = downloader.slots.get(downloader.get_slot_key(request))
        return slot is None or len(slot.active) < 4

    def next_request(self):
        found = next((item for item in sorted(self.heap) if self.idle(item[2])), None)
        if found is None:
            return None
        self.heap.remove(found)
        heapq.heapify(self.heap)
        return found[2]


class RootedScheduler(PlainScheduler):
    """It makes its directory once for each process, as a client does that all schedulers share."""

    made = False

    def enqueue_request(self, request):
        if not self.made:
            os.mkdir("storage")
            RootedScheduler.made = True
        os.listdir("storage")
        return super().enqueue_request(request)


class FirstComeScheduler:
    """It hands out requests in the order in which they came, whatever their priorities are."""

    def __init__(self):
        self.row = deque()

    def enqueue_request(self, request):
        self.row.append(request)
        return True

    def next_request(self):
        return self.row.popleft() if self.row else None

    def has_pending_requests(self):
        return bool(self.row)


class HesitantScheduler(PlainScheduler):
    """It has nothing ready at every second call, which is permitted."""

    calls = 0

    def next_request(self):
        self.calls += 1
        return super().next_request() if self.calls % 2 == 0 else None

    def __len__(self):
        return len(self.heap)


class DeferringScheduler(HesitantScheduler):
    """Its open and close take a while, and return Deferreds."""

    def open(self, spider):
        from twisted.internet import reactor, task

        return task.deferLater(reactor, 0.001)

    def close(self, reason):
        from twisted.internet import threads

        return threads.deferToThread(self.heap.clear)


class FilteringScheduler(PlainScheduler):
    """It keeps its requests in memory, and asks the filter of the settings, which keeps what it has seen there too."""

    def __init__(self, crawler):
        super().__init__()
        crawler = copy.copy(crawler)
        crawler.settings = crawler.settings.copy()
        crawler.settings.frozen = False
        crawler.settings.set("JOBDIR", None, "cmdline")
        self.filter = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open(self, spider):
        self.spider = spider
        return self.filter.open()

    def close(self, reason):
        return self.filter.close(reason)

    def enqueue_request(self, request):
        if not request.dont_filter and self.filter.request_seen(request):
            self.filter.log(request, self.spider)
            return False
        return super().enqueue_request(request)


class SQLiteScheduler:
    """It keeps its requests and what it has seen in one SQLite file of the job directory until a crawl has finished, and what
    pickle refuses in memory.
    """

    def __init__(self, crawler):
        self.crawler = crawler
        self.job = job_dir(crawler.settings)
        self.volatile = PlainScheduler()
        self.seen_in_memory = set()

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open(self, spider):
        self.spider = spider
        self.db = sqlite3.connect(os.path.join(self.job, "requests.db") if self.job else ":memory:")
        with self.db:
            self.db.execute("CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, priority INTEGER, data BLOB)")
            self.db.execute("CREATE INDEX IF NOT EXISTS of_priority ON requests (priority DESC, id)")
            self.db.execute("CREATE TABLE IF NOT EXISTS seen (fingerprint BLOB PRIMARY KEY)")

    def close(self, reason):
        if reason == "finished":
            with self.db:
                self.db.execute("DELETE FROM requests")
                self.db.execute("DELETE FROM seen")
        self.db.close()

    def serialize(self, request):
        return pickle.dumps(request.to_dict(spider=self.spider))

    def deserialize(self, data):
        return request_from_dict(pickle.loads(data), spider=self.spider)

    def fingerprint(self, request):
        return fingerprint(request)

    def has_seen(self, print_):
        found = self.db.execute("SELECT 1 FROM seen WHERE fingerprint = ?", (print_,)).fetchone()
        return found is not None or print_ in self.seen_in_memory

    def enqueue_request(self, request):
        print_ = None if request.dont_filter else self.fingerprint(request)
        if print_ and self.has_seen(print_):
            return False
        try:
            data = self.serialize(request)
        except Exception:  # what pickle calls belongs to others, and raises anything
            return self.keep(request, print_)
        with self.db:
            if print_:
                self.db.execute("INSERT INTO seen VALUES (?)", (print_,))
            self.db.execute("INSERT INTO requests (priority, data) VALUES (?, ?)", (request.priority, data))
        return True

    def keep(self, request, print_):
        self.seen_in_memory.add(print_)
        return self.volatile.enqueue_request(request)

    def next_request(self):
        row = self.db.execute("SELECT id, priority, data FROM requests ORDER BY priority DESC, id LIMIT 1").fetchone()
        if row is None or (self.volatile.heap and -self.volatile.heap[0][0] >= row[1]):
            return self.next_volatile()
        with self.db:
            self.db.execute("DELETE FROM requests WHERE id = ?", row[:1])
        return self.deserialize(row[2])

    def next_volatile(self):
        request = self.volatile.next_request()
        if request is not None and not request.dont_filter:  # from now on it was seen, even if this run ends
            with self.db:
                self.db.execute("INSERT INTO seen VALUES (?)", (self.fingerprint(request),))
        return request

    def has_pending_requests(self):
        return len(self) > 0

    def __len__(self):
        return len(self.volatile.heap) + self.db.execute("SELECT count(*) FROM requests").fetchone()[0]


class LendsWhatItHandsOut(SQLiteScheduler):
    """It keeps a request until the downloader has done with it: a crawl that is killed downloads it in the next run."""

    waiting = "SELECT id, priority, data FROM requests WHERE id NOT IN (SELECT id FROM lent) ORDER BY priority DESC, id LIMIT 1"

    def __init__(self, crawler):
        super().__init__(crawler)
        crawler.signals.connect(self.forget, signals.request_left_downloader)

    def open(self, spider):
        super().open(spider)
        with self.db:
            self.db.execute("CREATE TABLE IF NOT EXISTS lent (id INTEGER PRIMARY KEY)")
            self.db.execute("DELETE FROM lent")

    def next_request(self):
        row = self.db.execute(self.waiting).fetchone()
        if row is None or (self.volatile.heap and -self.volatile.heap[0][0] >= row[1]):
            return self.next_volatile()
        with self.db:
            self.db.execute("INSERT OR REPLACE INTO lent VALUES (?)", row[:1])
        try:
            request = self.deserialize(row[2])
        except Exception:
            self.remove(row[0])
            raise
        request.meta["lent"] = row[0]
        return request

    def forget(self, request):
        if lent := request.meta.pop("lent", None):
            self.remove(lent)

    def remove(self, number):
        with self.db:
            self.db.execute("DELETE FROM requests WHERE id = ?", (number,))
            self.db.execute("DELETE FROM lent WHERE id = ?", (number,))


exec(inspect.getsource(LendsWhatItHandsOut).replace("LendsWhatItHandsOut", "LendsWithoutSource"))  # such a one without a file


class RejectsWhatItCannotStore(SQLiteScheduler):
    """It says that it does not store what pickle refuses."""

    def keep(self, request, print_):
        return False


class LogsWhatItCannotRebuild(SQLiteScheduler):
    """It goes on to the next request where one cannot be rebuilt, and says so in the log."""

    def next_request(self):
        while self.has_pending_requests():
            try:
                return super().next_request()
            except Exception:
                logger.exception("a stored request cannot be rebuilt")
        return None


class PoliteScheduler(Scheduler):
    """It gives nothing for 20 ms after each request."""

    ready = 0.0

    def next_request(self):
        if time.monotonic() < self.ready:
            return None
        request = super().next_request()
        if request is not None:
            self.ready = time.monotonic() + 0.02
        return request


class FullestSlotFirst(Scheduler):
    """Of requests of the highest priority it takes those to the host for which most wait, and of these the last one."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._memory = Slots(lambda _: Buckets(crawler, "MEMORY"))

    def open(self, spider):
        opened = super().open(spider)
        if self._job:
            root = Path(self._job, "requests.queue", "slots")
            known = [path.name for path in root.iterdir()] if root.exists() else []
            self._disk = Slots(lambda name: DiskBuckets(self._crawler, root / name), known)
        return opened


class Slots:
    """Buckets for each host."""

    def __init__(self, make, known=()):
        self.make = make
        self.slots = {name: make(name) for name in known}

    def __len__(self):
        return sum(map(len, self.slots.values()))

    @property
    def highest(self):
        return max(slot.highest for slot in self.slots.values() if len(slot))

    def push(self, request):
        name = f"slot-{urlparse_cached(request).hostname}"
        if name not in self.slots:
            self.slots[name] = self.make(name)
        self.slots[name].push(request)

    def pop(self):
        highest = self.highest
        names = [name for name, slot in self.slots.items() if len(slot) and slot.highest == highest]
        return self.slots[max(names, key=lambda name: (len(self.slots[name]), name))].pop()

    def close(self):
        for slot in self.slots.values():
            slot.close()


class OpensLater(FilteringScheduler):
    """Its open and close are coroutines inside, in which the filter is opened and closed when something else has happened."""

    def open(self, spider):
        return deferred_from_coro(self._later(super().open, spider))

    def close(self, reason):
        return deferred_from_coro(self._later(super().close, reason))

    async def _later(self, function, argument):
        await asyncio.sleep(0.001)
        await maybe_deferred_to_future(function(argument) or succeed(None))


class RejectsLongOnes(SQLiteScheduler):
    """It says that it does not store what is longer than 64 KiB."""

    def enqueue_request(self, request):
        return len(request.body) <= 1 << 16 and super().enqueue_request(request)


class RedisScheduler:
    """It keeps its requests in a sorted set of a Redis server, which processes may share, and in memory what pickle refuses."""

    def __init__(self, crawler):
        self.crawler = crawler
        url = crawler.settings.get("REDIS_URL", "redis://localhost:6379/0")
        self.server = Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5, retry=Retry(NoBackoff(), 0))
        self.volatile = PlainScheduler()
        self.seen_in_memory = set()

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open(self, spider):
        self.spider = spider
        self.server.ping()

    def close(self, reason):
        self.server.close()

    def key(self, name):
        return f"{self.spider.name}:{name}"

    def enqueue_request(self, request):
        print_ = b"" if request.dont_filter else fingerprint(request)
        try:
            data = pickle.dumps(request.to_dict(spider=self.spider))
        except Exception:  # what pickle calls belongs to others, and raises anything
            if print_ and (print_ in self.seen_in_memory or self.server.sismember(self.key("seen"), print_)):
                return False
            self.seen_in_memory.add(print_)
            return self.volatile.enqueue_request(request)
        if print_ and print_ in self.seen_in_memory:
            return False
        return self.store(print_, -request.priority, data)

    def store(self, print_, score, data):
        keys = [self.key(name) for name in ("seen", "requests", "number")]
        return bool(self.server.eval(STORE, 3, *keys, print_, score, data))

    def next_request(self):
        found = self.next_stored()
        if found:
            return request_from_dict(pickle.loads(found[20:]), spider=self.spider)
        request = self.volatile.next_request()
        if request is not None and not request.dont_filter:  # from now on it was seen, even if this run ends
            self.server.sadd(self.key("seen"), fingerprint(request))
        return request

    def next_stored(self):
        found = self.server.zpopmin(self.key("requests"))
        return found[0][0] if found else None

    def has_pending_requests(self):
        return len(self) > 0

    def __len__(self):
        return self.server.zcard(self.key("requests")) + len(self.volatile.heap)


STORE = """
if ARGV[1] ~= '' and redis.call('sadd', KEYS[1], ARGV[1]) == 0 then return 0 end
local number = string.format('%020d', redis.call('incr', KEYS[3]))
redis.call('zadd', KEYS[2], ARGV[2], number .. ARGV[3])
return 1
"""
"""Notes the fingerprint of a request and stores it, or nothing of both."""


class PatientRedisScheduler(RedisScheduler):
    """While its server cannot be reached nothing is ready, and everything is still pending."""

    known = 0

    def next_request(self):
        try:
            return super().next_request()
        except (exceptions.ConnectionError, exceptions.TimeoutError):
            return None

    def __len__(self):
        try:
            self.known = super().__len__()
        except (exceptions.ConnectionError, exceptions.TimeoutError):
            return max(1, self.known)
        return self.known
