"""Wrong queues and schedulers that cannot get over one request that is unreadable, or that never give room back."""

from __future__ import annotations

from mutants import mutant
from mutants.controls import LogByteQueue
from mutants.controls_schedulers import RedisScheduler, SQLiteScheduler
from mutants.crash import FIFO, LIFO, LOG
from mutants.one_file import RIGHT, OneFile
from queue_reference.disk import FifoDiskQueue, LifoDiskQueue

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


@mutant(fails=UNREADABLE, control=FIFO)
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


@mutant(fails=UNREADABLE, control=LIFO)
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


@mutant(fails=UNREADABLE, may_fail="queue.persist.partial-fault", control=FIFO)
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


# --- Room ------------------------------------------------------------------------------------------------------------


@mutant(fails=ROOM, control=LOG)
class NeverBeginsAnew(LogByteQueue):
    """Its log grows as long as something is in it."""

    def _compact(self):
        pass


@mutant(fails=ROOM, may_fail=("queue.close.empty-removes", "queue.ctor.empty-clean"), control=RIGHT)
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
SQLITE = "mutants.controls_schedulers.SQLiteScheduler"
REDIS = {
    "control": "mutants.controls_schedulers.RedisScheduler",
    "settings": {"REDIS_URL": "redis://{host}:{port}/0"},
    "server": "redis",
}


@mutant(fails=UNREADABLE_SCHEDULED, control=SQLITE)
class RebuildsBeforeItDeletes(SQLiteScheduler):
    """It leaves the row of a request that it cannot rebuild where it is, and raises at it for ever."""

    def next_request(self):
        row = self.db.execute("SELECT data FROM requests ORDER BY priority DESC, id LIMIT 1").fetchone()
        if row is not None:
            self.deserialize(row[0])
        return super().next_request()


@mutant(fails=UNREADABLE_SCHEDULED, control=SQLITE)
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


@mutant(fails=UNREADABLE_SCHEDULED, control=SQLITE)
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


@mutant(fails="scheduler.persist.room", control=SQLITE)
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


@mutant(fails=("scheduler.persist.evidence", "scheduler.resume.all", "scheduler.resume.seen"), control=SQLITE)
class EmptiesItsStorage(SQLiteScheduler):
    """It knows no jobs, keeps what waits in the working directory, and empties that when it starts."""

    def open(self, spider):
        self.job = "."
        super().open(spider)
        with self.db:
            self.db.execute("DELETE FROM requests")
            self.db.execute("DELETE FROM seen")
