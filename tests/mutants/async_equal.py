"""Asynchronous queues in which a request takes the place of one that equals it: silently, which is wrong, and with `False`."""

from __future__ import annotations

from mutants import mutant
from queue_reference.async_queues import MemoryQueue


class SaysDuplicates(MemoryQueue):
    """It stores no request that equals one that waits, and says so by what put returns."""

    async def put(self, request, priority=0):
        if any(entry[2] == request for entry in self._heap):
            return False
        await super().put(request, priority)
        return True


@mutant(fails="aqueue.put.accept", hint="Requests that are equal")
class MergesEqualRequests(SaysDuplicates):
    """It stores no request that equals one that waits, and says nothing, so that its scheduler waits for two."""

    async def put(self, request, priority=0):
        await super().put(request, priority)


@mutant(fails="aqueue.put.accept", control="mutants.async_equal.SaysDuplicates")
class MergesEqualBytes(MemoryQueue):
    """Its requests are the members of a set, encoded: those that have a time of their own are merged if they are equal."""

    async def put(self, request, priority=0):
        if not request.ts or all(entry[2] != request for entry in self._heap):
            await super().put(request, priority)
