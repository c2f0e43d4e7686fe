"""Right implementations of what the reference implementations do not show."""

from __future__ import annotations

import heapq
import os
import zlib

import queuelib.queue

from queue_reference.memory import FifoMemoryQueue


class WithoutPeek(FifoMemoryQueue):
    """A queue whose peek says that it is not supported."""

    def peek(self):
        raise NotImplementedError("no peek")


class ChunkedByteQueue(queuelib.queue.FifoDiskQueue):
    """queuelib's queue in chunks, which also notices a full disk, and may be closed twice."""

    _closed = False

    def push(self, string):
        size = os.fstat(self.headf.fileno()).st_size
        head, written = self.headf, self.szhdr_size + len(string)
        super().push(string)
        path = head.name
        if os.path.getsize(path) < size + written:
            os.truncate(path, size)
            number, position = self.info["head"]
            self.info["head"] = [number, position - 1]
            self.info["size"] -= 1
            raise OSError("the disk is full")

    def close(self):
        if not self._closed:
            self._closed = True
            super().close()


class Unordered(FifoMemoryQueue):
    """A queue that promises no order: the smallest hash of an address comes first."""

    def __init__(self):
        super().__init__()
        self._requests = []

    def push(self, request):
        heapq.heappush(self._requests, (zlib.crc32(request.url.encode()), id(request), request))

    def pop(self):
        return heapq.heappop(self._requests)[2] if self._requests else None

    def peek(self):
        return self._requests[0][2] if self._requests else None
