"""Queues of bytes with the interface of queuelib: on disk, safe against crashes of the process, and in memory.

The storage is SQLite, because it already solves what is hard about a queue on disk: a push or a pop happens completely or
not at all, whatever happens to the process or to the room on the disk meanwhile. In WAL mode with ``synchronous=NORMAL`` a
push costs one write to the operating system and no wait for the disk; a power loss may undo the last operations, but never
damages what was stored before.
"""

from __future__ import annotations

import os
import sqlite3
import zlib
from collections import deque
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import ClassVar, TypeVar

T = TypeVar("T")


class WrongStorageError(Exception):
    """The path holds something that another class has written."""


class FifoByteQueue:
    """The item that was pushed first is popped first.

    Args:
        path: the file to use; its directory is created if it is missing.
        content: what the items are; storage that was written with another content is refused.

    Raises:
        WrongStorageError: if the path holds something that another class, or the same with another content, has written.
    """

    _next: ClassVar[str] = "SELECT id, item FROM items WHERE id NOT IN aside ORDER BY id LIMIT 1"

    def __init__(self, path: str | os.PathLike[str], content: str = "bytes") -> None:
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        signature = zlib.crc32(f"{type(self)._next} {content}".encode()) >> 1
        self._check_signature(signature)
        self._database = sqlite3.connect(self._path, isolation_level=None)
        self._closed = False
        try:
            self._database.execute("PRAGMA journal_mode = WAL")
            self._database.execute("PRAGMA synchronous = NORMAL")
            self._database.execute(f"PRAGMA application_id = {signature}")
            self._database.execute("CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, item BLOB NOT NULL)")
            self._database.execute("CREATE TEMPORARY TABLE aside (id INTEGER PRIMARY KEY)")  # the next run tries these again
            self._length: int
            (self._length,) = self._database.execute("SELECT COUNT(*) FROM items").fetchone()
        except BaseException:
            self._database.close()
            raise

    def _check_signature(self, signature: int) -> None:
        """Look at what is there; a write that a crash has cut is undone thereby, and nothing else is written."""
        if not self._path.exists():
            return
        found = None
        if self._path.is_file():
            with closing(sqlite3.connect(f"{self._path.absolute().as_uri()}?mode=rw", uri=True)) as database:
                try:
                    if not database.execute("SELECT * FROM sqlite_master").fetchall():
                        return  # nothing is stored: whoever was creating it was killed
                    (found,) = database.execute("PRAGMA application_id").fetchone()
                except sqlite3.DatabaseError:
                    found = None
        if found != signature:
            raise WrongStorageError(f"{self._path} was not written by {type(self).__name__}")

    def push(self, item: bytes) -> None:
        """Store an item.

        Raises:
            TypeError: if it is not ``bytes``.
        """
        if not isinstance(item, bytes):
            raise TypeError(f"only bytes can be stored, not {type(item).__name__}")
        self._database.execute("INSERT INTO items (item) VALUES (?)", (item,))
        self._length += 1

    def pop(self) -> bytes | None:
        """Take out the next item; ``None`` if there is none."""
        return self.take(bytes)

    def take(self, decode: Callable[[bytes], T]) -> T | None:
        """Take out the next item, decoded; if that raises, the item is set aside until the queue is opened again.

        Args:
            decode: turns the stored bytes into what is wanted.
        """
        with self._database:  # commits, or rolls back if the storage fails
            self._database.execute("BEGIN IMMEDIATE")
            row = self._database.execute(self._next).fetchone()
            if row is None:
                return None
            decoded = failed = None
            done = "DELETE FROM items WHERE id = ?"
            try:
                decoded = decode(row[1])
            except Exception as error:
                failed, done = error, "INSERT INTO aside VALUES (?)"
            self._database.execute(done, row[:1])
        self._length -= 1
        if failed is not None:
            raise failed
        return decoded

    def peek(self) -> bytes | None:
        """Return what ``pop`` would, and leave it where it is."""
        row = self._database.execute(self._next).fetchone()
        return None if row is None else bytes(row[1])

    def clear(self) -> None:
        """Remove all items, those that were set aside too, and give their room on the disk back."""
        self._database.execute("DELETE FROM items")
        self._database.execute("DELETE FROM aside")
        self._length = 0
        self._database.execute("VACUUM")
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Release the file; an empty queue leaves none behind."""
        if self._closed:
            return
        self._closed = True
        (kept,) = self._database.execute("SELECT EXISTS (SELECT 1 FROM items)").fetchone()
        self._database.close()
        if not kept:
            self._path.unlink(missing_ok=True)

    def __len__(self) -> int:
        return self._length


class LifoByteQueue(FifoByteQueue):
    """The item that was pushed last is popped first."""

    _next: ClassVar[str] = "SELECT id, item FROM items WHERE id NOT IN aside ORDER BY id DESC LIMIT 1"


class FifoMemoryByteQueue:
    """The item that was pushed first is popped first; nothing outlives the object."""

    def __init__(self) -> None:
        self._items: deque[bytes] = deque()

    def push(self, item: bytes) -> None:
        """Store an item."""
        self._items.append(item)

    def pop(self) -> bytes | None:
        """Take out the next item; ``None`` if there is none."""
        return self._items.popleft() if self._items else None

    def peek(self) -> bytes | None:
        """Return what ``pop`` would, and leave it where it is."""
        return self._items[0] if self._items else None

    def clear(self) -> None:
        """Remove all items."""
        self._items.clear()

    def close(self) -> None:
        """There is nothing to release."""

    def __len__(self) -> int:
        return len(self._items)


class LifoMemoryByteQueue(FifoMemoryByteQueue):
    """The item that was pushed last is popped first; nothing outlives the object."""

    def pop(self) -> bytes | None:
        return self._items.pop() if self._items else None

    def peek(self) -> bytes | None:
        return self._items[-1] if self._items else None
