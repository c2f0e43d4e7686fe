"""Right collections of inner queues of other designs."""

from __future__ import annotations

import logging

from queue_reference.collections import PriorityQueue


class LogsWhatItCannotClose(PriorityQueue):
    """Its close logs what an inner queue raises, and returns the priorities as always."""

    def close(self):
        left = list(self._queues)
        try:
            super().close()
        except OSError:
            logging.getLogger(__name__).exception("an inner queue cannot be closed")
        return left


class KnowsHowToClose(PriorityQueue):
    """It keeps how to close each inner queue from the first push on."""

    def __init__(self, qfactory, startprios=()):
        self._closes = {}
        super().__init__(qfactory, startprios)
        for priority, queue in self._queues.items():
            self._closes[priority] = queue.close

    def push(self, item, priority=0):
        super().push(item, priority)
        self._closes[priority] = self._queues[priority].close

    def close(self):
        for close in self._closes.values():
            close()
        return list(self._queues)
