"""The driver of each kind."""

from __future__ import annotations

from pathlib import Path

from queue_conformance.implementations import Implementation
from queue_conformance.implementations.driver import Driver
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
    if implementation.kind is Kind.DOWNSTREAM_QUEUE:
        from queue_conformance.implementations.downstream import DownstreamQueueDriver

        return DownstreamQueueDriver(implementation, directory, recorder)
    from queue_conformance.implementations import bytequeue, collections

    drivers: dict[Kind, type[Driver]] = {
        Kind.BYTE_QUEUE: bytequeue.ByteQueueDriver,
        Kind.BYTE_PRIORITY_QUEUE: collections.BytePriorityQueueDriver,
        Kind.ROUND_ROBIN_QUEUE: collections.RoundRobinQueueDriver,
    }
    return drivers[implementation.kind](implementation, directory, recorder)
