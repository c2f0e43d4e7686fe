"""A right asynchronous queue that keeps a log, which it rewrites when most of it is of no use any more."""

from __future__ import annotations

import asyncio
import heapq
import logging
import os
import zlib
from base64 import b64decode, b64encode
from pathlib import Path

from qcrawl.core.request import Request

from queue_reference.async_queues import AsyncQueue, MemoryQueue, checked_priority, encoded


class Journal(AsyncQueue):
    """A line for each request that is put or got, with its checksum; nothing of a request can be read in it."""

    def __init__(self, path, maxsize=0):
        super().__init__(maxsize)
        self._path = Path(path)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        live = {}
        for line in self.content():
            checksum, _, words = line.rstrip(b"\n").partition(b" ")
            if checksum == b"%08x" % zlib.crc32(words):
                self.replay(live, *words.split(b" "))
            elif not self.passes_over(line):
                break
        self._heap = sorted(live.values())
        self._last = max(live, default=0)
        self.rewrite(self.lines())

    def content(self):
        """The lines of the log."""
        return self._path.read_bytes().splitlines() if self._path.exists() else []

    def replay(self, live, number, urgency=b"", text=b""):
        if text:
            live[int(number)] = (int(urgency), int(number), b64decode(text))
        else:
            live.pop(int(number), None)

    def passes_over(self, line):
        """Whether what is behind a line that is damaged counts."""
        logging.warning("a request is damaged: %r", line)
        return True

    def line(self, *words):
        return b"%08x %s\n" % (zlib.crc32(b" ".join(words)), b" ".join(words))

    def stored(self, urgency, number, data):
        return self.line(b"%d" % number, b"%d" % urgency, b64encode(data))

    def lines(self):
        return [self.stored(*entry) for entry in sorted(self._heap)]

    def rewrite(self, lines):
        new = self._path.with_suffix(".new")
        new.write_bytes(b"".join(lines))
        new.replace(self._path)
        self._useful = sum(map(len, lines))

    async def shrink(self):
        self.rewrite(self.lines())

    def append(self, line):
        before = self._path.stat().st_size
        try:
            with self._path.open("ab") as file:
                file.write(line)
        except OSError:
            os.truncate(self._path, before)
            raise

    async def put(self, request, priority=0):
        if self._closed:
            return
        entry = -checked_priority(priority), self._last + 1, encoded(request)
        if self._maxsize and len(self._heap) >= self._maxsize:
            raise asyncio.QueueFull
        self.append(self.stored(*entry))
        self._last += 1
        heapq.heappush(self._heap, entry)
        self._arrival.set()

    async def get(self):
        while not self._heap:
            if self._closed:
                raise asyncio.CancelledError
            await self._something_arrives()
        self.append(self.line(b"%d" % self._heap[0][1]))
        _, _, data = heapq.heappop(self._heap)
        if self._path.stat().st_size > 2 * self._useful + 2**15:
            await self.shrink()
        try:
            return Request.from_bytes(data)
        except Exception as error:
            raise RuntimeError("a request is damaged") from error

    size, close = MemoryQueue.size, MemoryQueue.close

    async def clear(self):
        self._heap = []
        self.rewrite([])


class RewritesLater(Journal):
    """A task of its own rewrites the log, with what there is then, unless the queue is closed."""

    async def shrink(self):
        if self._shrinking is None or self._shrinking.done():
            self._shrinking = asyncio.create_task(self._later())

    _shrinking = None

    async def _later(self):
        await asyncio.to_thread(str)
        if not self._closed:
            self.rewrite(self.lines())
