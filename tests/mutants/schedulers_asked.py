"""Wrong schedulers: what spiders ask for seldom, and how much of it."""

from __future__ import annotations

import pickle
import sqlite3
from collections import Counter, deque
from contextlib import suppress
from urllib.parse import urlsplit

from scrapy.utils.request import fingerprint

from mutants import mutant
from mutants.controls_schedulers import PlainScheduler, SQLiteScheduler, WaitsForBusySlots


@mutant(fails="scheduler.pending.exact")
class LooksAtIdleSlotsOnly(WaitsForBusySlots):
    """What waits for a busy slot is not pending."""

    def has_pending_requests(self):
        return any(self.idle(request) for *_, request in self.heap)


# --- What spiders may ask for ----------------------------------------------------------------------------------------


@mutant(fails="scheduler.enqueue.answers", hint="Let `urllib.parse.urlsplit`")
class LooksForAHost(SQLiteScheduler):
    """It takes the third part of an address for the host, and there are addresses with one part."""

    def enqueue_request(self, request):
        assert request.url.split("/")[2] is not None
        return super().enqueue_request(request)


@mutant(fails="scheduler.enqueue.answers")
class SplitsAtTheColon(SQLiteScheduler):
    """It takes what is behind the first colon of a host for its port."""

    def enqueue_request(self, request):
        _, _, port = urlsplit(request.url).netloc.partition(":")
        assert int(port or 80)
        return super().enqueue_request(request)


@mutant(fails="scheduler.enqueue.dont-filter")
class TakesTwentyForALoop(SQLiteScheduler):
    """It rejects a request with dont_filter that came twenty times."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self.times = Counter()

    def enqueue_request(self, request):
        self.times[fingerprint(request)] += request.dont_filter
        return self.times[fingerprint(request)] <= 20 and super().enqueue_request(request)


@mutant(fails="scheduler.enqueue.true")
class KnowsFiveHundredHosts(PlainScheduler):
    """It has room for five hundred hosts, and drops the requests to others."""

    def __init__(self):
        super().__init__()
        self.hosts = set()

    def enqueue_request(self, request):
        host = urlsplit(request.url).hostname
        if len(self.hosts) < 500:
            self.hosts.add(host)
        return host not in self.hosts or super().enqueue_request(request)


# --- Many ------------------------------------------------------------------------------------------------------------


@mutant(fails="scheduler.enqueue.true")
class IsDoneWithHosts(SQLiteScheduler):
    """Where it has served all requests to more than thirty hosts, it drops what comes later to one of these."""

    def open(self, spider):
        super().open(spider)
        self.waiting = Counter()

    def enqueue_request(self, request):
        host = urlsplit(request.url).netloc
        done = [each for each, count in self.waiting.items() if not count]
        if len(done) > 30 and host in done:
            return True
        accepted = super().enqueue_request(request)
        self.waiting[host] += accepted
        return accepted

    def next_request(self):
        request = super().next_request()
        if request is not None:
            self.waiting[urlsplit(request.url).netloc] -= 1
        return request


@mutant(fails="scheduler.resume.all")
class ResumesSomeHosts(SQLiteScheduler):
    """When a crawl continues, it knows of two hundred and fifty hosts at most."""

    def open(self, spider):
        super().open(spider)
        hosts = {}
        for number, data in self.db.execute("SELECT id, data FROM requests"):
            hosts.setdefault(urlsplit(pickle.loads(data)["url"]).netloc, []).append(number)
        with self.db:
            for numbers in list(hosts.values())[250:]:
                self.db.executemany("DELETE FROM requests WHERE id = ?", [(number,) for number in numbers])


@mutant(fails="scheduler.resume.all", hint="Look at what new requests share")
class NumbersAnew(SQLiteScheduler):
    """In each run it numbers requests from 1, and raises where one of that number waits."""

    def open(self, spider):
        super().open(spider)
        self.numbered = 0

    def enqueue_request(self, request):
        if self.db.execute("SELECT 1 FROM requests WHERE id = ?", (self.numbered + 1,)).fetchone():
            raise LookupError(f"there is a request {self.numbered + 1}")
        accepted = super().enqueue_request(request)
        self.numbered += accepted
        return accepted


@mutant(fails="scheduler.resume.all")
class ReadsAhead(SQLiteScheduler):
    """Where more than 256 requests wait, it takes 32 out of the file at once, and forgets them when it is closed."""

    def open(self, spider):
        super().open(spider)
        self.ready = []

    def next_request(self):
        if not self.ready and len(self) > 256:
            self.ready = [super(ReadsAhead, self).next_request() for _ in range(32)]
        return self.ready.pop(0) if self.ready else super().next_request()

    def __len__(self):
        return super().__len__() + len(self.ready)


@mutant(fails="scheduler.enqueue.true", control="mutants.controls_schedulers.PlainScheduler")
class OverwritesWhatItPutAside:
    """It puts aside the requests of all but sixteen priorities, and forgets what it had put aside of a priority before."""

    def __init__(self):
        self.near, self.aside = {}, {}

    def enqueue_request(self, request):
        self.near.setdefault(request.priority, deque()).append(request)
        if len(self.near) > 16:
            oldest = next(iter(self.near))
            self.aside[oldest] = self.near.pop(oldest)
        return True

    def next_request(self):
        highest = max([*self.near, *self.aside], default=None)
        if highest is None:
            return None
        place = self.aside if highest in self.aside else self.near
        request = place[highest].popleft()
        if not place[highest]:
            del place[highest]
        return request

    def has_pending_requests(self):
        return bool(self.near or self.aside)


@mutant(fails="scheduler.enqueue.duplicate")
class RemembersFewHosts(SQLiteScheduler):
    """It remembers what it has seen of the last two hundred hosts."""

    def open(self, spider):
        super().open(spider)
        self.hosts = {}

    def enqueue_request(self, request):
        host = urlsplit(request.url).netloc
        self.hosts.setdefault(host, set()).add(fingerprint(request))
        self.hosts[host] = self.hosts.pop(host)
        accepted = super().enqueue_request(request)
        if len(self.hosts) > 200:
            with self.db:
                for print_ in self.hosts.pop(next(iter(self.hosts))):
                    self.db.execute("DELETE FROM seen WHERE fingerprint = ?", (print_,))
        return accepted


@mutant(fails="scheduler.enqueue.duplicate")
class RemembersThreeThousand(SQLiteScheduler):
    """It remembers the last three thousand requests that it has seen."""

    def enqueue_request(self, request):
        accepted = super().enqueue_request(request)
        with self.db:
            self.db.execute("DELETE FROM seen WHERE rowid <= (SELECT max(rowid) FROM seen) - 3000")
        return accepted


@mutant(fails="scheduler.resume.no-dup")
class LeavesALongerBacklog(SQLiteScheduler):
    """It keeps what waits in pages of a hundred as well, and clears no more than the first page when it has read them."""

    def open(self, spider):
        opened = super().open(spider)
        with self.db:
            self.db.execute("CREATE TABLE IF NOT EXISTS kept (place INTEGER PRIMARY KEY, id, priority, data)")
            self.db.execute("INSERT OR IGNORE INTO requests SELECT id, priority, data FROM kept")
            self.db.execute("DELETE FROM kept WHERE place < 100")
        return opened

    def close(self, reason):
        if reason != "finished":
            with suppress(sqlite3.Error), self.db:  # in a second close, or where its file is damaged
                rows = self.db.execute("SELECT id, priority, data FROM requests ORDER BY id").fetchall()
                self.db.executemany("INSERT OR REPLACE INTO kept VALUES (?, ?, ?, ?)", ((n, *row) for n, row in enumerate(rows)))
        super().close(reason)
