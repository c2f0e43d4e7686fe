"""What queuelib's collections are."""

from __future__ import annotations

from typing import Any

from queue_conformance.implementation.signatures import methods_of, parameters, requires_key
from queue_conformance.kinds.queue.kind import optional_methods
from queue_conformance.specification.kinds import QUEUELIB, Kind


def _takes_queues(cls: type[Any]) -> bool:
    factories = {"qfactory", "factory", "queue_factory"}
    return len(methods_of(cls, "push", "pop")) == 2 and not factories.isdisjoint([*parameters(cls)][:1])


def _takes_turns(cls: type[Any]) -> bool:
    return _takes_queues(cls) and requires_key(cls.push)


BYTE_PRIORITY_QUEUE = Kind(
    "byte-priority-queue",
    plural="priority queues of bytes",
    option="priority-queue-class",
    also_by=("queue-class",),
    profile=QUEUELIB,
    folders=(__package__,),
    driver=f"{__package__}.driver:BytePriorityQueueDriver",
    shows=_takes_queues,
    describe=optional_methods,
    stores=False,
)

ROUND_ROBIN_QUEUE = Kind(
    "round-robin-queue",
    plural="round-robin queues",
    option="priority-queue-class",
    also_by=("queue-class",),
    profile=QUEUELIB,
    folders=(__package__,),
    driver=f"{__package__}.driver:RoundRobinQueueDriver",
    shows=_takes_turns,
    describe=optional_methods,
    precedence=1,
    stores=False,
)

BY_PRIORITY, BY_TURNS = frozenset({BYTE_PRIORITY_QUEUE}), frozenset({ROUND_ROBIN_QUEUE})
COLLECTIONS = BY_PRIORITY | BY_TURNS
