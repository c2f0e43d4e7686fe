"""The driver of each kind."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from queue_conformance.implementations import Implementation
from queue_conformance.implementations.drivers.base import Driver
from queue_conformance.implementations.recording import Recorder
from queue_conformance.specification import Kind


def make_driver(implementation: Implementation, directory: Path, recorder: Recorder) -> Driver:
    """Return a driver for an implementation.

    Args:
        implementation: what to drive.
        directory: a scratch directory below which it may store.
        recorder: keeps the operations.
    """
    # Scrapy takes a quarter of a second to import: only for those who need it.
    module, name = _DRIVERS[implementation.kind]
    driver: type[Driver] = getattr(import_module(f"{__name__}.{module}"), name)
    return driver(implementation, directory, recorder)


_DRIVERS = {
    Kind.DOWNSTREAM_QUEUE: ("downstream", "DownstreamQueueDriver"),
    Kind.BYTE_QUEUE: ("bytequeue", "ByteQueueDriver"),
    Kind.BYTE_PRIORITY_QUEUE: ("collections", "BytePriorityQueueDriver"),
    Kind.ROUND_ROBIN_QUEUE: ("collections", "RoundRobinQueueDriver"),
    Kind.PRIORITY_QUEUE: ("priorityqueue", "PriorityQueueDriver"),
    Kind.SCHEDULER: ("scheduler", "SchedulerDriver"),
    Kind.DUPEFILTER: ("dupefilter", "DupeFilterDriver"),
    Kind.SPIDER_STATE: ("spiderstate", "SpiderStateDriver"),
    Kind.ASYNC_QUEUE: ("asyncqueue", "AsyncQueueDriver"),
    Kind.ASYNC_SCHEDULER: ("asyncscheduler", "AsyncSchedulerDriver"),
}
"""The module and the name of each driver."""
