"""What an asynchronous queue of qCrawl is."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any

from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.specification.kinds import QCRAWL, Kind

_OFFERS = {
    "persistent": "persistent",
    "filesystem": "in files",
    "server": "behind a server",
    "bounded": "bounded",
    "serializes": "serializes",
    "dedupe": "stores no request twice if told so",
    "ttl": "forgets requests after a time if told so",
    "real_loop": "needs the stock event loop",
}
"""What is said of one that offers something."""


def _is_async_queue(cls: type[Any]) -> bool:
    """It is more than queues for asyncio alone, which have no ``size``, or one that is not awaited: no crawl can use these."""
    if not iscoroutinefunction(getattr(cls, "get", None)) or not callable(getattr(cls, "put", None)):
        return False
    of_qcrawl = any(base.__module__.partition(".")[0] == "qcrawl" for base in cls.__mro__)
    return hasattr(cls, "size") if of_qcrawl else iscoroutinefunction(getattr(cls, "size", None))


def _describe(found: Capabilities) -> str:
    offers = [text for name, text in _OFFERS.items() if getattr(found, name)]
    return ", ".join([*offers, *found.unclaimed]) or "nothing beyond the interface"


ASYNC_QUEUE = Kind(
    "async-queue",
    plural="asynchronous queues",
    option="queue-class",
    profile=QCRAWL,
    folders=(__package__,),
    driver=f"{__package__}.driver:AsyncQueueDriver",
    shows=_is_async_queue,
    describe=_describe,
    precedence=6,
    built_by_authors=True,
    documented={
        "qcrawl.core.queues.disk.DiskQueue": ("persistent", "filesystem"),
        "qcrawl.core.queues.redis.RedisQueue": ("persistent",),
    },
    heeds={"priority": "", "real-loop": "", "request": ""},
)
