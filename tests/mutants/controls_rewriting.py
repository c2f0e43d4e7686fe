"""Queues of bytes that write their files anew while they are used, and lose nothing by that."""

from __future__ import annotations

import contextlib
import io
import os
import pickle
from collections import deque
from pathlib import Path

from mutants.controls import LogByteQueue


class ReplacesItsLog(LogByteQueue):
    """A right one, whose log is replaced when 256 KiB of it are no longer needed."""

    WASTE = 1 << 18

    @property
    def new(self):
        return self._path.with_name(f"{self._path.name}.new")

    def left(self):
        return self.MAGIC + b"".join(map(self._record, self._items))

    def put_in_place(self):
        file = os.open(self.new, os.O_RDWR | os.O_APPEND)
        os.replace(self.new, self._path)
        os.close(self._file)
        self._file = file


class Snapshots:
    """A right one, which writes all that waits to a snapshot with each twentieth push, and begins another log then."""

    EVERY = 20

    def __init__(self, path):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.snapshot = self.path / "snapshot"
        if foreign := [file for file in self.path.iterdir() if not file.name.startswith(("snapshot", "log"))]:
            raise OSError(f"{foreign[0]} is none of its files")
        self.pushed, self.number, items = 0, 0, ()
        if self.snapshot.exists():
            self.number, items = pickle.loads(self.snapshot.read_bytes())
        self.items = deque(items)
        self.begin_log()

    def begin_log(self):
        """Do again what the log says, without what a crash has cut, and open it to append."""
        log = self.path / f"log{self.number}"
        data = log.read_bytes() if log.exists() else b""
        file = io.BytesIO(data)
        end = 0
        with contextlib.suppress(Exception):
            while file.tell() < len(data):
                self.done(pickle.load(file))
                end = file.tell()
        self.log = log.open("ab", buffering=0)
        self.log.truncate(end)
        for other in self.path.glob("log*"):
            if other != log:
                other.unlink()

    def done(self, item):
        if item is None:
            self.items.popleft()
        else:
            self.items.append(item)

    def write(self, item):
        end, record = self.log.seek(0, 2), pickle.dumps(item)
        try:
            while record:
                record = record[self.log.write(record) :]
        except OSError:
            self.log.truncate(end)
            raise
        self.done(item)

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(f"only bytes can be stored, not {type(item).__name__}")
        self.write(item)
        self.pushed += 1
        if self.pushed == self.EVERY:
            self.pushed = 0
            self.rewrite()

    def pop(self):
        if not self.items:
            return None
        item = self.items[0]
        self.write(None)
        return item

    def rewrite(self):
        new = self.path / "snapshot.new"
        with contextlib.suppress(OSError):
            new.write_bytes(self.all())
            new.replace(self.snapshot)
            self.next_log()

    def all(self):
        return pickle.dumps((self.number + 1, [*self.items]))

    def next_log(self):
        self.log.close()
        self.number += 1
        self.begin_log()

    def peek(self):
        return self.items[0] if self.items else None

    def close(self):
        self.log.close()
        if not self.items and self.path.exists():
            for file in self.path.iterdir():
                file.unlink()
            self.path.rmdir()

    def __len__(self):
        return len(self.items)
