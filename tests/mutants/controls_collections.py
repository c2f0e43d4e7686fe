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
