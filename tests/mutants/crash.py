"""Wrong queues that show it only when their process is killed."""

from __future__ import annotations

import os
import time
import zlib
from pathlib import Path

from mutants import mutant
from mutants.controls import LogByteQueue
from queue_reference.bytequeues import FifoByteQueue
from queue_reference.disk import FifoDiskQueue, LifoDiskQueue

FIFO_BYTES = "queue_reference.bytequeues.FifoByteQueue"

CRASH_SAFE = {"crash-safe": "yes"}


# --- Claimed to be crash-safe ----------------------------------------------------------------------------------------


@mutant(
    fails=("queue.persist.crash-push", "queue.close.keeps-fault", "queue.push.no-silent-loss"),
    may_fail="queue.persist.partial-fault",
    claims=CRASH_SAFE,
)
class BuffersItems(LogByteQueue):
    """It writes the items when it is closed, or when there are eight of them."""

    def __init__(self, path):
        self._buffer = b""
        super().__init__(path)

    def _append(self, record):
        self._buffer += record
        if self._buffer.count(self.PUSHED) >= 8:
            self._flush()

    def _flush(self):
        record, self._buffer = self._buffer, b""
        super()._append(record)

    def clear(self):
        self._flush()
        super().clear()

    def close(self):
        if not self._closed:
            self._flush()
        super().close()


@mutant(fails="queue.persist.crash-pop", claims=CRASH_SAFE)
class CompactsInPlace(LogByteQueue):
    """Once fifty were popped, it begins its file anew, and writes what is left."""

    _popped = 0

    def pop(self):
        item = super().pop()
        self._popped += item is not None
        if self._popped == 50:
            self._compact()
        return item

    def _compact(self):
        self._popped = 0
        os.ftruncate(self._file, len(self.MAGIC))
        for item in self._items:
            self._append(self._record(item))


@mutant(fails="queue.persist.crash-push", claims=CRASH_SAFE)
class CommitsInTwos(FifoDiskQueue):
    """It marks a request as stored in a second step, and forgets what is not marked."""

    def __init__(self, crawler, key):
        mark = Path(f"{key}-unmarked")
        super().__init__(crawler, key)
        if mark.exists():
            self._queue.clear()
            mark.unlink()
        self.mark = mark

    def push(self, request):
        self.mark.touch()
        try:
            super().push(request)
        finally:
            self.mark.unlink()


@mutant(fails="queue.persist.crash-push", claims=CRASH_SAFE)
class HoldsBackWhatFollowsAClear(FifoByteQueue):
    """It writes nothing between a clear and the next pop or close."""

    def _commit(self):
        if not self._closed and self._database.in_transaction:
            self._database.execute("COMMIT")

    def take(self, decode):
        self._commit()
        return super().take(decode)

    def clear(self):
        self._commit()
        super().clear()
        self._database.execute("BEGIN")

    def close(self):
        self._commit()
        super().close()


@mutant(fails=("queue.persist.crash-pop", "queue.persist.partial-fault"), may_fail="queue.pop.unreadable", claims=CRASH_SAFE)
class RewritesWithoutATransaction(LifoDiskQueue):
    """Its pop removes all requests, and stores the others again, unless there are many."""

    def pop(self):
        popped = super().pop()
        if len(self) > 50:
            return popped
        database = self._queue._database
        rows = database.execute("SELECT item FROM items ORDER BY id").fetchall()
        database.execute("DELETE FROM items")
        database.executemany("INSERT INTO items (item) VALUES (?)", rows)
        return popped


@mutant(fails="queue.persist.torn", claims=CRASH_SAFE)
class TrustsItsLog(LogByteQueue):
    """It delivers the last record as far as it is there."""

    def _valid(self, item, size, checksum):
        return True


@mutant(fails=("queue.persist.torn", "queue.persist.crash-push"), claims=CRASH_SAFE)
class RefusesTornLogs(LogByteQueue):
    """It does not open a log whose last record is cut."""

    def _valid(self, item, size, checksum):
        if len(item) != size or zlib.crc32(item) != checksum:
            raise OSError("the log is damaged")
        return True


@mutant(fails=("queue.persist.torn", "queue.persist.crash-push"), claims=CRASH_SAFE)
class StopsAtTornRecords(LogByteQueue):
    """Its pop raises for ever where a record is cut."""

    _cut = None

    def _valid(self, item, size, checksum):
        if len(item) != size or zlib.crc32(item) != checksum:
            self._cut = item
        return True

    def pop(self):
        if self._items and self._items[0] is self._cut:
            raise EOFError("the record ends too soon")
        return super().pop()


# --- Not claimed to be crash-safe ------------------------------------------------------------------------------------


class NoticesUncleanEnds(FifoByteQueue):
    """A right queue which knows whether its last owner closed it."""

    unclean = False

    def __init__(self, path):
        super().__init__(path)
        self.owner = Path(f"{os.fspath(path)}.open")
        if self.owner.exists():
            self.unclean = True
            self.after_a_crash()
        self.owner.touch()

    def after_a_crash(self):
        pass

    def close(self):
        super().close()
        self.owner.unlink(missing_ok=True)


@mutant(fails="queue.persist.crash-open", control=FIFO_BYTES)
class WaitsForItsOwner(NoticesUncleanEnds):
    """It waits for its last owner to close it, also when that owner is dead."""

    def after_a_crash(self):
        while self.owner.exists():
            time.sleep(0.01)


@mutant(fails="queue.persist.crash-open", control=FIFO_BYTES)
class ExitsAfterACrash(NoticesUncleanEnds):
    """After a crash it ends the interpreter."""

    def after_a_crash(self):
        os._exit(3)


@mutant(fails="queue.persist.crash-open", control=FIFO_BYTES)
class NeverEndsAfterACrash(NoticesUncleanEnds):
    """After a crash it delivers one item for ever."""

    def pop(self):
        return super().peek() if self.unclean else super().pop()


@mutant(fails="queue.persist.crash-length", control=FIFO_BYTES)
class MiscountsAfterACrash(NoticesUncleanEnds):
    """After a crash it takes some bytes for its length that are none."""

    def after_a_crash(self):
        self._length = int.from_bytes(b"item", "big")


@mutant(fails="queue.persist.crash-no-phantom", control=FIFO_BYTES)
class InventsItems(NoticesUncleanEnds):
    """After a crash it delivers an item that was never pushed."""

    def after_a_crash(self):
        self.push(b"recovered")


@mutant(fails="queue.persist.crash-no-phantom", control=FIFO_BYTES)
class DiscardsAfterACrash(NoticesUncleanEnds):
    """After a crash it stores nothing any more, and its close removes what is pushed."""

    def push(self, item):
        super().push(item)
        if self.unclean:
            super().pop()
