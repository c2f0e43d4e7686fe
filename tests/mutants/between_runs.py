"""Wrong classes that the next run does not understand: another interpreter, another place, or a start that was refused."""

from __future__ import annotations

import os
import pickle
import time
from calendar import timegm
from collections import defaultdict
from contextlib import suppress
from datetime import date
from pathlib import Path
from time import localtime
from typing import ClassVar
from uuid import uuid4

from mutants import mutant
from mutants.controls_between_runs import ShardedScheduler
from mutants.controls_schedulers import SQLiteScheduler
from queue_reference.disk import FifoDiskQueue
from queue_reference.dupefilter import DupeFilter
from queue_reference.pqueues import PriorityQueue, SlotPriorityQueue
from queue_reference.state import SpiderState

WEEK = 7 * 86_400


@mutant(fails="scheduler.resume.seen", hint="What a class or a module holds")
class ShardsByHash(ShardedScheduler):
    """What it has seen of a host is where hash() of its name says, which is elsewhere in another process."""

    def number_of(self, host):
        return hash(host) % 64


@mutant(fails="scheduler.resume.seen", control="mutants.controls_schedulers.SQLiteScheduler")
class SchedulesByHashesOfBodies(SQLiteScheduler):
    """It knows requests with a body again by hash() of that, too."""

    def fingerprint(self, request):
        return (b"%d " % hash(request.body) if request.body else b"") + super().fingerprint(request)


@mutant(
    fails="scheduler.resume.seen",
    control="mutants.controls_schedulers.SQLiteScheduler",
    hint="What a class or a module holds",
)
class ForgetsByTheLocalClock(SQLiteScheduler):
    """When it is opened, it forgets what it has seen, if it was not opened within half a day, as the local clock shows it."""

    def open(self, spider):
        super().open(spider)
        (opened,) = self.db.execute("PRAGMA user_version").fetchone()
        now = timegm(localtime())
        with self.db:
            if opened and abs(now - opened) > 43_200:
                self.db.execute("DELETE FROM seen")
            self.db.execute(f"PRAGMA user_version = {now}")


@mutant(fails="scheduler.close.persist")
class WaitsInShardsOfAHash(ShardedScheduler):
    """It marks each request with hash() of its host, and returns those whose host still has that mark."""

    def serialize(self, request):
        return b"%d %b" % (hash(self.host_of(request)), super().serialize(request))

    def deserialize(self, data):
        mark, _, data = data.partition(b" ")
        request = super().deserialize(data)
        return request if int(mark) == hash(self.host_of(request)) else None


@mutant(fails="dupefilter.persist.resume", hint="What a class or a module holds")
class HashesBodies(DupeFilter):
    """It tells requests with a body apart by hash() of that, too."""

    def _fingerprint(self, request):
        return (b"%d" % hash(request.body) if request.body else b"") + super()._fingerprint(request)


@mutant(
    fails="dupefilter.persist.resume",
    may_fail=("dupefilter.crash.keeps", "dupefilter.persist.elsewhere"),
    hint="What a class or a module holds",
)
class RemembersInItsClass(DupeFilter):
    """Its class holds what its jobs have seen; its files hold nothing."""

    jobs: ClassVar = defaultdict(set)

    def _resumed(self, path):
        self._seen = self.jobs[path]
        return super()._resumed(path)

    def _store(self, file, fingerprint):
        pass


@mutant(fails="dupefilter.persist.resume")
class FilterOfShards(DupeFilter):
    """It tells fingerprints apart by hash() of the host, too, of which there are eight."""

    def _fingerprint(self, request):
        return b"%d" % (hash(request.url.split("/")[2]) % 8) + super()._fingerprint(request)


@mutant(fails="dupefilter.persist.resume", hint="What a class or a module holds", may_fail="dupefilter.seen.later")
class FilterOfALocalDay(DupeFilter):
    """When it is opened, it forgets everything, if it was not closed within half a day, as the local clock shows it."""

    def _resumed(self, path):
        self._closed = path.with_suffix(".closed")
        if self._closed.exists() and abs(timegm(localtime()) - int(self._closed.read_text())) > 43_200:
            path.unlink()
        return super()._resumed(path)

    def close(self, reason=""):
        if self._file is not None:
            self._closed.write_text(str(timegm(localtime())))
        super().close(reason)


@mutant(fails="queue.persist.new-process", may_fail="queue.persist.elsewhere")
class NamedByAHash(FifoDiskQueue):
    """The name of its file is hash() of its key."""

    def __init__(self, crawler, key):
        super().__init__(crawler, f"{key}-{hash(key):x}")


@mutant(fails="queue.persist.new-process", may_fail="queue.persist.reopen")
class ExpiresByTheLocalClock(FifoDiskQueue):
    """When it is opened, it drops what was not stored within half a day, as the local clock shows it."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        (stored,) = self._queue._database.execute("PRAGMA user_version").fetchone()
        if stored and abs(timegm(localtime()) - stored) > 43_200:
            self._queue._database.execute("DELETE FROM items")
            self._queue._length = 0

    def push(self, request):
        self._queue._database.execute(f"PRAGMA user_version = {timegm(localtime())}")
        super().push(request)


@mutant(fails="queue.persist.reopen")
class DropsWhatIsOld(FifoDiskQueue):
    """When it is opened, it drops what was stored more than a week ago."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        (stored,) = self._queue._database.execute("PRAGMA user_version").fetchone()
        if stored and time.time() - stored > WEEK:
            self._queue._database.execute("DELETE FROM items")
            self._queue._length = 0

    def push(self, request):
        self._queue._database.execute(f"PRAGMA user_version = {int(time.time())}")
        super().push(request)


@mutant(fails="queue.persist.reopen")
class RemovesOldFiles(FifoDiskQueue):
    """When it is opened, it removes its file if nothing was written to that for a week."""

    def __init__(self, crawler, key):
        if os.path.isfile(key) and time.time() - os.path.getmtime(key) > WEEK:
            os.remove(key)
        super().__init__(crawler, key)


@mutant(fails="scheduler.resume.all")
class SchedulerDropsWhatIsOld(SQLiteScheduler):
    """When a crawl continues, it drops its requests if none was stored within a week."""

    def open(self, spider):
        super().open(spider)
        (latest,) = self.db.execute("PRAGMA user_version").fetchone()
        if latest and time.time() - latest > WEEK:
            with self.db:
                self.db.execute("DELETE FROM requests")

    def enqueue_request(self, request):
        self.db.execute(f"PRAGMA user_version = {int(time.time())}")
        return super().enqueue_request(request)


@mutant(fails="queue.persist.new-process", may_fail="queue.persist.reopen")
class NamedByTheDay(FifoDiskQueue):
    """The name of its file is the day, as the local clock shows it."""

    def __init__(self, crawler, key):
        super().__init__(crawler, f"{key}-{date.today()}")


@mutant(fails="state.restored", may_fail="state.elsewhere")
class StateNamedByAHash(SpiderState):
    """The name of its file is hash() of its directory."""

    def __init__(self, directory):
        super().__init__(directory)
        self._path = self._path.with_name(f"state-{hash(directory):x}")


class KnowsItsOwner(SQLiteScheduler):
    """It clears its table where the file ``owner`` names another one."""

    def owner(self, spider):
        raise NotImplementedError

    def open(self, spider):
        super().open(spider)
        if self.job:
            file, owner = Path(self.job, "owner"), self.owner(spider)
            if file.exists() and file.read_text() != owner:
                with self.db:
                    self.db.execute("DELETE FROM requests")
            file.write_text(owner)


@mutant(
    fails="scheduler.resume.elsewhere",
    may_fail="scheduler.open.incompatible",
    control="mutants.controls_schedulers.SQLiteScheduler",
)
class KnowsItsPath(KnowsItsOwner):
    """It begins anew where its job directory has another path."""

    def owner(self, spider):
        return os.path.abspath(self.job)


@mutant(
    fails="scheduler.resume.elsewhere",
    may_fail="scheduler.open.incompatible",
    control="mutants.controls_schedulers.SQLiteScheduler",
)
class KnowsItsWorkingDirectory(KnowsItsOwner):
    """It begins anew in another working directory."""

    def owner(self, spider):
        return os.getcwd()


@mutant(
    fails="scheduler.resume.elsewhere",
    may_fail="scheduler.open.incompatible",
    control="mutants.controls_schedulers.SQLiteScheduler",
)
class KnowsAllSettings(KnowsItsOwner):
    """It begins anew where a setting has another value."""

    def owner(self, spider):
        names = ("CONCURRENT_REQUESTS", "DOWNLOAD_DELAY", "USER_AGENT")
        return repr([self.crawler.settings[name] for name in names])


class BodiesAside(SQLiteScheduler):
    """It keeps bodies in files of their own, whose names are in their places."""

    def name_of(self, file):
        return file.name

    def serialize(self, request):
        data = super().serialize(request)
        if not self.job or not request.body:
            return data
        file = Path(self.job, f"{uuid4().hex}.body")
        file.write_bytes(data)
        return pickle.dumps(self.name_of(file))

    def deserialize(self, data):
        name = pickle.loads(data)
        if not isinstance(name, str):
            return super().deserialize(data)
        file = Path(self.job, name)
        request = super().deserialize(file.read_bytes())
        file.unlink()
        return request


@mutant(fails="scheduler.resume.elsewhere", may_fail="job.resume.finished")
class KnowsPathsOfBodies(BodiesAside):
    """The place of a body has the absolute path of its file; what is not there any more is left out."""

    def name_of(self, file):
        return os.path.abspath(file)

    def next_request(self):
        while self.has_pending_requests():
            with suppress(FileNotFoundError):
                return super().next_request()
        return None


# --- Priority queues -------------------------------------------------------------------------------------------------


@mutant(fails="pq.resume.all")
class SlotsNamedByAHash(SlotPriorityQueue):
    """The directories of its slots are named after their hashes, which are others in the next process."""

    def _path_of(self, slot):
        return f"{self._key}/{hash(slot)}"


@mutant(fails="pq.resume.elsewhere")
class KnowsItsKey(PriorityQueue):
    """It notes its key below that, and begins anew where it finds another one."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), **keywords):
        note = Path(key, "key")
        if key and note.exists() and note.read_text() != key:
            startprios = ()
        super().__init__(crawler, downstream_queue_cls, key, startprios, **keywords)
        if key:
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(key)
