"""After an operation hung in several checks, the others go on without it."""

import time
from collections import deque

from kit import LEAN, failed_rules


class WaitsForItems:
    """An empty pop waits for ever, and the length is a set."""

    def __init__(self, crawler, key):
        self._items = deque()

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def push(self, request):
        self._items.append(request)

    def pop(self):
        while not self._items:
            time.sleep(0.01)
        return self._items.popleft()

    def __len__(self):
        return {*self._items}

    def close(self):
        """There is nothing to release."""


def test_what_needs_no_pop_is_asked_though_pop_was_seen_to_hang():
    hang = ("queue.pop.no-wait", "queue.pop.exactly-once", "queue.pop.empty-none")
    names = {"smoke", *hang, "queue.len.count"}
    report = LEAN.examine("test_hanging.WaitsForItems", time_limit=0.5, only=names)
    assert {"queue.len.count", "queue.pop.empty-none"} <= failed_rules(report)
