"""Queues of bytes that are wrong where a segment is full, or empty, in which order they read files, or in compacting them."""

from __future__ import annotations

import time
from itertools import count

from mutants import mutant
from mutants.controls import FilePerItem
from mutants.controls_segments import Compacting, Segments

NUMBERS = count()


@mutant(fails="queue.persist.reopen", hint="Look at what is special at this count")
class CutsTheFullSegment(Segments):
    """When it is opened, it cuts the last item off a segment that is exactly full, as if it were the torn one."""

    def read(self, file):
        items = super().read(file)
        return items[:-1] if len(items) == self.size else items


@mutant(fails="queue.persist.reopen")
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


@mutant(fails="queue.pop.exactly-once")
class CompactsWithoutItsBuffer(Compacting):
    """When it compacts its file, it takes for written what it holds back."""

    def compact(self):
        super().compact()
        self.buffer.clear()

    def write(self):
        if self.read < 1 << 16:
            super().write()
