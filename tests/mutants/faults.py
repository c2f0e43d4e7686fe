"""Wrong queues that are right as long as nothing goes wrong with the disk."""

from __future__ import annotations

import errno
import sqlite3
from collections import deque
from contextlib import suppress

from mutants import mutant
from mutants.controls import FilePerItem
from mutants.one_file import OneFile
from queue_reference.bytequeues import FifoByteQueue
from queue_reference.disk import FifoDiskQueue

KEEPS_ITS_FILE = ("queue.ctor.empty-clean", "queue.close.empty-removes")
"""What a queue fails, too, whose file belongs to several keys and outlives what it holds."""

# --- push ------------------------------------------------------------------------------------------------------------


@mutant(fails="queue.push.failed-no-trace-fault")
class LeaksThreeBytes(FilePerItem):
    """What is left of a write that was cut after exactly three bytes stays stored, as an item of its own."""

    def write(self, name, item):
        new = self.path / f"{name}.new"
        try:
            new.write_bytes(item)
            new.replace(self.path / name)
        except OSError:
            if new.exists() and new.stat().st_size == 3:
                new.replace(self.path / f"9{name}")
            else:
                new.unlink(missing_ok=True)
            raise


@mutant(fails="queue.push.no-silent-loss")
class ForgivesMissingDescriptors(FilePerItem):
    """Its push returns as if the item were stored when the process can open no more files."""

    def write(self, name, item):
        try:
            super().write(name, item)
        except OSError as error:
            if error.errno != errno.EMFILE:
                raise


@mutant(fails="queue.push.no-silent-loss")
class ForgivesFullDisks(FilePerItem):
    """Its push returns as if the item were stored when the disk is really full."""

    def write(self, name, item):
        try:
            super().write(name, item)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


@mutant(fails=("queue.push.no-silent-loss", "queue.persist.partial-fault", "queue.close.keeps-fault"))
class WritesLots(FifoByteQueue):
    """It writes eight items at a time, and has forgotten them if that fails."""

    def __init__(self, path):
        super().__init__(path)
        self._lot = []

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(f"only bytes can be stored, not {type(item).__name__}")
        self._lot.append(item)
        if len(self._lot) == 8:
            self._write()

    def _write(self):
        lot, self._lot = self._lot, []
        for item in lot:
            super().push(item)

    def take(self, decode):
        self._write()
        return super().take(decode)

    def peek(self):
        self._write()
        return super().peek()

    def clear(self):
        self._lot.clear()
        super().clear()

    def close(self):
        if not self._closed:
            self._write()
        super().close()

    def __len__(self):
        return super().__len__() + len(self._lot)


# --- pop -------------------------------------------------------------------------------------------------------------


@mutant(fails="queue.persist.partial-fault")
class DropsWhatItCannotNote(FifoByteQueue):
    """Its pop notes the item in a file after it has removed it, and raises if it cannot."""

    def pop(self):
        item = super().pop()
        if item is not None:
            note = self._path.with_name(f"{self._path.name}.popped")
            try:
                note.write_bytes(item)
            finally:
                note.unlink(missing_ok=True)
        return item


@mutant(fails="queue.close.keeps-fault", hint="Look at what a failed pop")
class DiscardsAfterAFailedPop(FifoDiskQueue):
    """When a pop has failed because the disk is full, its close discards the request."""

    failed = False

    def pop(self):
        try:
            return super().pop()
        except sqlite3.Error:
            self.failed = True
            raise

    def close(self):
        if self.failed:
            super().pop()
        super().close()


@mutant(fails="queue.pop.fault-once", may_fail=KEEPS_ITS_FILE)
class ForgivesAFailedDelete(OneFile):
    """It returns what it could not delete, and again later."""

    def _gone(self, number):
        with suppress(sqlite3.Error):
            super()._gone(number)


@mutant(fails="queue.pop.fault-once", may_fail=KEEPS_ITS_FILE)
class RemembersAFailedDelete(OneFile):
    """It returns what it could not delete, skips that in this run, and returns it in the next one."""

    def _gone(self, number):
        try:
            super()._gone(number)
        except sqlite3.Error:
            self._database.execute("INSERT INTO aside VALUES (?)", (number,))


# --- close -----------------------------------------------------------------------------------------------------------


@mutant(fails="queue.close.keeps-fault")
class WritesAllAgain(FifoDiskQueue):
    """Its close removes everything, and then stores it again in order."""

    def close(self):
        database = self._queue._database
        if not self._queue._closed:
            items = database.execute("SELECT item FROM items ORDER BY id").fetchall()
            database.execute("DELETE FROM items")
            for item in items:
                database.execute("INSERT INTO items (item) VALUES (?)", item)
        super().close()


# --- Construction ----------------------------------------------------------------------------------------------------


@mutant(fails="queue.persist.reopen-fault")
class StartsAgain(FilePerItem):
    """When it cannot read its directory, it starts an empty queue, and its close removes what is not its own."""

    started_again = False

    def __init__(self, path):
        try:
            super().__init__(path)
        except OSError:
            self.started_again = True
            self.names = deque()

    def close(self):
        if self.started_again:
            for file in set(self.path.glob("*.item")) - {self.path / name for name in self.names}:
                file.unlink()
        super().close()
