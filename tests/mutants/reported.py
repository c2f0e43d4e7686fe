"""Mistakes of public reports that no other module shows as they were; docs/reports.md says which report each is from."""

from __future__ import annotations

from mutants import mutant
from mutants.controls_schedulers import SQLiteScheduler
from mutants.controls_stores import OrderBeside
from mutants.disk import Changes
from queue_reference.bytequeues import FifoByteQueue
from queue_reference.memory import FifoMemoryQueue
from queue_reference.pqueues import PriorityQueue


@mutant(fails="queue.pop.exactly-once")
class TranslatesLineEnds(FifoByteQueue):
    """It reads its file as text of Windows, in which a carriage return before a line feed vanishes."""

    def pop(self):
        item = super().pop()
        return item and item.replace(b"\r\n", b"\n")

    def peek(self):
        item = super().peek()
        return item and item.replace(b"\r\n", b"\n")


@mutant(fails="queue.len.count")
class CountsWhatIsNotThere(FifoMemoryQueue):
    """The store whose requests it counts is there once the first of them was pushed."""

    pushed = False

    def push(self, request):
        super().push(request)
        self.pushed = True

    def __len__(self):
        if not self.pushed:
            raise LookupError("no such store")
        return super().__len__()


@mutant(
    fails=("queue.pop.roundtrip", "queue.push.request-types"),
    may_fail=("queue.persist.crash-no-phantom", "queue.pop.exactly-once"),
    control="queue_reference.disk.FifoDiskQueue",
)
class KeepsTheRestWithMetaOnly(Changes):
    """Of a request without meta it keeps the URL, the method and the priority."""

    def changed(self, request):
        return request if request.meta else request.replace(headers=None, body=b"", cookies=None, cb_kwargs=None, flags=None)


# --- Priorities ------------------------------------------------------------------------------------------------------


@mutant(fails=("pq.pop.order", "pq.pop.start-priority", "pq.priority.at-push", "pq.priority.ints"))
class OrdersByBytes(PriorityQueue):
    """It compares priorities as the bytes in which it would store them, so that those below zero are on the other side."""

    def _next(self):
        return min(
            [*self._open, *self._parked], key=lambda place: (place.rank.to_bytes(64, signed=True), place.start), default=None
        )


@mutant(fails="scheduler.next.priority")
class ServesWhatWasLeftLast(SQLiteScheduler):
    """What an earlier run has left comes after all that is new, whatever its priority is."""

    def open(self, spider):
        super().open(spider)
        (self.last,) = self.db.execute("SELECT ifnull(max(id), 0) FROM requests").fetchone()

    def next_request(self):
        order = "ORDER BY id <= ?, priority DESC, id LIMIT 1"
        row = self.db.execute(f"SELECT id, data FROM requests {order}", (self.last,)).fetchone()
        if row is None:
            return self.next_volatile()
        with self.db:
            self.db.execute("DELETE FROM requests WHERE id = ?", row[:1])
        return self.deserialize(row[1])


# --- What was seen ---------------------------------------------------------------------------------------------------


@mutant(fails=("scheduler.enqueue.duplicate", "scheduler.open.refused-keeps", "scheduler.resume.seen"))
class KnowsWhatWaitsOnly(SQLiteScheduler):
    """A request that it has handed out is new to it again."""

    def next_request(self):
        request = super().next_request()
        if request is not None:
            with self.db:
                self.db.execute("DELETE FROM seen WHERE fingerprint = ?", (self.fingerprint(request),))
        return request


@mutant(fails="scheduler.enqueue.duplicate")
class KnowsWhatItHasServedOnly(SQLiteScheduler):
    """It notes what it has seen when it hands that out, so that what waits is stored again."""

    def enqueue_request(self, request):
        accepted = super().enqueue_request(request)
        if accepted and not request.dont_filter:
            self.seen_in_memory.discard(self.fingerprint(request))
            with self.db:
                self.db.execute("DELETE FROM seen WHERE fingerprint = ?", (self.fingerprint(request),))
        return accepted

    def next_request(self):
        request = super().next_request()
        if request is not None and not request.dont_filter:
            with self.db:
                self.db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (self.fingerprint(request),))
        return request


# --- Stores ----------------------------------------------------------------------------------------------------------


@mutant(fails="scheduler.resume.all")
class CannotBeginWithNothing(SQLiteScheduler):
    """Its open raises where an earlier run has handed out all that it had."""

    def open(self, spider):
        super().open(spider)
        if self.db.execute("SELECT 1 FROM seen").fetchone() and not len(self):
            self.db.close()
            raise LookupError("there is no queue for what was seen")


@mutant(fails="queue.persist.crash-open")
class WaitsForAFileThatIsGone(OrderBeside):
    """It tries again where the file of an item is not there."""

    def complete(self, names):
        return type(self.names)(names)

    def peek(self):
        while self.names and not (self.path / self.names[0]).exists():
            pass
        return super().peek()


@mutant(fails="queue.pop.exactly-once")
class KeepsTenMebibytes(FifoByteQueue):
    """It is a cache of ten MiB, and drops what is oldest where it has more."""

    def push(self, item):
        super().push(item)
        while self._length > 1 and self._database.execute("SELECT sum(length(item)) FROM items").fetchone()[0] > 10 << 20:
            self.pop()
