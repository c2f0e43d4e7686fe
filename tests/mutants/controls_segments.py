"""Queues of bytes in segments, each of them a file, or in one file that is compacted."""

from __future__ import annotations

import pickle
from pathlib import Path


class Segments:
    """First in, first out: each file holds sixty-four items; a full one is closed, and another one begun."""

    size = 64

    def __init__(self, path):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.segments = [self.read(file) for file in sorted(self.path.glob("[0-9]*"))]
        self.first = min((int(file.name) for file in self.path.glob("[0-9]*")), default=0)

    def read(self, file):
        return pickle.loads(file.read_bytes())

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(f"only bytes can be stored, not {type(item).__name__}")
        if not self.segments or len(self.segments[-1]) >= self.size:
            self.segments.append([])
        self.segments[-1].append(item)

    def pop(self):
        if not len(self):
            return None
        item = self.segments[0].pop(0)
        if not self.segments[0]:
            self.drop_the_first()
        return item

    def drop_the_first(self):
        del self.segments[0]
        (self.path / f"{self.first:08}").unlink(missing_ok=True)
        self.first += 1

    def peek(self):
        return self.segments[0][0] if len(self) else None

    def close(self):
        for number, items in enumerate(self.segments, self.first):
            new = self.path / ".new"
            new.write_bytes(pickle.dumps(items))
            new.replace(self.path / f"{number:08}")
        if not len(self) and self.path.exists():
            for file in self.path.iterdir():
                file.unlink()
            self.path.rmdir()

    def __len__(self):
        return sum(map(len, self.segments))


class Compacting:
    """First in, first out: one file, written a hundred items at a time, from which what was read is cut off when it is 64 KiB."""

    def __init__(self, path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.read, self.length = 0, 0
        self.buffer = []
        if self.path.exists():
            with self.path.open("rb") as file:
                self.length = pickle.load(file)
                self.read = file.tell()
        else:
            self.rewrite(b"")

    def rewrite(self, data):
        head = pickle.dumps(self.length)
        new = self.path.with_name(self.path.name + ".new")
        new.write_bytes(head + data)
        new.replace(self.path)
        self.read = len(head)

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(f"only bytes can be stored, not {type(item).__name__}")
        self.buffer.append(item)
        self.length += 1
        if len(self.buffer) == 100:
            self.write()

    def write(self):
        with self.path.open("ab") as file:
            for item in self.buffer:
                pickle.dump(item, file)
        self.buffer.clear()

    def peek(self):
        return self.first()[0] if self.length else None

    def first(self):
        with self.path.open("rb") as file:
            if self.read == file.seek(0, 2):
                self.write()
            file.seek(self.read)
            return pickle.load(file), file.tell()

    def pop(self):
        if not self.length:
            return None
        item, self.read = self.first()
        self.length -= 1
        if self.read >= 1 << 16:
            self.compact()
        return item

    def compact(self):
        self.write()
        self.rewrite(self.path.read_bytes()[self.read :])

    def close(self):
        if self.length:
            self.compact()
        else:
            self.path.unlink(missing_ok=True)

    def __len__(self):
        return self.length
