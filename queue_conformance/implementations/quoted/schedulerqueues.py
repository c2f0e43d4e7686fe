"""Queues below a scheduler, and what listens to it.

They are written as users write them: they have no annotations.
"""

import asyncio
import heapq
import logging

from qcrawl.core.queue import RequestQueue
from qcrawl.signals import signals_registry


class MemoryQueue(RequestQueue):
    """The highest priority comes first, then the oldest; a put on a full queue raises QueueFull."""

    def __init__(self, maxsize=0):
        self.limit, self.items, self.puts, self.closed = maxsize, [], [], 0
        self.changed = asyncio.Event()

    async def put(self, request, priority=0):
        if self.closed:
            return
        if self.limit and len(self.items) >= self.limit:
            raise asyncio.QueueFull
        self.puts.append(request.url)
        heapq.heappush(self.items, (-priority, len(self.puts), request))
        self.changed.set()

    async def get(self):
        while not self.items:
            if self.closed:
                raise asyncio.CancelledError
            self.changed.clear()
            await self.changed.wait()
        return heapq.heappop(self.items)[2]

    async def size(self):
        return len(self.items)

    def maxsize(self):
        return self.limit

    async def clear(self):
        self.items.clear()

    async def close(self):
        self.closed += 1
        self.changed.set()


class SuspendingQueue(MemoryQueue):
    """Other tasks run before each of its operations, and after it was asked for its size."""

    pause = 0.0

    async def put(self, request, priority=0):
        await asyncio.sleep(self.pause)
        await super().put(request, priority)

    async def get(self):
        await asyncio.sleep(self.pause)
        return await super().get()

    async def size(self):
        await asyncio.sleep(self.pause)
        size = await super().size()
        await asyncio.sleep(self.pause)
        return size


class SlowQueue(SuspendingQueue):
    """Each of its operations takes a tenth of a second or two."""

    pause = 0.1


class LateQueue(MemoryQueue):
    """What is put into it arrives after a second."""

    async def put(self, request, priority=0):
        await asyncio.sleep(1)
        await super().put(request, priority)


class FailingQueue(MemoryQueue):
    """Its first put fails."""

    async def put(self, request, priority=0):
        if not self.puts:
            self.puts.append("nothing")
            raise OSError("the queue is out of order")
        await super().put(request, priority)


class DuplicatesQueue(MemoryQueue):
    """It reports what another crawler has stored already."""

    def __init__(self, *urls):
        super().__init__()
        self.urls = urls

    async def put(self, request, priority=0):
        if request.url in self.urls:
            return False
        await super().put(request, priority)
        return True


class Logs(logging.Handler):
    """The messages that were logged as warnings."""

    def __init__(self):
        super().__init__()
        self.messages = []
        logging.getLogger().addHandler(self)

    def emit(self, record):
        if record.levelno == logging.WARNING:
            self.messages.append(record.getMessage())


class Signals:
    """The URLs of the requests that a signal was sent for."""

    def __init__(self, name):
        self.urls = []
        signals_registry.connect(name, self.receive, weak=False)

    async def receive(self, sender, request, **others):
        self.urls.append(request.url)
