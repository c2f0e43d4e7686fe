"""Wrong asynchronous queues that filter duplicates, and forget requests after a time."""

from __future__ import annotations

import heapq
import math
import time

from mutants import mutant
from queue_reference.async_queues import MemoryQueue


def same(one, other):
    """Return whether two requests are for the same page."""
    return (one.url, one.method, one.body) == (other.url, other.method, other.body)


class Forgetful(MemoryQueue):
    """A right queue that filters duplicates, and forgets requests after a time."""

    def __init__(self, maxsize=0, dedupe=False, update_priority=False, item_ttl=None):
        super().__init__(maxsize)
        self.dedupe, self.update_priority, self.item_ttl = dedupe, update_priority, item_ttl
        self.ends = {}

    async def put(self, request, priority=0):
        self.forget()
        if self.dedupe:
            for entry in [entry for entry in self._heap if same(entry[2], request)]:
                if self.update_priority and priority > -entry[0]:
                    self._heap.remove(entry)
                    heapq.heapify(self._heap)
                    await super().put(request, priority)
                return False
        await super().put(request, priority)
        if self.item_ttl is not None:
            self.ends[request.url] = time.time() + self.item_ttl
        return None

    def forget(self):
        self._heap = [entry for entry in self._heap if self.ends.get(entry[2].url, math.inf) > time.time()]
        heapq.heapify(self._heap)

    async def get(self):
        self.forget()
        return await super().get()

    async def size(self):
        self.forget()
        return await super().size()


FORGETFUL = "mutants.async_forgetful.Forgetful"


@mutant(fails="aqueue.redis.dedupe")
class TakesTheLastPriority(Forgetful):
    """A request that is put again gets the priority of the last put, and not the better one."""

    async def put(self, request, priority=0):
        if self.dedupe and self.update_priority:
            self._heap = [entry for entry in self._heap if not same(entry[2], request)]
            heapq.heapify(self._heap)
        return await super().put(request, priority)


@mutant(fails="aqueue.redis.dedupe")
class ForgetsDuplicates(Forgetful):
    """It only compares with the last request."""

    async def put(self, request, priority=0):
        if self.dedupe and self._heap and max(self._heap)[2].url != request.url:
            self.ends[request.url] = time.time() + (self.item_ttl or math.inf)
            return await MemoryQueue.put(self, request, priority)
        return await super().put(request, priority)


@mutant(fails="aqueue.redis.ttl")
class ForgetsNothing(Forgetful):
    """Its requests never disappear."""

    def forget(self):
        pass


@mutant(fails="aqueue.redis.ttl")
class ForgetsTooSoon(Forgetful):
    """Its requests live for a quarter of their time."""

    async def put(self, request, priority=0):
        done = await super().put(request, priority)
        if request.url in self.ends:
            self.ends[request.url] -= self.item_ttl * 3 / 4
        return done


@mutant(fails="aqueue.redis.ttl")
class ForgetsAllAtOnce(Forgetful):
    """All that it holds disappears with the request that was put first: a key that expires, set once."""

    async def put(self, request, priority=0):
        done = await super().put(request, priority)
        self.ends = dict.fromkeys(self.ends, min(self.ends.values(), default=0))
        return done


@mutant(fails="aqueue.redis.ttl")
class RenewsAll(Forgetful):
    """All that it holds lives as long as what was put last: a key that expires, set by each put."""

    async def put(self, request, priority=0):
        done = await super().put(request, priority)
        self.ends = dict.fromkeys(self.ends, max(self.ends.values(), default=0))
        return done


@mutant(fails="claims.true", control=FORGETFUL, claims={"dedupe": "yes"})
class ClaimsToFilter(MemoryQueue):
    """It is said to filter duplicates, and does not."""


@mutant(fails="aqueue.redis.ttl")
class RemembersWhatIsGone(Forgetful):
    """A request whose time is over is a duplicate for ever."""

    async def put(self, request, priority=0):
        if self.dedupe and self.ends.get(request.url, math.inf) <= time.time():
            return False
        return await super().put(request, priority)
