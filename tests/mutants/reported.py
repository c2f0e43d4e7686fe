"""Mistakes of public reports that no other module shows as they were; docs/reports.md says which report each is from."""

from __future__ import annotations

from mutants import mutant
from mutants.disk import Changes
from queue_reference.bytequeues import FifoByteQueue
from queue_reference.memory import FifoMemoryQueue


@mutant(fails="queue.pop.exactly-once", control="queue_reference.bytequeues.FifoByteQueue")
class TranslatesLineEnds(FifoByteQueue):
    """It reads its file as text of Windows, in which a carriage return before a line feed vanishes."""

    def pop(self):
        item = super().pop()
        return item and item.replace(b"\r\n", b"\n")

    def peek(self):
        item = super().peek()
        return item and item.replace(b"\r\n", b"\n")


@mutant(fails="queue.len.count", control="queue_reference.memory.FifoMemoryQueue")
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


@mutant(fails="queue.pop.roundtrip", control="queue_reference.disk.FifoDiskQueue")
class KeepsTheRestWithMetaOnly(Changes):
    """Of a request without meta it keeps the URL, the method and the priority."""

    def changed(self, request):
        return request if request.meta else request.replace(headers=None, body=b"", cookies=None, cb_kwargs=None, flags=None)
