"""Wrong schedulers: where requests go, what is counted, and what is behind a server."""

from __future__ import annotations

import glob
from pathlib import Path

from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import ResponseError
from redis.retry import Retry

from mutants import mutant
from mutants.controls_schedulers import RedisScheduler, SQLiteScheduler
from queue_conformance import TransientError
from queue_reference.scheduler import Scheduler

EXTERNAL = {"profile": "external-queue"}


# --- Where requests go -----------------------------------------------------------------------------------------------


@mutant(fails="scheduler.open.disk-iff-jobdir")
class TakesNothingForAPath(Scheduler):
    """It takes an empty JOBDIR for the current directory."""

    def __init__(self, crawler):
        super().__init__(crawler)
        if crawler.settings["JOBDIR"] == "":
            self._job = "."


@mutant(fails="scheduler.enqueue.disk-first")
class KeepsUrgentOnesInMemory(Scheduler):
    """It keeps in memory what must not be filtered."""

    def _store(self, request):
        if not request.dont_filter or request.meta.get("refuse"):
            return super()._store(request)
        self._memory.push(request)
        return "memory"


@mutant(fails="scheduler.enqueue.fallback-serialization")
class KnowsNoFallback(Scheduler):
    """It lets the error for what cannot be serialized through."""

    def _store(self, request):
        if self._disk is not None:
            self._disk.push(request)
            return "disk"
        return super()._store(request)


@mutant(fails="scheduler.enqueue.fallback-transient", claims=EXTERNAL)
class KnowsNoTransientError(Scheduler):
    """It lets the transient error through."""

    def open(self, spider):
        opened = super().open(spider)
        if self._disk is not None:
            self._disk.push = raising_another_error(self._disk.push)
        return opened


def raising_another_error(push):
    def raising(request):
        try:
            push(request)
        except TransientError as error:
            raise RuntimeError("no connection") from error

    return raising


@mutant(fails=("scheduler.enqueue.fallback-once", "scheduler.enqueue.disk-first"))
class GivesUpOnTheDisk(Scheduler):
    """After a request that the disk queue refused, it does not try the disk queue any more."""

    refused = False

    def _store(self, request):
        if self.refused:
            self._memory.push(request)
            return "memory"
        place = super()._store(request)
        self.refused = self._disk is not None and place == "memory"
        return place


@mutant(fails="scheduler.enqueue.other-propagates")
class SwallowsEverything(Scheduler):
    """It keeps a request in memory, whatever the disk queue raises."""

    def _store(self, request):
        try:
            return super()._store(request)
        except Exception:
            self._memory.push(request)
            return "memory"


@mutant(fails="scheduler.enqueue.other-propagates", claims=EXTERNAL)
class KeepsGoingInMemory(SwallowsEverything):
    """It keeps a request in memory, whatever the external queue raises."""


@mutant(fails="scheduler.enqueue.unserializable-stat")
class CountsNoFallbacks(Scheduler):
    """It does not count what cannot be serialized."""

    def _count(self, *names):
        super()._count(*(name for name in names if name != "unserializable"))


@mutant(fails="scheduler.enqueue.debug-log")
class LogsEveryFallback(Scheduler):
    """With SCHEDULER_DEBUG it logs every request that cannot be serialized."""

    def _store(self, request):
        self._debug = self._crawler.settings.getbool("SCHEDULER_DEBUG")
        return super()._store(request)


@mutant(fails="scheduler.enqueue.stats")
class CountsDuplicates(Scheduler):
    """It counts what it rejects."""

    def enqueue_request(self, request):
        accepted = super().enqueue_request(request)
        if not accepted:
            self._count("enqueued", "enqueued/memory")
        return accepted


@mutant(fails="scheduler.next.stats")
class CountsNothing(Scheduler):
    """It counts a request when it is asked for one, whether one comes or not."""

    def next_request(self):
        request = super().next_request()
        if request is None:
            self._count("dequeued", "dequeued/memory")
        return request


# --- Behind a server -------------------------------------------------------------------------------------------------

REDIS = {"REDIS_URL": "redis://{host}:{port}/0"}


@mutant(fails="scheduler.pending.exact")
class AsksItsFileOnly(SQLiteScheduler):
    """What it keeps in memory, because pickle refuses it, is not pending."""

    def has_pending_requests(self):
        return self.db.execute("SELECT count(*) FROM requests").fetchone()[0] > 0


@mutant(fails="scheduler.ctor.fail-early", settings=REDIS, server="redis")
class ConnectsLater(RedisScheduler):
    """It connects when the first request comes."""

    def open(self, spider):
        self.spider = spider


@mutant(fails="scheduler.fault.keeps", settings=REDIS, server="redis")
class TakesARefusalForAnAnswer(RedisScheduler):
    """It says that it has stored what the server, out of space, has refused."""

    def store(self, print_, score, data):
        try:
            return super().store(print_, score, data)
        except ResponseError:
            return True


@mutant(fails="scheduler.fault.keeps", settings=REDIS, server="redis")
class AsksOnceMore(RedisScheduler):
    """It stores a request once more where no reply came, as a client does that tries again by itself."""

    def store(self, print_, score, data):
        try:
            return super().store(print_, score, data)
        except ConnectionLost:
            return super().store(print_, score, data)


@mutant(fails="scheduler.next.frozen", settings=REDIS, server="redis")
class WaitsForItsServer(RedisScheduler):
    """Its client has no time-out."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self.server.close()
        self.server = Redis.from_url(crawler.settings["REDIS_URL"], socket_timeout=None, retry=Retry(NoBackoff(), 0))


@mutant(fails="scheduler.shared", settings=REDIS, server="redis", claims={"shared": "yes"})
class LooksThenRemoves(RedisScheduler):
    """It looks at the next request, and removes it afterwards."""

    def next_stored(self):
        found = self.server.zrange(self.key("requests"), 0, 0)
        if not found:
            return None
        self.server.zrem(self.key("requests"), found[0])
        return found[0]


@mutant(fails=("scheduler.resume.all", "scheduler.close.memory-unseen"), settings=REDIS, server="redis")
class ThrowsOneAway(RedisScheduler):
    """It takes a request out when it is closed."""

    def close(self, reason):
        self.next_request()
        super().close(reason)


@mutant(fails="scheduler.resume.all", settings=REDIS, server="redis", hint="Give nothing that holds requests")
class ForgetsInAnHour(RedisScheduler):
    """What waits lives for an hour from when it was stored last."""

    def store(self, print_, score, data):
        stored = super().store(print_, score, data)
        self.server.expire(self.key("requests"), 3600)
        return stored


@mutant(fails="scheduler.resume.no-dup", settings=REDIS, server="redis")
class RemovesAtTheEnd(RedisScheduler):
    """It puts the request that it returned last back when it is closed."""

    last = None

    def next_request(self):
        found = self.server.zrange(self.key("requests"), 0, 0, withscores=True)
        self.last = found[0] if found else self.last
        return super().next_request()

    def close(self, reason):
        if self.last:
            self.server.zadd(self.key("requests"), dict([self.last]))
        super().close(reason)


@mutant(fails="scheduler.resume.all")
class LooksForAPattern(SQLiteScheduler):
    """It looks for its file by a pattern, in which some names of directories mean something else, and begins anew without one."""

    def open(self, spider):
        if self.job and not glob.glob(f"{self.job}/*.db"):
            Path(self.job, "requests.db").unlink(missing_ok=True)
        super().open(spider)
