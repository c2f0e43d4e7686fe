"""Asynchronous queues whose docstrings promise more than they do."""

from __future__ import annotations

from itertools import count

from mutants import mutant
from queue_reference.async_queues import MemoryQueue


@mutant(fails="aqueue.order.fifo")
class PromisesFifo(MemoryQueue):
    """Requests of equal priority are FIFO, it says, and serves the last of them first."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self._counter = count(0, -1)
