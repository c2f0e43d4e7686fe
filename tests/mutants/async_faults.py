"""Wrong asynchronous queues, after a put that was refused or cancelled and in threads of their own; right ones beside them."""

from __future__ import annotations

import asyncio
import threading

from mutants import mutant
from queue_reference.async_queues import DiskQueue, MemoryQueue

HERE = "mutants.async_faults"


@mutant(fails="aqueue.fault.recovers", hint="Do not raise again in `close`", may_fail="aqueue.put.failed-no-trace")
class TellsOfARefusalAgain(DiskQueue):
    """Raises once more, when it is closed, that a request could not be stored."""

    refused = None

    async def put(self, request, priority=0):
        try:
            await super().put(request, priority)
        except ValueError as error:
            self.refused = error
            raise

    async def close(self):
        await super().close()
        if self.refused:
            raise self.refused


@mutant(fails="aqueue.fault.recovers")
class TellsThatItWasFull(MemoryQueue):
    """Raises when it is closed that it was full once."""

    was_full = False

    async def put(self, request, priority=0):
        try:
            await super().put(request, priority)
        except asyncio.QueueFull:
            self.was_full = True
            raise

    async def close(self):
        await super().close()
        if self.was_full:
            raise RuntimeError("requests were dropped")


class FlushesTogether(MemoryQueue):
    """A right queue: puts at one time share one flush, which goes on when one of them is cancelled."""

    flushing = None

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.batch = []

    async def put(self, request, priority=0):
        if self._closed or self._maxsize or type(priority) is not int:
            return await super().put(request, priority)
        self.batch.append((request, priority))
        if self.flushing is None or self.flushing.done():
            self.flushing = asyncio.ensure_future(self.flush())
        await self.flushed()

    async def flushed(self):
        await asyncio.shield(self.flushing)

    async def flush(self):
        await asyncio.sleep(0)
        batch, self.batch = self.batch, []
        for request, priority in batch:
            await super().put(request, priority)

    async def clear(self):
        self.batch.clear()
        await super().clear()

    async def close(self):
        if self.flushing is not None:
            await asyncio.wait([self.flushing])
        await super().close()


@mutant(fails="aqueue.put.cancelled-no-trace")
class EndsTheFlushOfAll(FlushesTogether):
    """The flush ends for all puts that share it when one of them is cancelled."""

    async def flushed(self):
        await self.flushing


async def through_a_thread(value):
    """Return a value that a thread has handed over."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()

    def work():
        loop.call_soon_threadsafe(lambda: future.done() or future.set_result(value))

    threading.Thread(target=work).start()
    return await future


class AsksAThread(MemoryQueue):
    """A right queue: a thread of its own is asked first, and then a request is taken out at once."""

    async def get(self):
        await through_a_thread(None)
        return await super().get()


@mutant(fails="aqueue.get.cancel-safe", control=f"{HERE}.AsksAThread")
class TakesInAThread(MemoryQueue):
    """A thread of its own hands over what was taken out; nobody gets that if the get is cancelled meanwhile."""

    async def get(self):
        return await through_a_thread(await super().get())
