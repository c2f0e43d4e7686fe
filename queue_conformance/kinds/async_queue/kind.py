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
    """It is more than asyncio's queues, which have no ``size``: no crawl can use one of these."""
    return iscoroutinefunction(getattr(cls, "get", None)) and callable(getattr(cls, "put", None)) and hasattr(cls, "size")


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
