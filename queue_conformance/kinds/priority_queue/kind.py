"""What a priority queue of Scrapy is."""

from __future__ import annotations

from typing import Any

from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.signatures import methods_of, parameters
from queue_conformance.specification.kinds import SCRAPY, Kind


def _is_priority_queue(cls: type[Any]) -> bool:
    """It takes the class of the queues below it."""
    taken = {*parameters(getattr(cls, "from_crawler", cls)), *parameters(cls)}
    return "downstream_queue_cls" in taken and bool(methods_of(cls, "push", "pop"))


def _slots(found: Capabilities) -> str:
    return "slots" if found.slots else "slots in turns" if found.turns else "no slots"


def _describe(found: Capabilities) -> str:
    persistent = "persistent" if found.persistent else "not persistent"
    return f"{persistent}, {'peek' if found.peek else 'no peek'}, {_slots(found)}"


PRIORITY_QUEUE = Kind(
    "priority-queue",
    plural="priority queues",
    option="priority-queue-class",
    profile=SCRAPY,
    folders=(__package__,),
    driver=f"{__package__}.driver:PriorityQueueDriver",
    shows=_is_priority_queue,
    describe=_describe,
    precedence=2,
    crawled=True,
    stores=False,
    documented={
        "scrapy.pqueues.ScrapyPriorityQueue": ("persistent", "peek"),
        "scrapy.pqueues.DownloaderAwarePriorityQueue": ("persistent", "peek", "slots"),
    },
)
