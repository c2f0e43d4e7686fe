"""A right asynchronous scheduler that works in quite another way than the reference does."""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from qcrawl.core.request import Request
from qcrawl.signals import signals_registry

from queue_reference.async_scheduler import RequestFingerprinter

logger = logging.getLogger(__name__)


class Polls:
    """Whoever touches the queue holds a lock, and whoever waits looks again every 50 ms; there is no other task."""

    fingerprinter_class = RequestFingerprinter

    def __init__(self, queue=None, fingerprinter=None):
        if not queue or not fingerprinter:
            raise ValueError("queue and fingerprinter, please")
        self.queue, self.fingerprinter = queue, fingerprinter
        self.signals = signals_registry.for_sender(self)
        self.lock = asyncio.Lock()
        self.consumers, self.seen, self.left = deque(), set(), []
        self.working = self.adding = 0
        self.closed = False

    async def add(self, request):
        if self.closed:
            return
        request = Request(request) if isinstance(request, str) else request
        fingerprint = self.fingerprinter.fingerprint_bytes(request)
        known = fingerprint in self.seen
        if known and "retry_count" not in request.meta:
            return
        self.seen.add(fingerprint)
        try:
            stored = await self.hand_out_or_store(request)
        except BaseException as error:
            if not known:
                self.seen.discard(fingerprint)
            if not isinstance(error, asyncio.QueueFull):
                raise
            logger.warning("Queue full, dropping request: %s", request.url)
            await self.signals.send_async("request_dropped", request=request, exception=None)
        else:
            if stored:
                await self.signals.send_async("request_scheduled", request=request)

    async def hand_out_or_store(self, request):
        self.adding += 1
        try:
            async with self.lock:
                size = await self.queue.size()
                while self.consumers and not size:
                    consumer = self.consumers.popleft()
                    if not consumer.done():
                        consumer.set_result(request)
                        self.working += 1
                        return True
                if self.closed:  # the queue takes nothing more
                    self.left.append(request)
                    return True
                if 0 < self.queue.maxsize() <= size:
                    raise asyncio.QueueFull
                return await self.queue.put(request, priority=request.priority) is not False
        finally:
            self.adding -= 1

    async def get(self):
        consumer = asyncio.get_running_loop().create_future()
        self.consumers.append(consumer)
        try:
            while not consumer.done():
                async with self.lock:
                    if not consumer.done() and self.first() is consumer:
                        if self.left:
                            self.consumers.remove(consumer)
                            self.working += 1
                            return self.left.pop()
                        if await self.queue.size():
                            self.adding += 1  # on its way
                            try:
                                request = await self.queue.get()
                            except Exception:
                                logger.exception("unreadable")
                                continue
                            finally:
                                self.adding -= 1
                            self.consumers.remove(consumer)
                            self.working += 1
                            return request
                        if self.closed:
                            raise asyncio.CancelledError
                await asyncio.wait([consumer], timeout=0.05)
            return consumer.result()
        except asyncio.CancelledError:
            if consumer.done() and not consumer.cancelled():
                self.working -= 1
                self.back = asyncio.ensure_future(self.hand_out_or_store(consumer.result()))
            consumer.cancel()
            raise

    def first(self):
        while self.consumers and self.consumers[0].done():
            self.consumers.popleft()
        return self.consumers[0] if self.consumers else None

    def task_done(self):
        if self.working == 0:
            raise ValueError("nothing is being worked on")
        self.working -= 1

    async def join(self):
        while True:
            async with self.lock:
                left = 0 if self.closed else await self.queue.size()
                if not (left or self.working or (self.adding and not self.closed)):
                    return
            await asyncio.sleep(0.05)

    async def qsize(self):
        return await self.queue.size() + len(self.left)

    async def close(self):
        async with self.lock:
            if not self.closed:
                self.closed = True
                await self.queue.close()

    async def stats(self):
        return {
            "queued": await self.qsize(),
            "pending": self.working,
            "seen": len(self.seen),
            "waiting_consumers": sum(not consumer.done() for consumer in self.consumers),
            "closed": int(self.closed),
        }

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        await self.close()
        await self.join()
