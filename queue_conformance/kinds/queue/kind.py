"""What downstream queues and byte queues are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from queue_conformance.implementation.capabilities import Capabilities, Order
from queue_conformance.implementation.signatures import methods_of, parameters
from queue_conformance.specification.kinds import EXTERNAL_QUEUE, QUEUELIB, SCRAPY, Kind


def _is_downstream(cls: type[Any]) -> bool:
    """It is built by ``from_crawler``, or takes a crawler or a key, or what is pushed is called a request."""
    offered = methods_of(cls, "push", "pop")
    if hasattr(cls, "from_crawler"):
        return bool(offered)
    takes_requests = [*parameters(getattr(cls, "push", None))][1:] == ["request"]
    return len(offered) == 2 and (takes_requests or not {"crawler", "key"}.isdisjoint(parameters(cls)))


def _is_byte_queue(cls: type[Any]) -> bool:
    return len(methods_of(cls, "push", "pop")) == 2


def _described(found: Capabilities) -> Iterator[str]:
    order = "no order" if found.order is Order.NONE else str(found.order)
    if found.spoken_order is not Order.NONE and found.priority == "none":
        order += f" (if {found.spoken_order} is meant, claim order={found.spoken_order})"
    yield order if found.priority == "none" else f"{found.priority.replace('-', ' ')}, {order} within a priority"
    yield found.places
    yield optional_methods(found)
    if found.chunked:
        yield "chunks"
    if found.serializes:
        verbs = {"changed": "changes", "refused": "refuses", "lost": "loses"}
        fates = {verb: [name for name, fate in found.stores.items() if fate == of] for of, verb in verbs.items()}
        others = [f"{verb} {', '.join(names)}" for verb, names in fates.items() if names]
        yield f"serializes ({'; '.join(others) or 'every type tried is kept'})"


def optional_methods(found: Capabilities) -> str:
    """Say whether a queue has the methods that it need not have."""
    peek = "peek" if found.peek else "a peek that raises" if found.peek_stub else "no peek"
    return f"{peek}, {'clear' if found.clear else 'no clear'}"


def _describe(found: Capabilities) -> str:
    return ", ".join(_described(found))


def _describe_downstream(found: Capabilities) -> str:
    return _describe(found) + ("" if found.serializes else ", keeps the objects")


_STORES: Mapping[str, tuple[str, ...]] = {
    "Memory": ("peek",),
    "Disk": ("peek", "persistent", "filesystem"),
    "SQLite": ("peek", "persistent", "filesystem"),
}
"""What is documented of queuelib's queues, by where they store, besides the order in their names."""

DOWNSTREAM_QUEUE = Kind(
    "downstream-queue",
    plural="downstream queues",
    option="queue-class",
    profile=SCRAPY,
    behind_server=EXTERNAL_QUEUE,
    folders=(__package__, "queue_conformance.kinds.crawl"),
    driver=f"{__package__}.downstream_driver:DownstreamQueueDriver",
    shows=_is_downstream,
    describe=_describe_downstream,
    precedence=1,
    crawled=True,
    built_by_authors=True,
    documented={  # the rest is that of their bases
        f"scrapy.squeues.{codec}{order}{store}Queue": ("serializes",)
        for codec in ("Pickle", "Marshal")
        for order in ("Fifo", "Lifo")
        for store in ("Disk", "SQLite")
    },
    by_profile=frozenset(
        {"queue.push.serialization-error", "queue.push.serialization-all-causes", "queue.push.callback-foreign"}
    ),  # one knows an error of its own, the other one ValueError alone
    heeds={"serialization-error": "", "transient-error": ""},
)

BYTE_QUEUE = Kind(
    "byte-queue",
    plural="byte queues",
    option="queue-class",
    profile=QUEUELIB,
    folders=(__package__,),
    driver=f"{__package__}.byte_driver:ByteQueueDriver",
    shows=_is_byte_queue,
    describe=_describe,
    precedence=-1,
    built_by_authors=True,
    documented={
        f"queuelib.queue.{order}{store}Queue": (order.upper(), *offered)
        for order in ("Fifo", "Lifo")
        for store, offered in _STORES.items()
    },
)

REQUESTS_ONLY, BYTES_ONLY = frozenset({DOWNSTREAM_QUEUE}), frozenset({BYTE_QUEUE})
QUEUES = REQUESTS_ONLY | BYTES_ONLY
