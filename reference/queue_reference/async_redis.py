"""An asynchronous queue for qCrawl that keeps requests in a Redis server, where several crawlers may share them.

Everything that belongs together happens in one script on the server, so that no other crawler comes between. A ``get`` that is
cancelled while the server answers gives its request back. What no server can know is that a crawler has died with a request
in its hands: that one is lost.

Each request has an entry in an index, sorted by urgency and then by age, its bytes in a hash, and, if it has a time to live,
the end of that in a second index.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

from qcrawl.core.request import Request
from qcrawl.utils.fingerprint import RequestFingerprinter
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from queue_reference.async_queues import AsyncQueue, checked_priority, encoded

POLL = 0.02
"""Seconds between two looks for what other crawlers have put."""

# KEYS: index, requests, ends, fingerprints, counter.
_FORGET_OLD = """
for _, old in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', ARGV[1])) do
    redis.call('ZREM', KEYS[1], old)
    redis.call('ZREM', KEYS[3], old)
    redis.call('HDEL', KEYS[2], old)
end
"""

_PUT = (
    _FORGET_OLD
    + """
local urgency, data, limit, finish, fingerprint, update = ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7]
if fingerprint ~= '' then
    local known = redis.call('HGET', KEYS[4], fingerprint)
    local there = known and redis.call('ZSCORE', KEYS[1], known)
    if there then
        if update == '1' and tonumber(urgency) < tonumber(there) then
            redis.call('ZADD', KEYS[1], urgency, known)
        end
        return 0
    end
end
if limit > 0 and redis.call('ZCARD', KEYS[1]) >= limit then
    return -1
end
local entry = string.format('%016d', redis.call('INCR', KEYS[5]))
redis.call('HSET', KEYS[2], entry, data)
redis.call('ZADD', KEYS[1], urgency, entry)
if finish ~= '' then
    redis.call('ZADD', KEYS[3], finish, entry)
end
if fingerprint ~= '' then
    redis.call('HSET', KEYS[4], fingerprint, entry)
end
return 1
"""
)

_GET = (
    _FORGET_OLD
    + """
while true do
    local first = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
    if not first[1] then
        return false
    end
    local data = redis.call('HGET', KEYS[2], first[1])
    local finish = redis.call('ZSCORE', KEYS[3], first[1])
    redis.call('ZREM', KEYS[1], first[1])
    redis.call('ZREM', KEYS[3], first[1])
    redis.call('HDEL', KEYS[2], first[1])
    if data then
        return {first[1], first[2], data, finish or ''}
    end
end
"""
)

_GIVE_BACK = """
redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
if ARGV[4] ~= '' then
    redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
end
"""

_SIZE = _FORGET_OLD + "return redis.call('ZCARD', KEYS[1])"


class RedisQueue(AsyncQueue):
    """Requests in a Redis server.

    Args:
        host: where the server is.
        port: its port.
        namespace: begins every key; queues of equal namespaces are one queue.
        dedupe: a request that is queued already is not stored again.
        update_priority: but it gets a better priority, if the second one has that.
        item_ttl: seconds after which a request is forgotten; the clocks of the crawlers must agree.
        maxsize: how many requests it holds at most; 0 is unlimited.

    Every method raises an error of redis-py if the server does not answer; then the request of a put may be stored or not.
    """

    _suffixes: ClassVar[tuple[str, ...]] = ("index", "requests", "ends", "fingerprints", "counter")

    def __init__(
        self,
        host: str = "localhost",
        port: int | str = 6379,
        namespace: str = "qcrawl",
        *,
        dedupe: bool = False,
        update_priority: bool = False,
        item_ttl: float | None = None,
        maxsize: int = 0,
    ) -> None:
        super().__init__(maxsize)
        self._client: Any = Redis(  # Any: to the annotations of redis-py, values are text
            host=host,
            port=int(port),
            socket_timeout=1.0,
            socket_connect_timeout=1.0,
            retry=Retry(NoBackoff(), 0),  # by default, redis-py tries again for seconds
        )
        self._keys = [f"{namespace}:{suffix}" for suffix in self._suffixes]
        self._fingerprinter = RequestFingerprinter() if dedupe else None
        self._update_priority = update_priority
        self._item_ttl = item_ttl
        self._asking = 0  # questions without an answer
        self._releasing = asyncio.Lock()  # nothing may be asked meanwhile
        self._returns: set[asyncio.Task[Any]] = set()  # requests on their way back

    async def put(self, request: Request, priority: int = 0) -> bool | None:
        """Store a request; on a closed queue, do nothing.

        Returns:
            With ``dedupe``, whether it was stored; otherwise nothing.

        Raises:
            asyncio.QueueFull: if there is no room.
            TypeError: if the priority is no int.
            ValueError: if the request cannot be stored.
        """
        if self._closed:
            return None
        urgency, data = -checked_priority(priority), encoded(request)
        finish = "" if self._item_ttl is None else time.time() + self._item_ttl
        fingerprint = self._fingerprinter.fingerprint_bytes(request) if self._fingerprinter else ""
        update = int(self._update_priority)
        stored = await self._run(_PUT, time.time(), urgency, data, self._maxsize, finish, fingerprint, update)
        if stored < 0:
            raise asyncio.QueueFull
        self._arrival.set()
        return bool(stored) if self._fingerprinter else None

    async def get(self, timeout: float | None = None) -> Request:
        """Wait for a request and return it.

        Args:
            timeout: seconds to wait at most; with 0 this only looks once.

        Raises:
            asyncio.CancelledError: if the queue is closed and empty.
            asyncio.QueueEmpty: if the time is over.
            RuntimeError: if it cannot be decoded; the next call gets the next request.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        while (found := await self._take()) is None:
            if self._closed:
                raise asyncio.CancelledError
            if deadline is not None and time.monotonic() >= deadline:
                raise asyncio.QueueEmpty
            self._arrival.clear()
            try:
                await asyncio.wait_for(self._arrival.wait(), POLL)
            except TimeoutError:
                continue
        try:
            return Request.from_bytes(found[2])
        except Exception as error:
            raise RuntimeError("a request could not be decoded") from error

    async def size(self) -> int:
        """Return the number of requests."""
        size: int = await self._run(_SIZE, time.time())
        return size

    async def clear(self) -> None:
        """Remove all requests, and forget which were there."""
        await self._returned()
        await self._ask(lambda: self._client.delete(*self._keys))

    async def close(self) -> None:
        """Let nothing in any more, and release the connections; what is left can still be got, now or by others."""
        self._closed = True
        self._arrival.set()
        await self._returned()
        await self._release_if_closed()

    async def _take(self) -> list[bytes] | None:
        """Take the next request out; if that is cancelled, it is given back."""
        await self._returned()
        taking = asyncio.create_task(self._run(_GET, time.time()))
        try:
            found: list[bytes] | None = await asyncio.shield(taking)
        except asyncio.CancelledError:
            giving = asyncio.create_task(self._give_back(taking))
            self._returns.add(giving)
            giving.add_done_callback(self._returns.discard)
            raise
        return found

    async def _give_back(self, taking: asyncio.Task[Any]) -> None:
        found = await taking
        if found is not None:
            entry, urgency, data, finish = found
            await self._run(_GIVE_BACK, entry, urgency, data, finish)
            self._arrival.set()

    async def _returned(self) -> None:
        """Wait for the requests that are on their way back."""
        if self._returns:
            await asyncio.gather(*self._returns, return_exceptions=True)

    async def _run(self, script: str, *arguments: object) -> Any:
        if script == _SIZE:
            await self._returned()
        return await self._ask(lambda: self._client.eval(script, len(self._keys), *self._keys, *arguments))

    async def _ask(self, question: Callable[[], Awaitable[Any]]) -> Any:
        self._asking += 1
        try:
            async with self._releasing:
                pass
            return await question()
        finally:
            self._asking -= 1
            await self._release_if_closed()

    async def _release_if_closed(self) -> None:
        async with self._releasing:
            if self._closed and not self._asking:
                await self._client.connection_pool.disconnect()
