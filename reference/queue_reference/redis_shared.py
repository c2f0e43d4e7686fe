"""A downstream queue on a Redis server that several processes use at the same time, and that loses nothing if one of them dies.

Three things must not happen: that two processes get one request, that a request goes with the process that had just taken it,
and that a process does not see what another one pushed. So:

- ``pop`` moves a request from the common list to a list of this consumer's own, by one atomic command. It is removed from there
  by the next ``pop``, or by ``close``: until then the crawl may not have got it, or may have died with it.
- A key that expires says that a consumer is alive; each operation renews it, in one transaction with what it does. Whoever finds
  nothing to pop gives back what consumers have taken whose key has expired.
- ``len()`` asks the server. It counts what waits and what others have taken and not confirmed, because that may come back.

A lost reply costs nothing and doubles nothing: what was moved without the knowledge of this consumer is in its own list, and
comes next. A request that a dead process had popped last comes once more, after the lease. One that cannot be rebuilt stays in
the list of whoever took it, who passes it over and gives it back in the end: each process meets it once.

The price: each operation is a transaction, which a server that is out of memory refuses. While another process works on the last
request, ``pop`` returns ``None`` although ``len()`` is 1, so a crawl ends no sooner than its slowest process. A process that does
nothing for longer than the lease is taken for dead, and its last request goes to another one as well: make the lease longer than
the longest pause between two operations. What is given back goes to the front, out of turn. There is no ``peek``: what it showed
could be another one's a moment later. The server must be Redis 6.2 or newer. For the rest see ``redis``.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import uuid4

from redis import exceptions

from queue_conformance import TransientError
from queue_reference.redis import RedisQueue, temporary_problems

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

Command = tuple[str | bytes | int, ...]


class SharedFifoRedisQueue(RedisQueue):
    """The request that was pushed first is popped first, by whichever process asks next.

    Settings:
        REDIS_LEASE: after how many seconds without an operation a process is taken for dead, by default 60. The others are those
            of :class:`~queue_reference.redis.RedisQueue`.

    Raises:
        ValueError: if a setting makes no sense.
        WrongStorageError: if the list was written by another class.
        redis.RedisError: if the server does not answer or refuses, or the key does not hold a list.
    """

    _signature: ClassVar[bytes] = b"shared FIFO request "

    def __init__(self, crawler: Crawler, key: str) -> None:
        lease = crawler.settings.getfloat("REDIS_LEASE", 60.0)
        if not 0.001 <= lease < float("inf"):
            raise ValueError(f"REDIS_LEASE must be a positive number of seconds, not {lease!r}")
        self._lease = lease
        self._consumer = uuid4().hex.encode()
        self._known = {self._consumer}  # the consumers, as far as they are known
        self._delivered: bytes | None = None  # the value that was popped last, until its removal is confirmed
        self._aside: set[bytes] = set()  # values that cannot be rebuilt
        self._holds = False  # whether the own list may hold requests that were neither delivered nor set aside
        self._length = 0  # the last known
        self._uncertain = False  # whether there may be more, because a push had no reply
        self._next_look = 0.0  # when to look for dead consumers though there is something to pop
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
            self._run(("RPUSH", self._key, value))
        except TransientError:
            self._uncertain = True
            raise
        self._length += 1

    def pop(self) -> Request | None:
        """Take out the next request; ``None`` if there is none for this process now, or the server does not answer.

        Raises:
            Exception: if it cannot be rebuilt; it is set aside, and the next run tries it again.
            redis.RedisError: if the server refuses.
        """
        try:
            value = self._next()
            if self._uncertain:  # or else a request that nobody counted would be counted out
                self._count()
        except TransientError:
            return None
        if value is None:
            return None
        self._length = max(0, self._length - 1)
        try:
            request = self._request_of(value)
        except Exception:
            self._set_aside(value)
            raise
        self._deliver(value)
        return request

    def close(self) -> None:
        """Give back what is not confirmed, and release the connection; an empty queue leaves no key behind.

        Never raises because of the server: what could not be given back now is when the lease has run out.
        """
        with suppress(TransientError, exceptions.RedisError):
            count = self._run(*self._confirmation(), ("LLEN", self._taken(self._consumer)))[-1]
            self._delivered = None
            with temporary_problems(), self._client.pipeline() as pipeline:
                self._give_back(pipeline, self._consumer, count)
        self._client.connection_pool.disconnect()

    def __len__(self) -> int:
        """Return how many requests are stored, or the last known number if the server does not tell."""
        with suppress(TransientError, exceptions.RedisError):
            self._count()
        return self._length

    # --- Taking ------------------------------------------------------------------------------------------------------

    def _next(self) -> bytes | None:
        """Return the next value, which is then in the own list."""
        if time.monotonic() >= self._next_look:
            self._recover()
        value = self._take()
        if value is None and self._recover():
            value = self._take()
        self._expect_own(value)
        return value

    def _take(self) -> bytes | None:
        """Confirm what was delivered, and return the first value of the own list; move one there if it holds none."""
        taken = self._taken(self._consumer)
        moves: list[Command] = [] if self._holds else [("LMOVE", self._key, taken, "LEFT", "RIGHT")]
        held, self._holds = self._holds, True  # until a reply says what is in the list
        first: list[bytes] = self._run(*self._confirmation(), *moves, ("LRANGE", taken, 0, len(self._aside)))[-1]
        value = next((each for each in first if each not in self._aside), None)
        self._delivered, self._holds = None, value is not None
        return self._take() if held and value is None else value

    def _deliver(self, value: bytes) -> None:
        """From now on a value is the caller's, until the next operation confirms that."""
        self._delivered, self._holds = value, False

    def _set_aside(self, value: bytes) -> None:
        """From now on a value is passed over."""
        self._aside.add(value)
        self._holds = False

    def _confirmation(self) -> list[Command]:
        """Return what removes the delivered value; it does no harm to do that twice."""
        return [] if self._delivered is None else [("LREM", self._taken(self._consumer), 1, self._delivered)]

    def _recover(self) -> bool:
        """Give back what dead consumers have taken; return whether there were any."""
        self._next_look = time.monotonic() + self._lease
        found = False
        with temporary_problems():
            for consumer in self._client.smembers(self._consumers) - {self._consumer}:
                with self._client.pipeline() as pipeline:
                    pipeline.watch(self._alive(consumer))  # should it come to life meanwhile, nothing is done
                    if not pipeline.exists(self._alive(consumer)):
                        count = pipeline.llen(self._taken(consumer))
                        pipeline.multi()
                        with suppress(exceptions.WatchError):
                            self._give_back(pipeline, consumer, count)
                        found = True
        return found

    def _give_back(self, pipeline: Any, consumer: bytes, count: int) -> None:
        """Move what a consumer has taken to the front of the common list, and forget the consumer."""
        for _ in range(count):
            pipeline.lmove(self._taken(consumer), self._key, "RIGHT", "LEFT")
        pipeline.srem(self._consumers, consumer)
        pipeline.delete(self._alive(consumer))
        pipeline.execute()

    # --- The server --------------------------------------------------------------------------------------------------

    @property
    def _consumers(self) -> bytes:
        return self._key + b":consumers"

    def _taken(self, consumer: bytes) -> bytes:
        return self._key + b":taken:" + consumer

    def _alive(self, consumer: bytes) -> bytes:
        return self._key + b":alive:" + consumer

    def _run(self, *commands: Command) -> list[Any]:
        """Run commands in one transaction, all or none, which also says that this consumer is alive; return their results."""
        with temporary_problems(), self._client.pipeline() as pipeline:
            pipeline.set(self._alive(self._consumer), b"", px=max(1, round(self._lease * 1000)))
            pipeline.sadd(self._consumers, self._consumer)
            for command in commands:
                pipeline.execute_command(*command)
            results: list[Any] = pipeline.execute()
        return results[2:]

    def _look(self) -> bytes | None:
        with temporary_problems():
            value: bytes | None = self._client.lindex(self._key, 0)
        self._expect_own(value)
        self._count()
        return value

    def _count(self) -> None:
        """Bring the length up to date; count again if there are consumers that were not known."""
        while True:
            counted = self._known | {self._consumer}
            lists = [self._key, *map(self._taken, counted)]
            uncounted = [*self._aside, *([] if self._delivered is None else [self._delivered])]
            self._known, *found = self._run(
                ("SMEMBERS", self._consumers),
                *(("LLEN", name) for name in lists),
                *(("LPOS", self._taken(self._consumer), value) for value in uncounted),  # those that are still there
            )
            counts, places = found[: len(lists)], found[len(lists) :]
            self._length, self._uncertain = sum(counts) - len(places) + places.count(None), False
            if self._known <= counted:
                return
