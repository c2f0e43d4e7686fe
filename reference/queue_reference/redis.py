"""Downstream queues that keep requests in a list of a Redis server, and get over a server that goes away for a while.

What makes a queue behind a network hard is the reply that never comes: the server may have run the command, or not, or may
still run it. Apart from pushing, these queues therefore send only what does no harm if it is run twice, late or not at all:

- ``pop`` only reads the next item. It is removed by the next ``pop`` or ``peek``, or by ``close``, before anything else.
- It is removed by value, and every value has an id of its own. So that can be repeated until a reply comes.

Then a lost reply costs no item, and doubles none. Only if the process dies, or the server is away during ``close``, does the
next process get the item that was popped last once more. A push without reply raises ``TransientError``: the request may be
stored or not, and pushing it again may store it twice, but never loses it.

A request that cannot be rebuilt is left where it is, and passed over until the queue is opened again.

There is no transaction, because a server that is out of memory refuses them, and then could not even be emptied. Stored
requests are as durable as the server is told to make them (``appendonly``). Only one queue object at a time may use a key;
for several there is ``redis_shared``. Requests are pickled, so whoever can write to the server can run code in the crawler.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

from redis import Redis, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry
from scrapy.utils.request import request_from_dict

from queue_conformance import SerializationError, TransientError
from queue_reference.bytequeues import WrongStorageError

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request
    from scrapy.crawler import Crawler

ID_LENGTH = 16


@contextmanager
def temporary_problems() -> Iterator[None]:
    """Raise a problem that passes by itself as ``TransientError``, any other as it is."""
    try:
        yield
    except (exceptions.AuthenticationError, exceptions.AuthorizationError):
        raise  # connection errors to redis-py, but they do not pass
    except (exceptions.ConnectionError, exceptions.TimeoutError) as error:
        raise TransientError(f"{type(error).__name__}: {error}") from error


class RedisQueue:
    """What queues on a Redis server share: the client, and values that hold requests.

    Settings:
        REDIS_URL: the server, by default ``redis://localhost:6379/0``.
        REDIS_TIMEOUT: how many seconds to wait for the server, by default 1. Nothing is tried twice, because the crawl
            stands still meanwhile, and the scheduler asks again anyway.

    Args:
        crawler: has the settings; its spider is the one that callbacks belong to.
        key: the key of the list.

    Raises:
        ValueError: if a setting makes no sense.
        WrongStorageError: if the list was written by another class.
        redis.RedisError: if the server does not answer or refuses, or the key does not hold a list.
    """

    _signature: ClassVar[bytes]  # begins every value

    def __init__(self, crawler: Crawler, key: str) -> None:
        timeout = crawler.settings.getfloat("REDIS_TIMEOUT", 1.0)
        if not 0 < timeout < float("inf"):
            raise ValueError(f"REDIS_TIMEOUT must be a positive number of seconds, not {timeout!r}")
        self._crawler = crawler
        self._key = key.encode(errors="surrogatepass")
        self._client: Any = Redis.from_url(  # Any: to the annotations of redis-py, values are text
            crawler.settings.get("REDIS_URL", "redis://localhost:6379/0"),
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),  # by default, redis-py tries again for seconds
        )
        try:
            self._client.ping()  # raises an error of redis-py: that nothing answers is temporary only if something did before
            self._look()
        except BaseException:
            self._client.connection_pool.disconnect()
            raise

    @classmethod
    def from_crawler(cls, crawler: Crawler, key: str) -> Self:
        """Build the queue of a key."""
        return cls(crawler, key)

    def _look(self) -> bytes | None:
        """Return the next value, and bring the length up to date."""
        raise NotImplementedError

    def _expect_own(self, value: bytes | None) -> None:
        """Raise ``WrongStorageError`` if another class wrote a value."""
        if value is not None and not value.startswith(self._signature):
            raise WrongStorageError(f"{self._key!r} was not written by {type(self).__name__}")

    def _value_of(self, request: Request) -> bytes:
        """Return what is stored of a request, which is different each time.

        Raises:
            SerializationError: if it cannot be serialized, or not be rebuilt.
        """
        try:
            data = pickle.dumps(request.to_dict(spider=self._crawler.spider))
            self._rebuild(data)  # now the caller still has the request; in pop it would be lost
        except Exception as error:  # whatever the objects in a request raise
            raise SerializationError(f"cannot serialize {request}: {error!r}") from error
        return self._signature + uuid4().bytes + data

    def _request_of(self, value: bytes) -> Request:
        return self._rebuild(value[len(self._signature) + ID_LENGTH :])

    def _rebuild(self, data: bytes) -> Request:
        return request_from_dict(pickle.loads(data), spider=self._crawler.spider)


class FifoRedisQueue(RedisQueue):
    """The request that was pushed first is popped first; for its settings see :class:`RedisQueue`."""

    _signature: ClassVar[bytes] = b"FIFO request "

    def __init__(self, crawler: Crawler, key: str) -> None:
        self._delivered: bytes | None = None  # the value that was popped last, until its removal is confirmed
        self._aside: set[bytes] = set()  # values that cannot be rebuilt
        self._length = 0  # what is known to be stored, without the delivered and those set aside
        self._uncertain = False  # whether there may be more, because a push had no reply
        super().__init__(crawler, key)

    def push(self, request: Request) -> None:
        """Store a request.

        Raises:
            SerializationError: if it cannot be serialized, or not be rebuilt: the scheduler then keeps it in memory.
            TransientError: if the server does not answer, likewise. The request may have been stored nevertheless.
            redis.RedisError: if the server refuses: it is out of memory, read-only, wants a password ...
        """
        value = self._value_of(request)
        try:
            with temporary_problems():
                self._store(value)
        except TransientError:
            self._uncertain = True
            raise
        self._length += 1

    def pop(self) -> Request | None:
        """Take out the next request; ``None`` if there is none, or the server does not answer.

        Raises:
            Exception: if it cannot be rebuilt; it is set aside, and the next run tries it again.
            LookupError: if requests are missing that nobody popped; once, then the queue goes on with those that are left.
            redis.RedisError: if the server refuses.
        """
        value = self._find()
        if value is None:
            return None
        self._length -= 1
        try:
            request = self._request_of(value)
        except Exception:
            self._aside.add(value)
            raise
        self._delivered = value
        return request

    def peek(self) -> Request | None:
        """Return what ``pop`` would, and leave it where it is."""
        value = self._find()
        return None if value is None else self._request_of(value)

    def close(self) -> None:
        """Release the connection; an empty queue leaves no key behind.

        Never raises because of the server: what could not be removed now is delivered again.
        """
        with suppress(TransientError, exceptions.RedisError):
            if self._delivered is not None:
                self._remove_delivered()
        self._client.connection_pool.disconnect()

    def __len__(self) -> int:
        """Return the last known number. The server is asked only if a push had no reply.

        Raises:
            LookupError: as ``pop`` does; whatever else is wrong is left for ``pop`` to report.
        """
        if self._uncertain:
            with suppress(TransientError, exceptions.RedisError, WrongStorageError):
                self._look()
        return self._length

    def _find(self) -> bytes | None:
        """Return the value of the next request."""
        try:
            return self._look()
        except TransientError:
            return None

    def _look(self) -> bytes | None:
        with temporary_problems():
            self._remove_delivered()
            count = self._client.llen(self._key) - len(self._aside)
            first: list[bytes] = self._client.lrange(self._key, 0, len(self._aside))
        value = next((each for each in first if each not in self._aside), None)
        self._expect_own(value)
        missing, self._length, self._uncertain = self._length - count, count, False
        if missing > 0:
            raise LookupError(f"{missing} requests have vanished from {self._key!r}")
        return value

    def _remove_delivered(self) -> None:
        if self._delivered is None:
            self._client.ltrim(self._key, 0, -1)  # removes nothing, but fails where nothing could be removed later
        else:
            self._client.lrem(self._key, 1, self._delivered)  # searches from the beginning, where it is
            self._delivered = None

    def _store(self, value: bytes) -> None:
        self._client.rpush(self._key, value)  # at the end; the next one is the first of the list


class LifoRedisQueue(FifoRedisQueue):
    """The request that was pushed last is popped first."""

    _signature: ClassVar[bytes] = b"LIFO request "

    def _store(self, value: bytes) -> None:
        self._client.lpush(self._key, value)
