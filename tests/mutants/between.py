"""Queues that several processes use, and what is wrong between two statements of them; right ones beside."""

from __future__ import annotations

import fcntl
import os
import pickle
import sqlite3
import time
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from mutants import mutant
from mutants.controls import SharedFile

RIGHT = "mutants.controls.SharedFile"
KEEPS_ITS_FILE = ("queue.ctor.empty-clean", "queue.close.empty-removes", "queue.pop.missing-callback")
"""What the control fails, too: its file outlives the last pop, and a callback that is missing is not told."""

WRITES_IN_PLACE = ("queue.push.no-silent-loss", "queue.persist.partial-fault", "queue.ctor.wrong-storage")
"""What a queue fails, too, that rewrites its file in place and trusts what it reads there."""

KEEPS_PUSHES_OPEN = ("queue.push.failed-no-trace-fault", "queue.persist.partial-fault", "queue.close.keeps-fault")
"""What a queue fails, too, whose last push is undone with what fails after it."""

shared = partial(mutant, control=RIGHT, may_fail=KEEPS_ITS_FILE, claims={"shared": "yes"})
flocked = partial(
    mutant, control="mutants.between.FlockedBytes", may_fail=KEEPS_ITS_FILE + WRITES_IN_PLACE, claims={"shared": "yes"}
)


class Transactions(SharedFile):
    """A right queue: looks and takes in one transaction, which has the lock for writing from its beginning."""

    begin = "BEGIN IMMEDIATE"

    @contextmanager
    def transaction(self):
        self._connection.execute(self.begin)
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def pop(self):
        with self.transaction():
            found = self._first()
            if found is None:
                return None
            self._connection.execute("DELETE FROM requests WHERE id = ?", found[:1])
        return self._rebuilt(found[1])

    def _first(self):
        return self._connection.execute("SELECT id, data FROM requests ORDER BY id LIMIT 1").fetchone()


class FlockedBytes:
    """A queue of bytes, right but for faults of the disk: one file, which each operation reads and writes under its lock."""

    def __init__(self, path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT)

    @contextmanager
    def locked(self):
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def _read(self):
        content = os.pread(self._descriptor, 1 << 30, 0)
        return pickle.loads(content) if content else []

    def _write(self, items):
        os.ftruncate(self._descriptor, os.pwrite(self._descriptor, pickle.dumps(items), 0))

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError("only bytes are stored")
        with self.locked():
            self._write([*self._read(), item])

    def pop(self):
        with self.locked():
            items = self._read()
            if not items:
                return None
            self._write(items[1:])
            return items[0]

    def peek(self):
        with self.locked():
            return next(iter(self._read()), None)

    def __len__(self):
        with self.locked():
            return len(self._read())

    def close(self):
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


# --- Each item once --------------------------------------------------------------------------------------------------


@shared(fails="queue.shared.visible", hint="What is committed later may have been")
class PopsBehindTheLastOne(Transactions):
    """Numbers requests by the time, and looks only behind the one that it popped last: what is stored later may come before."""

    last = 0

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        (self.numbered,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM requests").fetchone()

    def push(self, request):
        self.numbered = max(self.numbered + 1, time.time_ns())
        data = self._data(request)
        self._connection.execute("INSERT INTO requests (id, data) VALUES (?, ?)", (self.numbered, data))

    def pop(self):
        with self.transaction():
            found = self._first()
            if found is None:
                return None
            self._connection.execute("DELETE FROM requests WHERE id = ?", found[:1])
        self.last = found[0]
        return self._rebuilt(found[1])

    def _first(self):
        behind = "SELECT id, data FROM requests WHERE id > ? ORDER BY id LIMIT 1"
        return self._connection.execute(behind, (self.last,)).fetchone()


@shared(fails="queue.shared.once")
class SelectsThenDeletes(Transactions):
    """Looks and takes by two statements without a transaction."""

    def pop(self):
        found = self._first()
        if found is None:
            return None
        self._connection.execute("DELETE FROM requests WHERE id = ?", found[:1])
        return self._rebuilt(found[1])


@shared(fails="queue.shared.once")
class SelectsThenDeletesInOneLine(Transactions):
    """Does both in one line, between whose calls there is no other one."""

    def pop(self):
        run = self._connection.execute
        return (found := self._first()) and run("DELETE FROM requests WHERE id = ?", found[:1]) and self._rebuilt(found[1])


@flocked(fails="queue.shared.once")
class UnlockedPush(FlockedBytes):
    """Reads, adds and writes without the lock: what others do meanwhile is undone."""

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError("only bytes are stored")
        self._write([*self._read(), item])


@flocked(fails="queue.shared.once", may_fail=(*KEEPS_ITS_FILE, *WRITES_IN_PLACE, "queue.close.keeps-fault"))
class WritesAtClose(FlockedBytes):
    """Writes again at its close what it found when it was opened, with its own changes."""

    def __init__(self, path):
        super().__init__(path)
        with self.locked():
            self._found = self._read()

    def push(self, item):
        super().push(item)
        self._found.append(item)

    def pop(self):
        item = super().pop()
        if item in self._found:
            self._found.remove(item)
        return item

    def close(self):
        if self._descriptor >= 0:
            with self.locked():
                self._write(self._found)
        super().close()


@flocked(fails="queue.shared.once")
class RemovesItsFile(FlockedBytes):
    """Removes the file at the close of an empty queue, though others have it open."""

    def __init__(self, path):
        super().__init__(path)
        self._path = Path(path)

    def close(self):
        if self._descriptor >= 0 and not len(self):
            self._path.unlink(missing_ok=True)
        super().close()


# --- Nobody is disturbed ---------------------------------------------------------------------------------------------


@shared(fails="queue.shared.undisturbed", hint="Commit before")
class WaitsForNoLock(Transactions):
    """Raises «database is locked» at once where it should wait."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._connection.execute("PRAGMA busy_timeout = 0")


@shared(
    fails=("queue.shared.undisturbed", "queue.shared.visible"),
    may_fail=KEEPS_ITS_FILE + KEEPS_PUSHES_OPEN,
    hint="Commit before",
)
class KeepsTheLock(Transactions):
    """Commits what it pushed only with the next operation of its own, so that others wait for it, and do not see it."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._connection.execute("PRAGMA busy_timeout = 1000")

    def push(self, request):
        self._commit()
        self._connection.execute("BEGIN IMMEDIATE")
        super().push(request)

    def pop(self):
        self._commit()
        return super().pop()

    def close(self):
        self._commit()
        super().close()

    def _commit(self):
        with suppress(sqlite3.ProgrammingError):  # it was closed before
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")


@shared(fails="queue.shared.undisturbed", hint="Undo what a push")
class KeepsTheLockAfterARefusal(KeepsTheLock):
    """Begins to write before it serializes, and keeps others out after a push that it refused until its next operation."""

    def push(self, request):
        super().push(request)
        self._commit()


@shared(fails="queue.shared.undisturbed")
class TakesTheLockLate(Transactions):
    """Begins a transaction by reading: if another one writes meanwhile, its own lock for writing cannot be had any more."""

    begin = "BEGIN"


@shared(fails="queue.shared.undisturbed")
class InsistsOnWhatItSaw(Transactions):
    """Raises where another process has taken what it saw."""

    def pop(self):
        found = self._first()
        if found is None:
            return None
        if not self._connection.execute("DELETE FROM requests WHERE id = ?", found[:1]).rowcount:
            raise LookupError("somebody else was faster")
        return self._rebuilt(found[1])


# --- Seen by others --------------------------------------------------------------------------------------------------


@shared(fails="queue.shared.visible", may_fail=(*KEEPS_ITS_FILE, "queue.pop.unreadable"))
class CountsWhenOpened(SharedFile):
    """Counts what is stored when it is opened, and what it does itself since then."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._count = super().__len__()

    def push(self, request):
        super().push(request)
        self._count += 1

    def pop(self):
        request = super().pop()
        self._count = max(0, self._count - (request is not None))
        return request

    def __len__(self):
        return self._count


@shared(fails="queue.shared.at-once")
class LooksEveryOtherTime(SharedFile):
    """Does not look at the file in the pop after one that found nothing."""

    _rests = False

    def pop(self):
        if self._rests:
            self._rests = False
            return None
        request = super().pop()
        self._rests = request is None
        return request

    def push(self, request):
        super().push(request)
        self._rests = False


@shared(fails="queue.shared.visible")
class SkipsWhereSomebodyCame(SharedFile):
    """A pop in the midst of which another process writes gives up the request that it had found, and never looks at it again."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._skipped = []

    def pop(self):
        before = self._version()
        found = self._connection.execute("SELECT id, data FROM requests ORDER BY id").fetchall()
        number, data = next((one for one in found if one[0] not in self._skipped), (None, None))
        if number is None:
            return None
        if self._version() != before:
            self._skipped.append(number)
            return None
        taken = self._connection.execute("DELETE FROM requests WHERE id = ?", (number,)).rowcount
        return self._rebuilt(data) if taken else None

    def _version(self):
        return self._connection.execute("PRAGMA data_version").fetchone()[0]
