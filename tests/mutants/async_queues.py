"""Wrong asynchronous queues that keep requests in memory."""

from __future__ import annotations

import asyncio
import heapq
import os
import time
from calendar import timegm
from collections import deque
from contextlib import suppress
from itertools import count, cycle
from typing import ClassVar

from qcrawl.core.queue import RequestQueue

from mutants import mutant
from mutants.async_controls import Conditional, GivesBackInAnyCase, WakesOne
from queue_reference.async_queues import AsyncQueue, MemoryQueue

MEMORY = "queue_reference.async_queues.MemoryQueue"


@mutant(fails="aqueue.iface", control=MEMORY)
class FollowsTheExample(AsyncQueue):
    """It has the methods of the documented example, and no clear."""

    put, get, size, close = MemoryQueue.put, MemoryQueue.get, MemoryQueue.size, MemoryQueue.close


@mutant(fails="aqueue.iface", hint="Define `async def close")
class WithoutClose(MemoryQueue):
    """It has no close."""

    close = None


@mutant(fails="aqueue.iface", hint="Define `async def clear")
class WithoutClear(MemoryQueue):
    """It has no clear."""

    clear = None


@mutant(fails="aqueue.iface", hint="Each of the five is awaited")
class ClosesAtOnce(MemoryQueue):
    """Its close is no coroutine."""

    def close(self):
        pass


@mutant(fails="aqueue.iface", hint="Define each of them")
class WithoutSize(MemoryQueue):
    """It has no size."""

    size = None


@mutant(fails="aqueue.put.accept", hint="Compare no requests")
class ComparesRequests(MemoryQueue):
    """Its numbers begin anew after five hundred; then it compares the requests, which have no order."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self._counter = cycle(range(500))


@mutant(fails="aqueue.iface", may_fail="aqueue.maxsize", hint="`maxsize` is called")
class HasAMaxsize(MemoryQueue):
    """Its maxsize is a number."""

    @property
    def maxsize(self):
        return self._maxsize


@mutant(fails="aqueue.put.accept", hint="Declare `async def put(self, request, priority=0)`")
class TakesNoPriority(MemoryQueue):
    """Its put takes a request alone."""

    async def put(self, request):
        await super().put(request)


@mutant(
    fails="aqueue.get.blocks",
    may_fail=("aqueue.put.accept", "aqueue.order.negative"),
    hint="A get that raises for a request",
)
class RaisesWhereFourWait(MemoryQueue):
    """Its get raises where four requests wait."""

    async def get(self):
        if len(self._heap) == 4:
            raise LookupError("four")
        return await super().get()


@mutant(fails=("aqueue.iface", "aqueue.put.accept"))
class DropsEveryFourthWithoutClose(MemoryQueue):
    """It has no close, and drops every fourth request in silence."""

    close, puts = None, 0

    async def put(self, request, priority=0):
        self.puts += 1
        if self.puts % 4:
            await super().put(request, priority)


@mutant(fails="aqueue.ctor.kwargs")
class ConnectsWhileItIsBuilt(MemoryQueue):
    """Its constructor waits for a connection, which no loop that runs already lets it do."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        asyncio.run(asyncio.sleep(0))


@mutant(fails="aqueue.ctor.errors")
class SwallowsKeywords(MemoryQueue):
    """It ignores keywords that it does not know."""

    def __init__(self, maxsize=0, **others):
        super().__init__(maxsize)


@mutant(fails="aqueue.ctor.errors")
class AcceptsNegativeLimits(MemoryQueue):
    """It takes a negative maxsize for no limit."""

    def __init__(self, maxsize=0):
        super().__init__(max(maxsize, 0))


@mutant(fails="aqueue.put.accept", may_fail=("aqueue.put.closed", "aqueue.bound.usable"))
class HashesMeta(MemoryQueue):
    """It notes the values of meta in a set, and raises where one of them, such as an item, has no hash."""

    async def put(self, request, priority=0):
        self.noted = {*request.meta.values()}
        await super().put(request, priority)


@mutant(fails="aqueue.put.accept", may_fail="aqueue.clear")
class DropsEveryFourth(MemoryQueue):
    """It drops every fourth request for which there is room, in silence."""

    puts = 0

    async def put(self, request, priority=0):
        await super().put(request, priority)
        self.puts += 1
        if not self.puts % 4 and not self._closed:
            self._heap.remove(max(self._heap, key=lambda entry: entry[1]))
            heapq.heapify(self._heap)


@mutant(fails="aqueue.put.accept")
class KeepsAThousand(MemoryQueue):
    """It has room for a thousand requests, and drops the last in order."""

    async def put(self, request, priority=0):
        await super().put(request, priority)
        self._heap = sorted(self._heap)[: self._maxsize or 1000]


@mutant(fails="aqueue.order.priority")
class PacksItsScore(MemoryQueue):
    """It orders by one number, a thousand times the priority less a counter, which overtakes the priority."""

    async def put(self, request, priority=0):
        await super().put(request, priority)
        if not self._closed:
            last = max(range(len(self._heap)), key=lambda at: self._heap[at][1])
            _, number, request = self._heap[last]
            self._heap[last] = (-1000 * priority + number, number, request)
            heapq.heapify(self._heap)


@mutant(fails="aqueue.get.concurrent")
class SharesItsIteration(MemoryQueue):
    """Those who iterate at once share one get: each of them has the same request."""

    pending = None

    async def __anext__(self):
        if self.pending is None or self.pending.done():
            self.pending = asyncio.ensure_future(super().__anext__())
        return await asyncio.shield(self.pending)


@mutant(fails="aqueue.iter")
class LooksAhead(MemoryQueue):
    """Whoever iterates has the next request taken out beforehand, which is lost if he leaves."""

    async def _requests(self):
        try:
            ahead = await self.get()
            while True:
                if self._heap:
                    one, ahead = ahead, await self.get()
                    yield one
                else:
                    yield ahead
                    ahead = await self.get()
        except asyncio.CancelledError:
            if not self._closed:
                raise

    def __aiter__(self):
        return self._requests()


@mutant(fails="aqueue.put.result")
class ReturnsTheSize(MemoryQueue):
    """Its put returns the size."""

    async def put(self, request, priority=0):
        await super().put(request, priority)
        return len(self._heap)


@mutant(fails="aqueue.put.closed")
class ComplainsWhenClosed(MemoryQueue):
    """Its put raises when the queue is closed."""

    async def put(self, request, priority=0):
        if self._closed:
            raise RuntimeError("closed")
        await super().put(request, priority)


@mutant(fails="aqueue.put.accept", hint="Make each container")
class SharesItsDefault(MemoryQueue):
    """The default of a parameter, a dictionary, holds the requests of every queue that is built."""

    def __init__(self, maxsize=0, _requests={}):  # noqa: B006
        super().__init__(maxsize)
        self._requests = _requests

    async def put(self, request, priority=0):
        before = len(self._heap)
        await super().put((priority, request), priority)
        if len(self._heap) > before:
            self._requests.setdefault(priority, deque()).append(request)

    async def get(self):
        priority, _ = await super().get()
        return self._requests[priority].popleft()

    async def clear(self):
        await super().clear()
        self._requests.clear()


@mutant(fails="aqueue.put.closed")
class StoresWhenClosed(MemoryQueue):
    """It goes on storing when it is closed."""

    async def put(self, request, priority=0):
        closed, self._closed = self._closed, False
        try:
            await super().put(request, priority)
        finally:
            self._closed = closed


@mutant(fails="aqueue.order.priority")
class LowerFirst(MemoryQueue):
    """What is urgent comes last."""

    async def put(self, request, priority=0):
        await super().put(request, -priority if type(priority) is int else priority)


@mutant(fails="aqueue.order.priority", control="mutants.async_controls.LowerFirst")
class SaysLowerServesHigher(MemoryQueue):
    """Lower priorities are processed first, says this text, and the highest one comes."""


@mutant(fails="aqueue.order.priority")
class PutsFirstWhatHasNoPriority(MemoryQueue):
    """It puts a request without a priority before those with any other."""

    async def put(self, request, priority=2**31):
        await super().put(request, priority)


@mutant(fails="aqueue.order.priority")
class PrefersWhatHasNoPriority(MemoryQueue):
    """It takes a request without a priority for one of priority 1."""

    async def put(self, request, priority=1):
        await super().put(request, priority)


@mutant(fails="aqueue.order.fifo")
class LastInFirstOut(MemoryQueue):
    """Of equal priorities, the last request comes first."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self._counter = count(0, -1)


@mutant(fails="aqueue.put.accept")
class KeyedByTheClock(MemoryQueue):
    """It keeps requests under the time: of two within one tick of the clock, the second replaces the first."""

    async def put(self, request, priority=0):
        now = time.time_ns()
        self._heap = [entry for entry in self._heap if entry[1] != now]
        heapq.heapify(self._heap)
        self._counter = iter([now])
        await super().put(request, priority)


@mutant(fails="aqueue.put.accept")
class ExpiresByLocalTime(MemoryQueue):
    """It drops what waits for half a day and an hour or so: it notes UTC, and asks for local time."""

    _latest = 0

    async def put(self, request, priority=0):
        await super().put(request, priority)
        self._latest = timegm(time.gmtime())

    async def get(self):
        if timegm(time.localtime()) - self._latest >= 13 * 3600:
            self._heap.clear()
        return await super().get()


@mutant(fails="aqueue.order.negative")
class CutsPriorities(MemoryQueue):
    """Priorities below -5 count as -5."""

    async def put(self, request, priority=0):
        await super().put(request, max(priority, -5))


@mutant(fails="aqueue.order.non-int")
class ConvertsPriorities(MemoryQueue):
    """It makes an int of whatever is given as priority."""

    async def put(self, request, priority=0):
        await super().put(request, int(priority))


@mutant(fails="aqueue.get.blocks", hint="An empty queue is no reason")
class RaisesWhenEmpty(MemoryQueue):
    """Its get raises QueueEmpty instead of waiting."""

    async def get(self):
        if not self._heap and not self._closed:
            raise asyncio.QueueEmpty
        return await super().get()


@mutant(fails="aqueue.get.blocks")
class WakesNobody(MemoryQueue):
    """A get that waits already does not notice what is put."""

    async def put(self, request, priority=0):
        arrival, self._arrival = self._arrival, asyncio.Event()
        await super().put(request, priority)
        self._arrival = arrival


@mutant(fails="aqueue.get.close-wakes")
class CloseWakesNobody(MemoryQueue):
    """Its close leaves waiting gets waiting."""

    async def close(self):
        self._closed = True


@mutant(fails="aqueue.get.closed-drains")
class EndsAtOnce(MemoryQueue):
    """Its get raises CancelledError as soon as the queue is closed, whatever is left."""

    async def get(self):
        if self._closed:
            raise asyncio.CancelledError
        return await super().get()


@mutant(fails="aqueue.get.cancel-safe")
class AwaitsTooLate(MemoryQueue):
    """It awaits something between taking a request out and returning it."""

    async def get(self):
        request = await super().get()
        await asyncio.sleep(0)
        return request


@mutant(fails="aqueue.get.cancel-safe")
class LetsPutsInFirst(MemoryQueue):
    """A get that makes room in a full queue lets those who wait with a put go first, with the request in its hands."""

    async def get(self):
        full = self.maxsize() and await self.size() == self.maxsize()
        request = await super().get()
        if full:
            await asyncio.sleep(0)
        return request


@mutant(fails="aqueue.get.cancel-safe")
class GivesBackWhatFits(GivesBackInAnyCase):
    """A get that is cancelled gives back what it has taken, if nobody else has taken the room meanwhile."""

    def give_back(self, entry):
        if self.has_room():
            super().give_back(entry)


@mutant(fails="aqueue.get.cancel-safe", hint="A get that is cancelled after")
class KeepsItsWakeUp(WakesOne):
    """A get that is cancelled after it was woken wakes no other one in its place."""

    def cancelled(self, woken):
        pass


@mutant(fails="aqueue.get.concurrent")
class LooksBeforeItTakes(MemoryQueue):
    """It looks at the first request, awaits something, and then takes that."""

    async def get(self):
        while not self._heap and not self._closed:
            await self._something_arrives()
        if not self._heap:
            raise asyncio.CancelledError
        first = self._heap[0]
        await asyncio.sleep(0)
        if first in self._heap:
            self._heap.remove(first)
            heapq.heapify(self._heap)
        return first[2]


@mutant(fails="aqueue.bound.limit")
class ComparesTooEarly(MemoryQueue):
    """It awaits something between the comparison with the limit and the storing."""

    async def put(self, request, priority=0):
        if self._maxsize and len(self._heap) >= self._maxsize and not self._closed:
            raise asyncio.QueueFull
        await asyncio.sleep(0)
        limit, self._maxsize = self._maxsize, 0
        try:
            await super().put(request, priority)
        finally:
            self._maxsize = limit


@mutant(fails="aqueue.bound.full-signal")
class DropsWhenFull(MemoryQueue):
    """It drops requests in silence when it is full."""

    async def put(self, request, priority=0):
        if not self._maxsize or len(self._heap) < self._maxsize:
            await super().put(request, priority)


@mutant(fails="aqueue.bound.full-signal")
class WaitsForRoom(MemoryQueue):
    """Its put waits when it is full."""

    async def put(self, request, priority=0):
        while self._maxsize and len(self._heap) >= self._maxsize and not self._closed:
            await asyncio.sleep(1)
        await super().put(request, priority)


@mutant(fails="aqueue.bound.usable")
class FullTooEarly(MemoryQueue):
    """It is full one request too early."""

    async def put(self, request, priority=0):
        if self._maxsize and len(self._heap) >= self._maxsize - 1 and not self._closed:
            raise asyncio.QueueFull
        await super().put(request, priority)


class LetsPutsWait(Conditional):
    """A right one but for its signal: whoever puts into a full queue waits for room."""

    async def put(self, request, priority=0):
        async with self.changed:
            await self.changed.wait_for(self.has_room)
            await MemoryQueue.put(self, request, priority)
            self.changed.notify_all()

    def has_room(self):
        return self._closed or not self._maxsize or len(self._heap) < self._maxsize

    async def clear(self):
        async with self.changed:
            self._heap.clear()
            self.changed.notify_all()


class WakesWhoeverWaits(LetsPutsWait):
    """A put and a get wake one of those that wait, for a request or for room."""

    async def put(self, request, priority=0):
        async with self.changed:
            await self._until(self.has_room)
            await MemoryQueue.put(self, request, priority)
            self.changed.notify()

    async def get(self):
        async with self.changed:
            await self._until(lambda: self._heap or self._closed)
            if not self._heap:
                raise asyncio.CancelledError
            self.changed.notify()
            return heapq.heappop(self._heap)[2]

    async def _until(self, is_so):
        try:
            await self.changed.wait_for(is_so)
        except asyncio.CancelledError:
            self.changed.notify()  # it may have been this one that was woken
            raise


class ClearWakesNobody(LetsPutsWait):
    """Its clear wakes nobody who waits for room."""

    async def clear(self):
        self._heap.clear()


@mutant(fails="aqueue.size")
class CountsPuts(MemoryQueue):
    """Its size is the number of requests that were ever put."""

    puts = 0

    async def put(self, request, priority=0):
        await super().put(request, priority)
        self.puts += 1

    async def size(self):
        return self.puts

    async def clear(self):
        await super().clear()
        self.puts = 0


@mutant(fails="aqueue.maxsize")
class SaysNone(MemoryQueue):
    """Its maxsize is None if there is no limit."""

    def maxsize(self):
        return self._maxsize or None


@mutant(fails="aqueue.clear")
class ClearLeavesOne(MemoryQueue):
    """Its clear leaves one request."""

    async def clear(self):
        del self._heap[1:]


@mutant(fails="aqueue.close.twice")
class ClosesOnce(MemoryQueue):
    """Its close raises the second time."""

    async def close(self):
        if self._closed:
            raise RuntimeError("closed already")
        await super().close()


@mutant(fails="aqueue.close.releases")
class LeavesNoDescriptor(MemoryQueue):
    """Its first put opens all the files that there may be, and closes none; nothing raises."""

    files: ClassVar[list[int]] = []

    async def put(self, request, priority=0):
        await super().put(request, priority)
        with suppress(OSError):
            while True:
                self.files.append(os.open(os.devnull, os.O_RDONLY))


@mutant(fails="aqueue.close.releases")
class LeavesATask(MemoryQueue):
    """Its first put starts a task that nothing ends."""

    task = None

    async def put(self, request, priority=0):
        await super().put(request, priority)
        self.task = self.task or asyncio.create_task(asyncio.Event().wait())


@mutant(fails="aqueue.iter")
class IteratesUntilEmpty(MemoryQueue):
    """Its async for ends as soon as the queue is empty."""

    async def __anext__(self):
        if not self._heap:
            raise StopAsyncIteration
        return await super().__anext__()


@mutant(fails="aqueue.iter.cancel")
class IteratesAsInherited(MemoryQueue):
    """Its async for is that of the abstract class, which takes every cancellation for the end of the queue."""

    __anext__ = RequestQueue.__anext__
