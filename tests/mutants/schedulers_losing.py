"""Schedulers of other designs than the reference that lose requests, or parts of them."""

from __future__ import annotations

import json
import pickle
import sqlite3
import time
import zlib
from calendar import timegm
from contextlib import suppress
from functools import partial
from itertools import count, cycle
from typing import ClassVar

from scrapy import Request
from scrapy.utils.request import fingerprint
from w3lib.url import canonicalize_url

from mutants import mutant
from mutants.controls_schedulers import (
    FilteringScheduler,
    LendsWhatItHandsOut,
    OpensLater,
    PlainScheduler,
    RedisScheduler,
    SQLiteScheduler,
)

SERVED = {
    "control": "mutants.controls_schedulers.RedisScheduler",
    "settings": {"REDIS_URL": "redis://{host}:{port}/0"},
    "server": "redis",
}


@mutant(fails="scheduler.enqueue.answers", hint="Compare no requests")
class ComparesRequests(PlainScheduler):
    """Its numbers begin anew after five hundred; then it compares the requests, which have no order."""

    def __init__(self):
        super().__init__()
        self.numbers = cycle(range(500))


@mutant(fails="scheduler.enqueue.true")
class SharesItsHeap(PlainScheduler):
    """Its heap is an attribute of the class: all crawls of a process have one."""

    shared: ClassVar[tuple] = [], count()

    def __init__(self):
        self.heap, self.numbers = self.shared

    def close(self, reason):
        self.heap.clear()


@mutant(fails="scheduler.enqueue.true")
class DropsUnfilteredForms(SQLiteScheduler):
    """It drops a POST without a body that is not filtered."""

    def enqueue_request(self, request):
        return (request.method == "POST" and not request.body and request.dont_filter) or super().enqueue_request(request)


@mutant(fails="scheduler.next.roundtrip")
class DecompressesWhatItHasNot(SQLiteScheduler):
    """It takes each body that begins as zlib's output does for one that it has compressed itself."""

    def deserialize(self, data):
        request = super().deserialize(data)
        return request.replace(body=zlib.decompress(request.body)) if request.body.startswith(b"x\x9c") else request


@mutant(fails="scheduler.next.roundtrip")
class ForgetsFlagsOfErrbacks(SQLiteScheduler):
    """It keeps flags or an errback, and not both."""

    def serialize(self, request):
        return super().serialize(request.replace(flags=[]) if request.errback and request.flags else request)


# --- What cannot be serialized ---------------------------------------------------------------------------------------


@mutant(fails=("scheduler.enqueue.answers", "scheduler.enqueue.refused-not-seen"))
class RaisesAfterNoting(SQLiteScheduler):
    """It notes the fingerprint of a request, and then raises if pickle does."""

    def keep(self, request, print_):
        self.seen_in_memory.add(print_)
        return self.serialize(request)


@mutant(fails="scheduler.enqueue.answers")
class RaisesBeforeNoting(SQLiteScheduler):
    """It lets through what pickle raises, and forgets that request."""

    def keep(self, request, print_):
        return self.serialize(request)


@mutant(fails="scheduler.enqueue.answers")
class KnowsThreeErrors(SQLiteScheduler):
    """It keeps a request in memory only if pickle raises one of the errors that its author has met."""

    def keep(self, request, print_):
        try:
            self.serialize(request)
        except (TypeError, AttributeError, ValueError):
            return super().keep(request, print_)


@mutant(fails="scheduler.enqueue.refused-not-seen")
class RejectsAfterNoting(SQLiteScheduler):
    """It rejects what pickle refuses, and remembers that it has seen it."""

    def keep(self, request, print_):
        self.seen_in_memory.add(print_)
        return False


@mutant(fails="scheduler.enqueue.true", may_fail="scheduler.pending.exact")
class DropsInSilence(SQLiteScheduler):
    """It says that it has stored what pickle refuses, and drops it."""

    def keep(self, request, print_):
        self.seen_in_memory.add(print_)
        return True


@mutant(fails="scheduler.enqueue.false")
class RejectsAndKeeps(SQLiteScheduler):
    """It says that it has rejected what pickle refuses, and keeps it."""

    def keep(self, request, print_):
        self.volatile.enqueue_request(request)
        return False


# --- Fields ----------------------------------------------------------------------------------------------------------


@mutant(fails="scheduler.next.roundtrip")
class ForgetsCallbacks(SQLiteScheduler):
    """It returns requests without their callbacks."""

    def deserialize(self, data):
        return super().deserialize(data).replace(callback=None, errback=None)


@mutant(fails="scheduler.next.roundtrip", may_fail=("scheduler.next.missing-callback", "scheduler.enqueue.true"))
class KeepsThreeFields(SQLiteScheduler):
    """It stores no more than URL, method and priority."""

    def serialize(self, request):
        super().serialize(request)
        return super().serialize(Request(request.url, method=request.method, priority=request.priority))


@mutant(fails="scheduler.next.roundtrip")
class KeepsOneHeader(SQLiteScheduler):
    """Of a header with many values it keeps the last one."""

    def deserialize(self, data):
        request = super().deserialize(data)
        return request.replace(headers={name: request.headers[name] for name in request.headers})


@mutant(fails="scheduler.enqueue.true")
class KeepsAThousand(PlainScheduler):
    """It has room for a thousand requests, and throws away what comes last."""

    def enqueue_request(self, request):
        super().enqueue_request(request)
        self.heap = sorted(self.heap)[:1000]
        return True


@mutant(fails="scheduler.next.roundtrip")
class ForgetsRedirections(SQLiteScheduler):
    """It stores no meta that middlewares set, so that redirections and retries never end."""

    def deserialize(self, data):
        request = super().deserialize(data)
        kept = {key: value for key, value in request.meta.items() if not str(key).startswith(("redirect_", "retry_"))}
        return request.replace(meta=kept)


@mutant(fails="scheduler.next.roundtrip")
class RequestsAnotherPage(SQLiteScheduler):
    """It stores the URL that fingerprints are made of, with the query in another order and without a fragment."""

    def deserialize(self, data):
        request = super().deserialize(data)
        return request.replace(url=canonicalize_url(request.url))


@mutant(fails="scheduler.enqueue.answers")
class HasNarrowColumns(SQLiteScheduler):
    """Its database refuses what is longer than 64 KiB, as a column of type TEXT does elsewhere."""

    def enqueue_request(self, request):
        if len(request.body) > 1 << 16:
            raise sqlite3.DataError("Data too long for column 'request' at row 1")
        return super().enqueue_request(request)


@mutant(fails="scheduler.enqueue.true", hint="What comes in the same run")
class KeepsLongOnesInMemory(SQLiteScheduler):
    """What is longer than 64 KiB stays in memory, and is gone after a pause."""

    def serialize(self, request):
        data = super().serialize(request)
        if len(data) > 1 << 16:
            raise ValueError("too long")
        return data


@mutant(fails="scheduler.next.roundtrip")
class CutsLongColumns(SQLiteScheduler):
    """Its database cuts what is longer than 64 KiB without a word, as a column of type TEXT does elsewhere."""

    def deserialize(self, data):
        request = super().deserialize(data)
        return request.replace(body=request.body[: 1 << 16])


@mutant(fails="scheduler.next.roundtrip")
class KeepsNoClass(SQLiteScheduler):
    """Every request becomes a plain one."""

    def deserialize(self, data):
        request = super().deserialize(data)
        return Request(**{name: getattr(request, name) for name in Request.attributes})


@mutant(fails="scheduler.next.roundtrip")
class KnowsTheFirstSpider(SQLiteScheduler):
    """After a pause callbacks are methods of the spider that it knew first."""

    spiders: ClassVar = {}

    def deserialize(self, data):
        mine = self.spider
        self.spider = self.spiders.setdefault(self.job, mine) if self.job else mine
        try:
            return super().deserialize(data)
        finally:
            self.spider = mine


@mutant(fails="scheduler.next.roundtrip")
class KeepsCallbacksInTheProcess(SQLiteScheduler):
    """It stores the names of callbacks in the process, where no other one finds them."""

    names: ClassVar = {}

    def serialize(self, request):
        found = request.to_dict(spider=self.spider)
        data = super().serialize(request.replace(callback=None))
        self.names[data] = found["callback"]
        return data

    def deserialize(self, data):
        request = super().deserialize(data)
        name = self.names.get(data)
        return request.replace(callback=getattr(self.spider, name)) if name else request


@mutant(fails=("scheduler.next.roundtrip", "scheduler.close.persist"))
class LooksForCallbacksInTheProcess(KeepsCallbacksInTheProcess):
    """It raises in a process that does not know the name of a callback."""

    def deserialize(self, data):
        return SQLiteScheduler.deserialize(self, data).replace(
            callback=self.names[data] and getattr(self.spider, self.names[data])
        )


@mutant(fails="scheduler.enqueue.bool")
class AnswersNothing(SQLiteScheduler):
    """Its enqueue_request returns None, and it has no length."""

    __len__ = None

    def has_pending_requests(self):
        return SQLiteScheduler.__len__(self) > 0

    def enqueue_request(self, request):
        super().enqueue_request(request)


@mutant(fails=("scheduler.enqueue.bool", "scheduler.next.roundtrip"))
class AnswersNothingAndForgetsCallbacks(AnswersNothing):
    """Its enqueue_request returns None, and requests come back without their callbacks."""

    def deserialize(self, data):
        return super().deserialize(data).replace(callback=None, errback=None)


@mutant(fails="scheduler.enqueue.true")
class GivesUpWhatIsDeep(SQLiteScheduler):
    """It says that it has stored a request that is deep and not urgent, and has not."""

    def enqueue_request(self, request):
        return (request.meta.get("depth", 0) > 5 and request.priority < 0) or super().enqueue_request(request)


@mutant(fails="scheduler.next.roundtrip")
class OpensLaterAndForgetsCallbacks(OpensLater):
    """Its open returns a Deferred, and it stores requests without their callbacks."""

    def enqueue_request(self, request):
        return super().enqueue_request(request.replace(callback=None, errback=None))


# --- Copies ----------------------------------------------------------------------------------------------------------


@mutant(fails="scheduler.enqueue.true")
class NumbersRequests(PlainScheduler):
    """It numbers requests in meta, and stores one whose number it knows no more."""

    def __init__(self):
        super().__init__()
        self.known = set()

    def enqueue_request(self, request):
        number = request.meta.setdefault("_number", next(self.numbers))
        if number not in self.known:
            self.known.add(number)
            return super().enqueue_request(request)
        return True


# --- Pauses ----------------------------------------------------------------------------------------------------------


@mutant(fails=("scheduler.resume.all", "scheduler.resume.seen"))
class NeverCommits(SQLiteScheduler):
    """It commits nothing but its empty tables."""

    def open(self, spider):
        super().open(spider)
        path = self.db.execute("PRAGMA database_list").fetchone()[2]
        if path:
            self.db.close()
            self.db = sqlite3.connect(path, factory=Uncommitted)


class Uncommitted(sqlite3.Connection):
    """A connection whose transactions never end."""

    def __exit__(self, *error):
        pass


@mutant(fails="scheduler.resume.all", **SERVED)
class ForgetsItsRequests(RedisScheduler):
    """When it is closed it removes its requests from the server, and leaves there what it has seen."""

    def close(self, reason):
        self.server.delete(self.key("requests"))
        super().close(reason)


@mutant(fails="scheduler.close.memory-unseen")
class RemembersWhatItLoses(SQLiteScheduler):
    """It notes in its file that it has seen what it keeps in memory."""

    def keep(self, request, print_):
        if print_:
            with self.db:
                self.db.execute("INSERT INTO seen VALUES (?)", (print_,))
        return self.volatile.enqueue_request(request)

    def next_volatile(self):
        return self.volatile.next_request()


@mutant(fails="scheduler.open.incompatible", may_fail="scheduler.next.missing-callback")
class SkipsWhatItCannotRead(SQLiteScheduler):
    """It goes on to the next request when it cannot read one."""

    def deserialize(self, data):
        try:
            return super().deserialize(data)
        except Exception:
            return self.next_request()


# --- Faults ----------------------------------------------------------------------------------------------------------


@mutant(fails="scheduler.enqueue.failed-not-seen")
class RemembersWhatFailed(SQLiteScheduler):
    """It remembers that it has seen a request that it could not store."""

    def enqueue_request(self, request):
        try:
            return super().enqueue_request(request)
        except sqlite3.Error:
            self.seen_in_memory.add(fingerprint(request))
            raise


@mutant(fails="scheduler.fault.keeps")
class BeginsAnew(SQLiteScheduler):
    """After its file has failed, it removes everything from it."""

    failed = False

    def enqueue_request(self, request):
        if self.failed:
            self.failed = False
            with self.db:
                self.db.execute("DELETE FROM requests")
        try:
            return super().enqueue_request(request)
        except sqlite3.Error:
            self.failed = True
            raise


@mutant(fails="scheduler.enqueue.failed-not-seen", **SERVED)
class NotesWithACommandOfItsOwn(RedisScheduler):
    """It notes the fingerprint of a request by one command, and stores the request by the next."""

    def store(self, print_, score, data):
        if print_ and not self.server.sadd(self.key("seen"), print_):
            return False
        return super().store(b"", score, data)


@mutant(fails="scheduler.fault.keeps", **SERVED)
class RemovesBeforeItReads(RedisScheduler):
    """It removes a request by one command, and reads its body by the next."""

    def next_stored(self):
        found = super().next_stored()
        self.server.ping()
        return found


# --- The filter ------------------------------------------------------------------------------------------------------


@mutant(fails="scheduler.open.dupefilter")
class LeavesTheFilterClosed(FilteringScheduler):
    """It does not open its filter."""

    def open(self, spider):
        self.spider = spider


@mutant(fails="scheduler.open.dupefilter")
class LeavesTheFilterOpen(FilteringScheduler):
    """It does not close its filter."""

    def close(self, reason):
        pass


@mutant(fails="scheduler.enqueue.drop-logged")
class FiltersInSilence(FilteringScheduler):
    """It does not tell the filter what it rejects."""

    def enqueue_request(self, request):
        if not request.dont_filter and self.filter.request_seen(request):
            return False
        return PlainScheduler.enqueue_request(self, request)


@mutant(fails="scheduler.next.roundtrip")
class WritesJSONWhereItCan(SQLiteScheduler):
    """It stores meta as JSON, which has lists for tuples and texts for keys, unless JSON refuses it."""

    def serialize(self, request):
        found = request.to_dict(spider=self.spider)
        with suppress(TypeError):
            found["meta"] = json.loads(json.dumps(found["meta"]))
        return pickle.dumps(found)


@mutant(fails="scheduler.next.roundtrip")
class KeepsNothingPrivate(SQLiteScheduler):
    """It stores no entry of meta whose name begins with an underscore."""

    def serialize(self, request):
        found = request.to_dict(spider=self.spider)
        found["meta"] = {name: value for name, value in found["meta"].items() if not str(name).startswith("_")}
        return pickle.dumps(found)


@mutant(fails="scheduler.enqueue.true")
class KeyedByTheClock(SQLiteScheduler):
    """It stores requests under the time, in microseconds: of two within one tick of the clock, the second replaces the first."""

    def enqueue_request(self, request):
        accepted = super().enqueue_request(request)
        if accepted:
            with self.db:
                (last,) = self.db.execute("SELECT max(id) FROM requests").fetchone()
                self.db.execute("UPDATE OR REPLACE requests SET id = ? WHERE id = ?", (time.time_ns() // 1000, last))
        return accepted


@mutant(fails="scheduler.enqueue.true")
class WaitsForLocalTime(SQLiteScheduler):
    """It gives out nothing from the future, up to eleven hours of which it forgives: it notes UTC, and asks for local time."""

    latest = 0

    def enqueue_request(self, request):
        self.latest = timegm(time.gmtime())
        return super().enqueue_request(request)

    def next_request(self):
        return super().next_request() if timegm(time.localtime()) + 11 * 3600 >= self.latest else None


@mutant(fails="scheduler.resume.all", hint="Read all that is stored")
class ResumesAPage(SQLiteScheduler):
    """When a crawl continues, it knows of a thousand requests at most."""

    def open(self, spider):
        super().open(spider)
        with self.db:
            self.db.execute("DELETE FROM requests WHERE id NOT IN (SELECT id FROM requests ORDER BY id LIMIT 1000)")


@mutant(fails="scheduler.resume.all")
class KeepsWhatWasStopped(SQLiteScheduler):
    """It deletes its requests at close, unless the crawl was finished or stopped by hand."""

    def close(self, reason):
        if reason not in ("finished", "shutdown", "cancelled"):
            with self.db:
                self.db.execute("DELETE FROM requests")
        super().close(reason)


@mutant(fails="scheduler.resume.all")
class LosesTheEndOfAFullPage(SQLiteScheduler):
    """When it is opened, it drops the last of sixty-four requests, as if their page were torn where it ends."""

    def open(self, spider):
        super().open(spider)
        if len(self) % 64 == 0:
            with self.db:
                self.db.execute("DELETE FROM requests WHERE id = (SELECT max(id) FROM requests)")


@mutant(fails="scheduler.enqueue.true")
class OverwritesTheEndOfAPage(SQLiteScheduler):
    """What ends in the last eight bytes of a page overwrites the header of the next one, and is not found again."""

    def deserialize(self, data):
        if len(data) % 4096 >= 4088:
            return self.next_request()
        return super().deserialize(data)


lends = partial(mutant, control="mutants.controls_schedulers.LendsWhatItHandsOut")


@lends(fails="scheduler.enqueue.true")
class LendsAgain(LendsWhatItHandsOut):
    """It hands out what is being downloaded, too."""

    waiting = "SELECT id, priority, data FROM requests ORDER BY priority DESC, id LIMIT 1"


@lends(fails="scheduler.pending.exact", may_fail="scheduler.crash.ends")
class NeverHearsOfDownloads(LendsWhatItHandsOut):
    """It keeps what was downloaded."""

    def forget(self, request):
        pass
