"""Queues of bytes that are wrong where a segment is exactly full, or exactly empty, or where a file is compacted."""

from __future__ import annotations

from mutants import mutant
from mutants.controls_segments import Compacting, Segments


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


@mutant(fails="queue.pop.exactly-once")
class CompactsWithoutItsBuffer(Compacting):
    """When it compacts its file, it takes for written what it holds back."""

    def compact(self):
        super().compact()
        self.buffer.clear()

    def write(self):
        if self.read < 1 << 16:
            super().write()
