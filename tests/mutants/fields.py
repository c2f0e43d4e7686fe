"""Wrong implementations that drop what has one field, let it come first, or store it twice; what is plain they treat right."""

from __future__ import annotations

from scrapy import Request

from mutants import Mutant
from queue_reference.bytequeues import FifoByteQueue, FifoMemoryByteQueue
from queue_reference.disk import FifoDiskQueue
from queue_reference.memory import FifoMemoryQueue
from queue_reference.pqueues import PriorityQueue
from queue_reference.scheduler import Scheduler

OWN = {"is_start_request", "refuse"}
"""What the kit itself keeps in the meta of requests."""

FIELDS = {
    "dont_filter": lambda request: request.dont_filter,
    "priority": lambda request: request.priority > 0,
    "callback": lambda request: request.callback is not None,
    "errback": lambda request: request.errback is not None,
    "method": lambda request: request.method != "GET",
    "body": lambda request: 0 < len(request.body) < 100,
    "meta": lambda request: bool(request.meta.keys() - OWN),
    "retry": lambda request: request.meta.get("retry_times", 0) > 0,
    "redirect": lambda request: request.meta.get("redirect_times", 0) > 0,
    "session": lambda request: "cookiejar" in request.meta,
    "cb_kwargs": lambda request: bool(request.cb_kwargs),
    "headers": lambda request: bool(request.headers),
    "cookies": lambda request: bool(request.cookies),
    "flags": lambda request: bool(request.flags),
    "encoding": lambda request: request.encoding != "utf-8",
    "url": lambda request: "?" in request.url,
    "class": lambda request: type(request) is not Request,
}
"""By the name of a field, whether a request has it."""

ROUTED = {**FIELDS, "start": lambda request: request.meta.get("is_start_request") is True}
"""The same of requests that were routed to a queue."""

BYTES = {"feed": b"\n", "zero": b"\0", "high": b"\xff", "lines": b"\r\n\r\n", "blank": b" "}
"""By its name, how an item of bytes ends."""


def has(field, item):
    """Whether an item has a field."""
    return item.endswith(BYTES[field]) if isinstance(item, bytes) else ROUTED[field](item)


class Drops:
    """It drops what has one field; its push says nothing."""

    field = ""

    def push(self, item):
        if not has(self.field, item):
            super().push(item)


class DropsUnfilteredCallbacks(FifoMemoryQueue):
    """It drops what is not filtered and has a callback."""

    def push(self, request):
        if not (has("dont_filter", request) and has("callback", request)):
            super().push(request)


class Jumps:
    """It lets what has one field come first, though it is FIFO."""

    field = ""

    def push(self, item):
        before = len(self) if has(self.field, item) else 0
        super().push(item)
        for _ in range(before):
            super().push(self.pop())


class Doubles:
    """It stores what has one field twice."""

    field = ""

    def push(self, item):
        for _ in range(1 + has(self.field, item)):
            super().push(item)


class Upgrades:
    """It serves what has one field as if its priority were higher."""

    field = ""

    def _place_of(self, request):
        place = super()._place_of(request)
        return place._replace(rank=place.rank - 20 * has(self.field, request))


class StoreDrops:
    """It says that it stores what has one field, and drops it."""

    field = ""

    def _store(self, request):
        if has(self.field, request):
            return "disk" if self._disk is not None else "memory"
        return super()._store(request)


class StoreDoubles:
    """It stores what has one field twice."""

    field = ""

    def _store(self, request):
        if has(self.field, request):
            super()._store(request)
        return super()._store(request)


class StoreUpgrades:
    """It gives out what has one field before everything else."""

    field = ""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._first = []

    def enqueue_request(self, request):
        stored = super().enqueue_request(request)
        if stored and has(self.field, request):
            self._first.append(request.url)
        return stored

    def next_request(self):
        if not self._first:
            return super().next_request()
        url, others = self._first.pop(), []
        while (request := super().next_request()) is not None and request.url != url:
            others.append(request)
        for other in others:
            self._store(other)
        return request


def made(how, right, field, *rules):
    """Return a mutant of a right class, which fails one of these rules first."""
    name = f"{how.__name__}{field.title().replace('_', '')}{right.__name__}"
    namespace = {"field": field, "__doc__": f"{how.__doc__[:-1]}: {field}.", "__module__": __name__, "__qualname__": name}
    globals()[name] = type(name, (how, right), namespace)
    return Mutant(f"{__name__}.{name}", frozenset(rules), f"{right.__module__}.{right.__name__}")


LOST, FIRST = "queue.pop.exactly-once", "queue.pop.fifo"
MUTANTS = [
    *(
        made(how, right, field, rule)
        for how, rule in ((Drops, LOST), (Jumps, FIRST), (Doubles, LOST))
        for right, fields in (
            (FifoMemoryQueue, ROUTED),
            (FifoDiskQueue, ROUTED),
            (FifoMemoryByteQueue, BYTES),
            (FifoByteQueue, BYTES),
        )
        for field in fields
    ),
    *(
        made(how, PriorityQueue, field, rule)
        for how, rule in ((Drops, "pq.pop.exactly-once"), (Upgrades, "pq.pop.order"), (Doubles, "pq.pop.exactly-once"))
        for field in FIELDS
        if field != "priority"
    ),
    *(
        made(how, Scheduler, field, "scheduler.enqueue.true", "scheduler.enqueue.disk-first")
        for how in (StoreDrops, StoreUpgrades, StoreDoubles)
        for field in FIELDS
    ),
]
"""One for each kind, each field, and each way to treat it otherwise; their test has them, and no table of all mutants."""
