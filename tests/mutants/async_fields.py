"""Wrong asynchronous queues that treat a request otherwise because of one of its fields: for each field a class for each way."""

from __future__ import annotations

import heapq

from mutants import mutant
from queue_reference.async_queues import MemoryQueue

MEMORY = "queue_reference.async_queues.MemoryQueue"

FIELDS = (
    "method",
    "body",
    "meta",
    "headers",
    "callback",
    "cb_kwargs",
    "cookies",
    "query",
    "retries",
    "timeout_ms",
    "proxy",
    "ts",
)


class Picky(MemoryQueue):
    """A right queue that tells requests with a field from plain ones."""

    field = ""

    def is_plain(self, request):
        if self.field == "query":
            return "?" not in request.url
        return getattr(request, self.field) == getattr(type(request)("https://example.com"), self.field)


class Drops(Picky):
    """It drops what has the field."""

    fails = "aqueue.put.accept"

    async def put(self, request, priority=0):
        if self.is_plain(request):
            await super().put(request, priority)


class Reorders(Picky):
    """What has the field comes before all others of its priority."""

    fails = "aqueue.order.fifo"

    async def put(self, request, priority=0):
        await super().put(request, priority)
        if not self._closed and not self.is_plain(request):
            last = max(range(len(self._heap)), key=lambda at: self._heap[at][1])
            urgency, number, request = self._heap[last]
            self._heap[last] = (urgency, -number, request)
            heapq.heapify(self._heap)


class Doubles(Picky):
    """What has the field is stored twice, where there is no limit."""

    fails = "aqueue.size"

    async def put(self, request, priority=0):
        await super().put(request, priority)
        if not self._maxsize and not self.is_plain(request):
            await super().put(request, priority)


@mutant(fails="aqueue.put.accept")
class DropsEmptyFormsThroughProxies(MemoryQueue):
    """It drops what is put without a body, through a proxy."""

    async def put(self, request, priority=0):
        if request.method != "PUT" or request.body or not request.proxy:
            await super().put(request, priority)


def made_for(way, field):
    """Return the class for a field."""
    name = f"{way.__name__}{field.title().replace('_', '')}"
    return type(name, (way,), {"__doc__": way.__doc__.replace("the field", field), "__module__": way.__module__, "field": field})


for way in (Drops, Reorders, Doubles):
    for field in FIELDS:
        made = mutant(fails=way.fails, control=MEMORY)(made_for(way, field))
        globals()[made.__name__] = made
