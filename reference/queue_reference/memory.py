"""Downstream queues that keep requests in memory."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler


class FifoMemoryQueue:
    """The request that was pushed first is popped first."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque()

    @classmethod
    def from_crawler(cls, crawler: Crawler, key: str) -> Self:
        """Build a queue. Nothing outlives the object, so the key says nothing."""
        return cls()

    def push(self, request: Request) -> None:
        """Store a request."""
        self._requests.append(request)

    def pop(self) -> Request | None:
        """Take out the next request; ``None`` if there is none."""
        return self._requests.popleft() if self._requests else None

    def peek(self) -> Request | None:
        """Return what ``pop`` would, and leave it where it is."""
        return self._requests[0] if self._requests else None

    def close(self) -> None:
        """There is nothing to release."""

    def __len__(self) -> int:
        return len(self._requests)


class LifoMemoryQueue(FifoMemoryQueue):
    """The request that was pushed last is popped first."""

    def pop(self) -> Request | None:
        return self._requests.pop() if self._requests else None

    def peek(self) -> Request | None:
        return self._requests[-1] if self._requests else None
