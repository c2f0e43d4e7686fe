"""Downstream queues that keep requests on disk, and survive a crash of the process."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, ClassVar

from scrapy.utils.request import request_from_dict

from queue_reference.bytequeues import FifoByteQueue, LifoByteQueue

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler


class FifoDiskQueue:
    """The request that was pushed first is popped first.

    Args:
        crawler: its spider is the one that callbacks belong to.
        key: the path of the file to use.

    Raises:
        WrongStorageError: if the path holds something that another class has written.
    """

    _storage: ClassVar[type[FifoByteQueue]] = FifoByteQueue

    def __init__(self, crawler: Crawler, key: str) -> None:
        self._crawler = crawler
        self._queue = self._storage(key, content="pickled requests")

    @classmethod
    def from_crawler(cls, crawler: Crawler, key: str) -> Self:
        """Build the queue of a key."""
        return cls(crawler, key)

    def push(self, request: Request) -> None:
        """Store a request.

        Raises:
            ValueError: if it cannot be serialized, or not be rebuilt: the scheduler then keeps it in memory.
        """
        try:
            data = pickle.dumps(request.to_dict(spider=self._crawler.spider))
            self._rebuild(data)  # now the caller still has the request; in pop it would be lost
        except Exception as error:  # whatever the objects in a request raise
            raise ValueError(f"cannot serialize {request}: {error!r}") from error
        self._queue.push(data)

    def pop(self) -> Request | None:
        """Take out the next request; ``None`` if there is none.

        Raises:
            Exception: if it cannot be rebuilt; it is set aside, and the next run tries it again.
        """
        return self._queue.take(self._rebuild)

    def peek(self) -> Request | None:
        """Return what ``pop`` would, and leave it where it is."""
        data = self._queue.peek()
        return None if data is None else self._rebuild(data)

    def close(self) -> None:
        """Release the file; an empty queue leaves none behind."""
        self._queue.close()

    def __len__(self) -> int:
        return len(self._queue)

    def _rebuild(self, data: bytes) -> Request:
        return request_from_dict(pickle.loads(data), spider=self._crawler.spider)


class LifoDiskQueue(FifoDiskQueue):
    """The request that was pushed last is popped first."""

    _storage: ClassVar[type[FifoByteQueue]] = LifoByteQueue
