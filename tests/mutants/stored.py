"""Wrong queues and schedulers that cannot get over one request that is unreadable, or that never give room back."""

from __future__ import annotations

import pickle
import uuid
import zlib
from contextlib import suppress
from pathlib import Path

from scrapy.utils.request import request_from_dict

from mutants import mutant
from mutants.controls import FilePerItem, LogByteQueue
from mutants.controls_schedulers import RedisScheduler, SQLiteScheduler
from mutants.one_file import OneFile
from queue_reference.disk import FifoDiskQueue, LifoDiskQueue

FIFO = "queue_reference.disk.FifoDiskQueue"
UNREADABLE = "queue.pop.unreadable"
ROOM = "queue.persist.room"


# --- One unreadable request ------------------------------------------------------------------------------------------


class Stuck(FifoDiskQueue):
    """It leaves a request that cannot be rebuilt where it is."""

    def pop(self):
        request = self.peek()
        self._queue.pop()
        return request


@mutant(fails=UNREADABLE, control=FIFO)
class StaysAtIt(Stuck):
    """It leaves a request that cannot be rebuilt where it is, and raises at it for ever."""


@mutant(fails=UNREADABLE)
class CountsWhatItSetAside(FifoDiskQueue):
    """It sets aside what cannot be rebuilt, and goes on counting it."""

    _aside = 0

    def pop(self):
        try:
            return super().pop()
        except Exception:
            self._aside += 1
            raise

    def __len__(self):
        return super().__len__() + self._aside


@mutant(fails=UNREADABLE)
class ComesBackToIt(LifoDiskQueue):
    """It tries what it has set aside again each time that nothing else is left."""

    def pop(self):
        if not len(self):
            self._queue._database.execute("DELETE FROM aside")
            self._queue._length = self._queue._database.execute("SELECT COUNT(*) FROM items").fetchone()[0]
        return super().pop()


@mutant(fails=UNREADABLE, control=FIFO)
class SetsAsideWhatLacksAMethod(Stuck):
    """It sets aside what belongs to no method, and stays at what is damaged."""

    def pop(self):
        try:
            return super().pop()
        except ValueError as error:
            if "Method" not in str(error):
                raise
            return FifoDiskQueue.pop(self)


@mutant(fails=UNREADABLE, may_fail="queue.persist.partial-fault")
class GivesUpAllBehindIt(FifoDiskQueue):
    """After a request that cannot be rebuilt it gives nothing more in this run."""

    _failed = False

    def pop(self):
        if self._failed:
            return None
        try:
            return super().pop()
        except Exception:
            self._failed = True
            raise

    def __len__(self):
        return 0 if self._failed else super().__len__()


@mutant(fails=UNREADABLE)
class RebuildsAllAtTheStart(FifoDiskQueue):
    """It rebuilds all requests when it opens, and does not open if one of them cannot be."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        for (data,) in self._queue._database.execute("SELECT item FROM items").fetchall():
            self._rebuild(data)


class Zipped(FilePerItem):
    """What it stores is compressed, so that nothing of a request can be read in a file."""

    def __init__(self, path, content):
        super().__init__(path)

    def push(self, item):
        super().push(zlib.compress(item))

    def peek(self):
        item = super().peek()
        return item and zlib.decompress(item)

    def take(self, rebuild):
        if not self.names:
            return None
        item = FilePerItem.peek(self)
        (self.path / self.names.popleft()).unlink()
        return rebuild(zlib.decompress(item))


class ZippedQueue(FifoDiskQueue):
    """A right queue: each request is in a file of its own, compressed."""

    _storage = Zipped


class KeepsTheFile(Zipped):
    """It removes the file of a request once that is rebuilt, and then expects its directory to be empty."""

    def take(self, rebuild):
        if not self.names:
            return None
        item = FilePerItem.peek(self)
        path = self.path / self.names.popleft()
        request = rebuild(zlib.decompress(item))
        path.unlink()
        return request

    def close(self):
        if not self.names and self.path.exists():
            self.path.rmdir()


@mutant(fails=UNREADABLE, may_fail="queue.fault.recovers", control="mutants.stored.ZippedQueue")
class CannotCloseThen(FifoDiskQueue):
    """It sets aside what cannot be rebuilt, and its close raises because of it."""

    _storage = KeepsTheFile


class LooksBeforeItTakes(Zipped):
    """It decompresses an item before it removes the file."""

    def take(self, rebuild):
        self.peek()
        return super().take(rebuild)


@mutant(fails=UNREADABLE, control="mutants.stored.ZippedQueue", may_fail="queue.pop.missing-callback")
class StaysAtWhatIsNotZipped(FifoDiskQueue):
    """It leaves what cannot be decompressed where it is, and raises at it for ever."""

    _storage = LooksBeforeItTakes


# --- Room ------------------------------------------------------------------------------------------------------------


@mutant(fails=ROOM)
class NeverBeginsAnew(LogByteQueue):
    """Its log grows as long as something is in it."""

    def _compact(self):
        pass


@mutant(fails=ROOM, may_fail=("queue.close.empty-removes", "queue.ctor.empty-clean"))
class MarksAsGone(OneFile):
    """It marks the rows of what it gave as gone, and removes them when nothing else is left."""

    _waiting = OneFile._waiting + " AND id NOT IN gone"

    def _opened(self):
        database = super()._opened()
        database.execute("CREATE TABLE IF NOT EXISTS gone (id INTEGER PRIMARY KEY)")
        return database

    def _gone(self, number):
        self._database.execute("INSERT INTO gone VALUES (?)", (number,))
        if not len(self):
            self._database.execute("DELETE FROM requests WHERE id IN gone")


# --- Schedulers ------------------------------------------------------------------------------------------------------

UNREADABLE_SCHEDULED = "scheduler.next.unreadable"
REDIS = {
    "control": "mutants.controls_schedulers.RedisScheduler",
    "settings": {"REDIS_URL": "redis://{host}:{port}/0"},
    "server": "redis",
}


@mutant(fails=UNREADABLE_SCHEDULED)
class RebuildsBeforeItDeletes(SQLiteScheduler):
    """It leaves the row of a request that it cannot rebuild where it is, and raises at it for ever."""

    def next_request(self):
        row = self.db.execute("SELECT data FROM requests ORDER BY priority DESC, id LIMIT 1").fetchone()
        if row is not None:
            self.deserialize(row[0])
        return super().next_request()


class ZipsRequests(SQLiteScheduler):
    """A right scheduler: each request is in a file of its own, compressed."""

    def serialize(self, request):
        data = zlib.compress(super().serialize(request))
        if not self.job:
            return data
        name = f"{uuid.uuid4().hex}.zip"
        Path(self.job, name).write_bytes(data)
        return name.encode()

    def deserialize(self, data):
        if self.job:
            file = Path(self.job, data.decode())
            data = file.read_bytes()
            file.unlink()
        return super().deserialize(zlib.decompress(data))


@mutant(fails=UNREADABLE_SCHEDULED)
class DecompressesBeforeItDeletes(ZipsRequests):
    """It leaves what cannot be decompressed where it is, and raises at it for ever."""

    def next_request(self):
        row = self.db.execute("SELECT data FROM requests ORDER BY priority DESC, id LIMIT 1").fetchone()
        if row is not None and self.job:
            zlib.decompress(Path(self.job, row[0].decode()).read_bytes())
        return super().next_request()


@mutant(fails=UNREADABLE_SCHEDULED)
class WaitsForWhatItSetAside(SQLiteScheduler):
    """It goes on counting what it could not rebuild, so that the crawl never ends."""

    aside = 0

    def deserialize(self, data):
        try:
            return super().deserialize(data)
        except Exception:
            self.aside += 1
            raise

    def __len__(self):
        return super().__len__() + self.aside


@mutant(fails=UNREADABLE_SCHEDULED)
class EndsAtIt(SQLiteScheduler):
    """It calls itself empty once it could not rebuild a request, whatever is stored behind that."""

    failed = False

    def next_request(self):
        return None if self.failed else super().next_request()

    def deserialize(self, data):
        try:
            return super().deserialize(data)
        except Exception:
            self.failed = True
            raise

    def __len__(self):
        return 0 if self.failed else super().__len__()


@mutant(fails=UNREADABLE_SCHEDULED)
class RebuildsAllBeforeItStarts(SQLiteScheduler):
    """It rebuilds all requests when it opens, and does not open if one of them cannot be."""

    def open(self, spider):
        super().open(spider)
        for (data,) in self.db.execute("SELECT data FROM requests").fetchall():
            self.deserialize(data)


@mutant(fails=UNREADABLE_SCHEDULED, **REDIS)
class PutsItBack(RedisScheduler):
    """It puts what it cannot rebuild back to its place in the server."""

    def next_request(self):
        found = self.server.zrange(self.key("requests"), 0, 0, withscores=True)
        try:
            return super().next_request()
        except (ValueError, LookupError):
            self.server.zadd(self.key("requests"), dict(found))
            raise


MISSING_SCHEDULED = "scheduler.next.missing-callback"


@mutant(fails=MISSING_SCHEDULED)
class LeavesItWithout(SQLiteScheduler):
    """It returns a request without the callback or errback that the spider has no more, so that `parse` is called instead."""

    def deserialize(self, data):
        found = pickle.loads(data)
        found |= {name: None for name in ("callback", "errback") if not hasattr(self.spider, found[name] or "")}
        return request_from_dict(found, spider=self.spider)


@mutant(fails=MISSING_SCHEDULED)
class GivesItToParse(SQLiteScheduler):
    """It returns a request with `parse` for a callback that the spider has no more."""

    def deserialize(self, data):
        found = pickle.loads(data)
        if found["callback"] and not hasattr(self.spider, found["callback"]):
            found["callback"] = "parse"
        return request_from_dict(found, spider=self.spider)


@mutant(fails=MISSING_SCHEDULED)
class HandlesNoErrors(SQLiteScheduler):
    """It raises for a callback that the spider has no more, and leaves out such an errback."""

    def deserialize(self, data):
        found = pickle.loads(data)
        if found["errback"] and not hasattr(self.spider, found["errback"]):
            found["errback"] = None
        return request_from_dict(found, spider=self.spider)


@mutant(fails=MISSING_SCHEDULED, may_fail="scheduler.open.incompatible", hint="Let the ValueError of")
class SkipsInSilence(SQLiteScheduler):
    """It goes on to the next request where one cannot be rebuilt, and tells nobody."""

    def next_request(self):
        while self.has_pending_requests():
            with suppress(ValueError):
                return super().next_request()
        return None


@mutant(fails=MISSING_SCHEDULED, may_fail="scheduler.open.incompatible")
class ClearsUpWhenItOpens(SQLiteScheduler):
    """It deletes what cannot be rebuilt when it opens, and tells nobody."""

    def open(self, spider):
        super().open(spider)
        for row, data in self.db.execute("SELECT id, data FROM requests").fetchall():
            try:
                self.deserialize(data)
            except ValueError:
                with self.db:
                    self.db.execute("DELETE FROM requests WHERE id = ?", (row,))


@mutant(fails="scheduler.persist.room")
class MarksTheRowsOfWhatItGave(SQLiteScheduler):
    """It marks the rows of what it gave, and removes them when nothing else is left."""

    def open(self, spider):
        super().open(spider)
        with self.db:
            self.db.execute("CREATE TABLE IF NOT EXISTS gone (data BLOB)")
            self.db.execute("CREATE TRIGGER IF NOT EXISTS marks DELETE ON requests BEGIN INSERT INTO gone VALUES (OLD.data); END")

    def has_pending_requests(self):
        pending = super().has_pending_requests()
        if not pending:
            with self.db:
                self.db.execute("DELETE FROM gone")
        return pending


@mutant(fails=("scheduler.resume.all", "scheduler.resume.seen"))
class EmptiesItsStorage(SQLiteScheduler):
    """It knows no jobs, keeps what waits in the working directory, and empties that when it starts."""

    def open(self, spider):
        self.job = "."
        super().open(spider)
        with self.db:
            self.db.execute("DELETE FROM requests")
            self.db.execute("DELETE FROM seen")
