"""How priority queues grow: in what they hold, in hosts, and in priorities; over queues of Scrapy's in memory."""

from __future__ import annotations

from scrapy.squeues import FifoMemoryQueue, LifoMemoryQueue

from queue_conformance.environments.items import grown_request
from queue_conformance.kinds.queue import growth


class Growth(growth.Growth):
    """A priority queue in memory."""

    axes = ("stored", "hosts", "priorities")

    def open(self) -> None:
        self.driver.configure(LifoMemoryQueue, FifoMemoryQueue, persistent=False)
        super().open()

    def _item(self, number: int) -> object:
        return grown_request(number, self.axis)
