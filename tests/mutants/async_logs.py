"""Wrong asynchronous queues that keep a log, or that look at the priority of a request instead of what they are told."""

from __future__ import annotations

import asyncio
import glob
import heapq

from mutants import mutant
from mutants.async_controls_logs import Journal, RewritesLater
from queue_reference.async_queues import MemoryQueue, checked_priority

PRIORITY = "aqueue.order.priority"


@mutant(fails="aqueue.persist.reopen")
class RewritesWhatItSaw(Journal):
    """It lets other tasks run between reading what it has and rewriting its log, and loses what they put."""

    async def shrink(self):
        lines = self.lines()
        await asyncio.sleep(0)
        self.rewrite(lines)


@mutant(fails="aqueue.persist.reopen", control="mutants.async_controls_logs.RewritesLater")
class RewritesInTheBackground(RewritesLater):
    """A task rewrites its log in a thread, from what there was before, and loses what is put meanwhile."""

    async def _later(self):
        lines = self.lines()
        await asyncio.to_thread(str)
        self.rewrite(lines)


@mutant(fails="aqueue.get.bad-item")
class StopsAtABadLine(Journal):
    """What is behind a line that is damaged does not count."""

    def passes_over(self, line):
        return False


@mutant(fails=PRIORITY)
class GoesByTheRequest(MemoryQueue):
    """It serves requests by the priority that they have, and not by that which put is given."""

    async def put(self, request, priority=0):
        checked_priority(priority)
        await super().put(request, request.priority)


@mutant(fails=PRIORITY)
class RemovesAnEqualOne(MemoryQueue):
    """It looks for the request that it returns in its list, and removes the first that is equal to it."""

    async def get(self):
        request = await super().get()
        equal = next((entry for entry in reversed(self._heap) if entry[2] == request), None)
        if equal is not None:  # the one that it keeps has the priority of the one that it should have removed
            self._heap[self._heap.index(equal)] = (-(2**40), equal[1], request)
            heapq.heapify(self._heap)
        return request


@mutant(fails="aqueue.persist.reopen")
class ReadsAtMostAPage(Journal):
    """It reads lines of at most a page, and loses what is longer when it is opened again."""

    def content(self):
        if not self._path.exists():
            return []
        with self._path.open("rb") as file:
            return list(iter(lambda: file.readline(4096), b""))


@mutant(fails="aqueue.persist.reopen")
class TakesAFullBlockForNone(Journal):
    """Sixty-four requests are a block; where there is nothing beside a full one, it takes the log for empty."""

    def content(self):
        lines = super().content()
        return [] if len(lines) == 64 else lines


@mutant(fails="aqueue.persist.reopen")
class LooksForAPattern(Journal):
    """It looks for its log by a pattern, in which some names of directories mean something else."""

    def content(self):
        return super().content() if glob.glob(str(self._path)) else []
