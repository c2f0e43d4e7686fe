"""Asynchronous queues that are right, and cost more the more they hold."""

from __future__ import annotations

from mutants import mutant
from queue_reference.async_queues import MemoryQueue


@mutant(fails="aqueue.scale.stored")
class CountsOneByOne(MemoryQueue):
    """Its size adds one for each request."""

    async def size(self):
        return sum(1 for _ in self._heap)


@mutant(fails="aqueue.scale.stored")
class CopiesToPut(MemoryQueue):
    """Its put copies all that it holds."""

    async def put(self, request, priority=0):
        self._heap = [*self._heap]
        await super().put(request, priority)


@mutant(fails="aqueue.scale.kept")
class RemembersWhatItGave(MemoryQueue):
    """It keeps each request that it gave, as one that may be asked for again."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._given = []

    async def get(self):
        request = await super().get()
        self._given.append(request)
        return request
