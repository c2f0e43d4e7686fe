"""Right asynchronous queues of kinds that a check might wrongly take for broken."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass

from queue_reference.async_queues import MemoryQueue


class Polling(MemoryQueue):
    """It looks again and again, and waits for nothing else."""

    async def _something_arrives(self):
        await asyncio.sleep(0.05)


class Threaded(MemoryQueue):
    """A thread of its own does the work."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.lock = asyncio.Lock()

    async def put(self, request, priority=0):
        await self.elsewhere()
        await super().put(request, priority)

    async def elsewhere(self):
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def work():
            time.sleep(0.001)
            loop.call_soon_threadsafe(lambda: done.done() or done.set_result(None))

        threading.Thread(target=work).start()
        await done


class LowerFirst(MemoryQueue):
    """The lowest priority comes first."""

    async def put(self, request, priority=0):
        await super().put(request, -priority if type(priority) is int else priority)


@dataclass
class MyRequest:
    """A request that is not qCrawl's."""

    url: str
    priority: int = 0
