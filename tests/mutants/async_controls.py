"""Right asynchronous queues of kinds that a check might wrongly take for broken."""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import itertools
import time
from bisect import insort
from collections import deque
from dataclasses import dataclass, replace

from qcrawl.core.request import Request

from mutants.async_forgetful import same
from queue_reference.async_queues import AsyncQueue, MemoryQueue, checked_priority


@dataclass
class BoundRequest:
    """A request of another framework, whose callback is a method of the spider once the request was got."""

    url: str
    priority: int = 0
    callback: object = None
    cb_kwargs: dict | None = None


class BindsCallbacks(MemoryQueue):
    """It stores callbacks by their names, and hands out methods of its spider."""

    async def put(self, request, priority=0):
        await super().put(replace(request), priority)

    async def get(self):
        request = await super().get()
        return replace(request, callback=getattr(SpiderOfItsOwn(), request.callback or "parse"))


class SpiderOfItsOwn:
    """A spider with methods to bind."""

    def parse(self, response): ...

    def parse_item(self, response): ...

    def parse_page(self, response): ...


class Polling(MemoryQueue):
    """It looks again and again, and waits for nothing else."""

    async def _something_arrives(self):
        await asyncio.sleep(0.05)


class BackingOff(MemoryQueue):
    """It looks again and again, at ever longer intervals of up to half a minute."""

    async def get(self):
        pause = 0.01
        while not self._heap:
            if self._closed:
                raise asyncio.CancelledError
            await asyncio.sleep(pause)
            pause = min(pause * 2, 30)
        return heapq.heappop(self._heap)[2]


class Spinning(MemoryQueue):
    """It looks again at each turn of the loop, which never comes to rest."""

    async def _something_arrives(self):
        await asyncio.sleep(0)


class Impatient(MemoryQueue):
    """It waits for news, but looks by itself when a second is over."""

    async def _something_arrives(self):
        self._arrival.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._arrival.wait(), 1)


class Throttled(MemoryQueue):
    """It hands out a request every 50 ms at most, by the clock of the machine."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.next = 0.0

    async def get(self):
        while not self._heap or time.monotonic() < self.next:
            if self._closed and not self._heap:
                raise asyncio.CancelledError
            await (asyncio.sleep(0.01) if self._heap else self._something_arrives())
        self.next = time.monotonic() + 0.05
        return heapq.heappop(self._heap)[2]


class Conditional(MemoryQueue):
    """A condition guards it."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.changed = asyncio.Condition()

    async def put(self, request, priority=0):
        async with self.changed:
            await super().put(request, priority)
            self.changed.notify_all()

    async def get(self):
        async with self.changed:
            await self.changed.wait_for(lambda: self._heap or self._closed)
            if not self._heap:
                raise asyncio.CancelledError
            self.changed.notify_all()  # for whoever waits for room
            return heapq.heappop(self._heap)[2]

    async def close(self):
        async with self.changed:
            self._closed = True
            self.changed.notify_all()


class WakesOne(MemoryQueue):
    """Each put wakes one get, which wakes another one in its place if it is cancelled."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.waiting = []

    async def put(self, request, priority=0):
        await super().put(request, priority)
        self.wake()

    async def close(self):
        await super().close()
        for _ in self.waiting:
            self.wake()

    def wake(self):
        if woken := next((each for each in self.waiting if not each.done()), None):
            woken.set_result(None)

    async def _something_arrives(self):
        self.waiting.append(woken := asyncio.get_running_loop().create_future())
        try:
            await woken
        except asyncio.CancelledError:
            self.cancelled(woken)
            raise
        finally:
            self.waiting.remove(woken)

    def cancelled(self, woken):
        if not woken.cancelled():
            self.wake()


class GivesBack(MemoryQueue):
    """It works between taking a request out and returning it; a get that is cancelled then gives its request back.

    Nobody takes the room of what is in hand meanwhile.
    """

    in_hand = 0

    def has_room(self):
        return not self._maxsize or len(self._heap) + self.in_hand < self._maxsize

    async def put(self, request, priority=0):
        if not self._closed and not self.has_room():
            raise asyncio.QueueFull
        await super().put(request, priority)

    async def get(self):
        while not self._heap and not self._closed:
            await self._something_arrives()
        if not self._heap:
            raise asyncio.CancelledError
        entry = heapq.heappop(self._heap)
        self.in_hand += 1
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.give_back(entry)
            raise
        finally:
            self.in_hand -= 1
        return entry[2]

    def give_back(self, entry):
        heapq.heappush(self._heap, entry)
        self._arrival.set()


class GivesBackInAnyCase(GivesBack):
    """Somebody else may take the room of what is in hand: what is given back may be one too many, but none is lost."""

    def has_room(self):
        return not self._maxsize or len(self._heap) < self._maxsize


class OverAsyncioQueue(AsyncQueue):
    """A priority queue of asyncio holds the requests; whoever gets races with the end."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.entries = asyncio.PriorityQueue(maxsize)
        self.counter = itertools.count()
        self.ended = asyncio.Event()

    async def put(self, request, priority=0):
        if not self._closed:
            self.entries.put_nowait((-checked_priority(priority), next(self.counter), request))

    async def get(self):
        with contextlib.suppress(asyncio.QueueEmpty):
            return self.entries.get_nowait()[-1]
        if self._closed:
            raise asyncio.CancelledError
        getting, ending = (asyncio.ensure_future(waiting) for waiting in (self.entries.get(), self.ended.wait()))
        try:
            await asyncio.wait([getting, ending], return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not getting.cancel() and not getting.cancelled():
                self.give_back(getting.result())
            raise
        finally:
            ending.cancel()
        if getting.done():
            return getting.result()[-1]
        getting.cancel()
        raise asyncio.CancelledError

    def give_back(self, entry):
        self.entries._maxsize = 0  # there was room for it
        self.entries.put_nowait(entry)
        self.entries._maxsize = self._maxsize

    async def size(self):
        return self.entries.qsize()

    async def clear(self):
        while not self.entries.empty():
            self.entries.get_nowait()

    async def close(self):
        self._closed = True
        self.ended.set()


class HandsOver(AsyncQueue):
    """A request goes straight to the future of whoever has waited for longest."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.entries, self.counter, self.waiting = [], itertools.count(), deque()

    async def put(self, request, priority=0):
        checked_priority(priority)
        if not self._closed:
            if self._maxsize and len(self.entries) >= self._maxsize:
                raise asyncio.QueueFull
            self.store((-priority, next(self.counter), request))

    def store(self, entry):
        while self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                return waiter.set_result(entry)
        return insort(self.entries, entry)

    async def get(self):
        if self.entries:
            return self.entries.pop(0)[-1]
        if self._closed:
            raise asyncio.CancelledError
        waiter = asyncio.get_running_loop().create_future()
        self.waiting.append(waiter)
        try:
            return (await waiter)[-1]
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.store(waiter.result())
            raise

    async def size(self):
        return len(self.entries)

    async def clear(self):
        self.entries.clear()

    async def close(self):
        self._closed = True
        for waiter in self.waiting:
            waiter.cancel()


class QueuePerPriority(AsyncQueue):
    """Each priority has a queue of asyncio, and a semaphore counts what is in all of them."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.queues, self.stored = {}, asyncio.Semaphore(0)

    def count(self):
        return sum(queue.qsize() for queue in self.queues.values())

    async def put(self, request, priority=0):
        checked_priority(priority)
        if not self._closed:
            if self._maxsize and self.count() >= self._maxsize:
                raise asyncio.QueueFull
            self.queues.setdefault(priority, asyncio.Queue()).put_nowait(request)
            self.stored.release()

    async def get(self):
        while True:
            await self.stored.acquire()
            for priority in sorted(self.queues, reverse=True):
                if not self.queues[priority].empty():
                    return self.queues[priority].get_nowait()
            if self._closed:
                self.stored.release()  # for the next one who waits
                raise asyncio.CancelledError

    async def size(self):
        return self.count()

    async def clear(self):
        self.queues.clear()

    async def close(self):
        self._closed = True
        self.stored.release()


class Actor(AsyncQueue):
    """One task owns the requests; put and get are messages to it."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.messages, self.owner = asyncio.Queue(), None
        self.entries, self.counter, self.waiting = [], itertools.count(), deque()

    async def own(self):
        while not self._closed or not self.messages.empty():
            function, *arguments, answer = await self.messages.get()
            try:
                function(*arguments, answer)
            except Exception as error:
                if not answer.done():
                    answer.set_exception(error)
            self.serve()

    async def ask(self, function, *arguments):
        if self.owner is None or self.owner.done():
            self.owner = asyncio.create_task(self.own())
        answer = asyncio.get_running_loop().create_future()
        self.messages.put_nowait((function, *arguments, answer))
        try:
            return await answer
        except asyncio.CancelledError:
            if function == self.waiting.append and answer.done() and not answer.cancelled():
                heapq.heappush(self.entries, answer.result())
                self.serve()
            raise

    def serve(self):
        while self.entries and self.waiting:
            waiter = self.waiting.popleft()
            if not waiter.done():
                waiter.set_result(heapq.heappop(self.entries))
        while self._closed and self.waiting:
            self.waiting.popleft().cancel()

    def store(self, request, priority, answer):
        if not self._closed:
            checked_priority(priority)
            if self._maxsize and len(self.entries) >= self._maxsize:
                raise asyncio.QueueFull
            heapq.heappush(self.entries, (-priority, next(self.counter), request))
        if not answer.done():
            answer.set_result(None)

    def mark_closed(self, answer):
        self._closed = True
        answer.set_result(None)

    async def put(self, request, priority=0):
        await self.ask(self.store, request, priority)

    async def get(self):
        return (await self.ask(self.waiting.append))[-1]

    async def size(self):
        return len(self.entries)

    async def clear(self):
        self.entries.clear()

    async def close(self):
        await self.ask(self.mark_closed)


class Grouped(MemoryQueue):
    """Each get is a group of two tasks: one waits for a request, one for the end."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.ended = asyncio.Event()

    async def get(self):
        while not self._heap:
            if self._closed:
                raise asyncio.CancelledError
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(event.wait()) for event in (self._arrival, self.ended)]
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
                for task in tasks:
                    task.cancel()
            if not self._heap:
                self._arrival.clear()
        return heapq.heappop(self._heap)[2]

    async def close(self):
        self._closed = True
        self.ended.set()


class Expiring(MemoryQueue):
    """It forgets requests when their time is over, by the clock of the machine, and it knows duplicates."""

    def __init__(self, maxsize=0, dedupe=False, item_ttl=None):
        super().__init__(maxsize)
        self.dedupe, self.item_ttl, self.ends = dedupe, item_ttl, {}

    def forget(self):
        now = time.time()
        self._heap = [entry for entry in self._heap if self.ends.get(entry[1], now + 1) > now]
        heapq.heapify(self._heap)

    async def put(self, request, priority=0):
        self.forget()
        if self.dedupe and any(same(entry[2], request) for entry in self._heap):
            return False
        before = len(self._heap)
        await super().put(request, priority)
        if self.item_ttl and len(self._heap) > before:
            self.ends[max(entry[1] for entry in self._heap)] = time.time() + self.item_ttl
        return True if self.dedupe else None

    async def get(self):
        self.forget()
        return await super().get()

    async def size(self):
        self.forget()
        return len(self._heap)


class Locking(MemoryQueue):
    """A lock lets one put or get at a time do its work, which takes a while."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.lock = asyncio.Lock()

    async def put(self, request, priority=0):
        async with self.lock:
            await asyncio.sleep(0.2)
            await super().put(request, priority)

    async def get(self):
        while True:
            async with self.lock:
                await asyncio.sleep(0.2)
                if self._heap:
                    return heapq.heappop(self._heap)[2]
                if self._closed:
                    raise asyncio.CancelledError
                self._arrival.clear()
            await self._arrival.wait()

    async def close(self):
        async with self.lock:
            await super().close()


class LowerFirst(MemoryQueue):
    """The lowest priority comes first."""

    async def put(self, request, priority=0):
        await super().put(request, -priority if type(priority) is int else priority)


@dataclass
class MyRequest:
    """A request that is not qCrawl's."""

    url: str
    priority: int = 0


@dataclass
class Negated(Request):
    """A request whose numbers are written the other way round."""

    def __post_init__(self, json):
        super().__post_init__(json)
        self.priority = -self.priority


class IsNoRequestQueue:
    """It has all the methods, and is no subclass of RequestQueue."""

    def __init__(self, maxsize=0):
        self.inner = MemoryQueue(maxsize)

    async def put(self, request, priority=0):
        await self.inner.put(request, priority)

    async def get(self):
        return await self.inner.get()

    async def size(self):
        return await self.inner.size()

    async def clear(self):
        await self.inner.clear()

    async def close(self):
        await self.inner.close()

    def maxsize(self):
        return self.inner.maxsize()

    def __aiter__(self):
        return self

    async def __anext__(self):
        return await self.inner.__anext__()
