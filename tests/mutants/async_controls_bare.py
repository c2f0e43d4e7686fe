"""Right asynchronous queues and schedulers that derive from nothing, with the fewest methods that each interface allows."""

import asyncio
import bisect
from collections import deque
from dataclasses import fields

from qcrawl.core.request import Request

from mutants.async_controls_schedulers import Polls
from queue_reference.async_scheduler import RequestFingerprinter


class BareQueue:
    """The lowest priority first: a queue of asyncio, and whether it is closed."""

    def __init__(self, maxsize=0):
        if maxsize < 0:
            raise ValueError(f"maxsize is negative: {maxsize}")
        self._queue, self._count, self._closed, self._waiting = asyncio.PriorityQueue(maxsize), 0, False, set()

    async def put(self, request, priority=0):
        if type(priority) is not int:
            raise TypeError(f"a priority is an int: {priority!r}")
        if not self._closed:
            self._count += 1
            self._queue.put_nowait((priority, self._count, request))

    async def get(self):
        if self._closed and self._queue.empty():
            raise asyncio.CancelledError
        self._waiting.add(getting := asyncio.current_task())
        try:
            return (await self._queue.get())[2]
        finally:
            self._waiting.discard(getting)

    async def size(self):
        return self._queue.qsize()

    async def clear(self):
        while self._queue.qsize():
            self._queue.get_nowait()

    async def close(self):
        self._closed = True
        for getting in self._waiting:
            getting.cancel()

    def maxsize(self):
        return self._queue.maxsize


class Annotated(Request):
    """A request that says when it was put."""

    number = 0


class SlottedQueue:
    """Without a bound; its objects have no dictionary, its methods return something, and what comes out is of a subclass."""

    __slots__ = ("_closed", "_getters", "_requests")

    def __init__(self):
        self._requests, self._getters, self._closed = [], deque(), False

    async def put(self, request, /, priority=0):
        if type(priority) is not int:
            raise TypeError(f"a priority is an int: {priority!r}")
        if self._closed:
            return False
        annotated = Annotated(**{field.name: getattr(request, field.name) for field in fields(request)})
        bisect.insort(self._requests, (priority, annotated), key=lambda entry: -entry[0])
        self._wake()
        return True

    def _wake(self):
        while self._getters and (self._requests or self._closed):
            getter = self._getters.popleft()
            if getter.done():
                continue
            if self._requests:
                getter.set_result(self._requests.pop(0)[1])
            else:
                getter.cancel()

    async def get(self):
        if self._requests and not self._getters:
            return self._requests.pop(0)[1]
        if self._closed:
            raise asyncio.CancelledError
        getter = asyncio.get_running_loop().create_future()
        self._getters.append(getter)
        try:
            return await getter
        except asyncio.CancelledError:
            if getter.done() and not getter.cancelled():
                self._requests.insert(0, (getter.result().priority, getter.result()))
                self._wake()
            raise

    async def size(self):
        return len(self._requests)

    async def clear(self):
        removed = len(self._requests)
        self._requests.clear()
        return removed

    async def close(self):
        self._closed = True
        self._wake()
        return self

    def maxsize(self):
        return 0


class BareScheduler:
    """What another one does, without a dictionary and without being a context; add, close and join return something."""

    __slots__ = ("_inner",)

    fingerprinter_class = RequestFingerprinter

    def __init__(self, queue=None, fingerprinter=None):
        self._inner = Polls(queue, fingerprinter)

    async def add(self, request, /):
        await self._inner.add(request)
        return request

    async def get(self):
        return await self._inner.get()

    def task_done(self):
        self._inner.task_done()
        return True

    async def join(self):
        await self._inner.join()
        return self

    async def close(self):
        await self._inner.close()
        return "closed"

    async def qsize(self):
        return await self._inner.qsize()

    async def stats(self):
        return await self._inner.stats()
