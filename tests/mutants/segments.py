"""Queues of bytes that are wrong where a segment is full, or empty, in which order they read files, or in compacting them."""

from __future__ import annotations

import json
import struct
import time
from itertools import count
from pathlib import Path

from mutants import mutant
from mutants.controls import FilePerItem
from mutants.controls_segments import Compacting, Segments

NUMBERS = count()


@mutant(
    fails="queue.persist.reopen",
    hint="Look at what is special at this count",
    may_fail=("queue.ctor.wrong-storage", "queue.close.keeps-fault"),
)
class CutsTheFullSegment(Segments):
    """When it is opened, it cuts the last item off a segment that is exactly full, as if it were the torn one."""

    def read(self, file):
        items = super().read(file)
        return items[:-1] if len(items) == self.size else items


@mutant(fails="queue.persist.reopen", may_fail=("queue.ctor.wrong-storage", "queue.close.keeps-fault"))
class CutsTheLargeSegment(Segments):
    """The same with segments of 512 items, of which the last one is cut."""

    size = 512

    def __init__(self, path):
        super().__init__(path)
        if self.segments and len(self.segments[-1]) == self.size:
            self.segments[-1].pop()


@mutant(fails="queue.pop.order-reopen", may_fail=("queue.ctor.wrong-storage", "queue.close.keeps-fault"))
class SortsNamesAsText(Segments):
    """It reads its files, of a thousand items each, in the order of their names: 10 comes before 9."""

    size = 1000

    def __init__(self, path):
        super().__init__(path)
        files = sorted(self.path.glob("[0-9]*"), key=lambda file: str(int(file.name)))
        self.segments = [self.read(file) for file in files]


@mutant(fails="queue.pop.order-clock")
class NamedByTheClock(FilePerItem):
    """The names of its files begin with the time, and it reads them in the order of their names when it is opened."""

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(f"only bytes can be stored, not {type(item).__name__}")
        self.names.append(f"{time.time_ns():020}-{next(NUMBERS):09}.item")
        try:
            self.write(self.names[-1], item)
        except OSError:
            self.names.pop()
            raise


@mutant(
    fails="queue.pop.exactly-once",
    may_fail=("queue.persist.crash-no-phantom", "queue.close.keeps-fault", "queue.persist.partial-fault"),
)
class CompactsWithoutItsBuffer(Compacting):
    """When it compacts its file, it takes for written what it holds back."""

    def compact(self):
        super().compact()
        self.buffer.clear()

    def write(self):
        if self.read < 1 << 16:
            super().write()


class Files:
    """A right one, first in, first out: files of 256 KiB, another one of which begins behind the item that exceeds that."""

    size, head = 1 << 18, struct.Struct(">I")

    def __init__(self, path):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        self.place = self.path / "place"
        found = json.loads(self.place.read_text()) if self.place.exists() else (0, 0, 0, 0, 0)
        self.first, self.offset, self.last, self.end, self.length = found

    def file(self, number):
        return self.path / f"{number:08}"

    def save(self, *found):
        new = self.path / "new"
        new.write_text(json.dumps(found))
        new.replace(self.place)
        self.first, self.offset, self.last, self.end, self.length = found

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(f"only bytes can be stored, not {type(item).__name__}")
        last, end = (self.last + 1, 0) if self.end >= self.size else (self.last, self.end)
        with self.file(last).open("ab") as file:
            file.truncate(end)
            file.write(self.head.pack(len(item)) + item)
        self.save(self.first, self.offset, last, end + self.head.size + len(item), self.length + 1)

    def is_read(self):
        """Whether nothing more is in the first file."""
        return self.offset >= self.size

    def read(self):
        first, offset = (self.first + 1, 0) if self.is_read() and self.first < self.last else (self.first, self.offset)
        with self.file(first).open("rb") as file:
            file.seek(offset)
            item = file.read(*self.head.unpack(file.read(self.head.size)))
        return item, first, offset + self.head.size + len(item)

    def pop(self):
        if not self.length:
            return None
        before = self.first
        item, first, offset = self.read()
        self.save(first, offset, self.last, self.end, self.length - 1)
        if first > before:
            self.file(before).unlink()
        return item

    def peek(self):
        return self.read()[0] if self.length else None

    def close(self):
        if not self.length and self.path.exists():
            for file in self.path.iterdir():
                file.unlink()
            self.path.rmdir()

    def __len__(self):
        return self.length


@mutant(fails="queue.pop.exactly-once", may_fail="queue.ctor.wrong-storage")
class LeavesAFileEarly(Files):
    """It takes a file for read where no head of an item fits before the size: one may begin there all the same."""

    def is_read(self):
        return self.offset + self.head.size >= self.size

    def pop(self):
        try:
            return super().pop()
        except (FileNotFoundError, struct.error):
            return None
