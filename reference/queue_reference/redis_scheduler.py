"""A scheduler on a Redis server that several crawlers share, and that loses nothing if one of them dies.

A request stays in one sorted set until the crawl is done with it: its response has reached the callback, and what that returned
is stored. Meanwhile a lease says that a crawler has it. Each operation renews the leases of its crawler; the engine asks at least
every five seconds. A lease that runs out is forgotten, and whoever asks next gets the request once more, in its turn.

Every step is one script that the server runs as a whole: to note a fingerprint and store the request, and to look for the first
request without a lease. A reply that is lost costs nothing: what was stored is stored, and what was leased comes again.
What the server does not take is kept, and sent before anything else when it answers again; until then no request is done with.

The price: a crawler that stands still for longer than the lease is taken for dead, and its pages are downloaded twice; and none
ends before the slowest one does. Requests that cannot be serialized stay in the memory of the crawler that made them, and are
downloaded by it. Requests are pickled, so whoever can write to the server can run code in the crawler.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING, Any

from redis import Redis, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry
from scrapy.utils.request import request_from_dict

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler

AWAY = (exceptions.ConnectionError, exceptions.TimeoutError)

STORE = """
local seen, requests, numbers = unpack(KEYS)
local fingerprint, score, data = unpack(ARGV)
if fingerprint ~= '' and redis.call('SADD', seen, fingerprint) == 0 then return 0 end
redis.call('ZADD', requests, score, string.format('%020d', redis.call('INCR', numbers)) .. data)
return 1
"""

TAKE = """
local requests, leases = unpack(KEYS)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', leases, '-inf', now)
for _, request in ipairs(redis.call('ZRANGE', requests, 0, redis.call('ZCARD', leases))) do
  local number = string.sub(request, 1, 20)
  if not redis.call('ZSCORE', leases, number) then
    redis.call('ZADD', leases, now + ARGV[1], number)
    return request
  end
end
"""

RENEW = """
local requests, leases = unpack(KEYS)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = tonumber(ARGV[2])
for i = 3, #ARGV do
  if i <= held + 2 then
    redis.call('ZADD', leases, 'XX', now + ARGV[1], string.sub(ARGV[i], 1, 20))
  else
    redis.call('ZREM', requests, ARGV[i])
    redis.call('ZREM', leases, string.sub(ARGV[i], 1, 20))
  end
end
"""


class SharedRedisScheduler:
    """Requests of higher priority come first, of equal ones the oldest, to whichever crawler asks next.

    Settings:
        REDIS_URL: the server, by default ``redis://localhost:6379/0``.
        REDIS_TIMEOUT: how many seconds to wait for the server, by default 1.
        REDIS_LEASE: after how many seconds without an operation a crawler is taken for dead, by default 60.

    Args:
        crawler: has the settings, and the engine that knows which requests it is done with.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._lease = round(1000 * settings.getfloat("REDIS_LEASE", 60.0))
        timeout = settings.getfloat("REDIS_TIMEOUT", 1.0)
        self._client: Any = Redis.from_url(
            settings.get("REDIS_URL", "redis://localhost:6379/0"),
            socket_timeout=timeout,
            socket_connect_timeout=timeout,
            retry=Retry(NoBackoff(), 0),  # the engine asks again anyway
        )
        self._held: dict[bytes, Request] = {}  # what was returned and is still stored
        self._aside: set[bytes] = set()  # what cannot be rebuilt, and stays leased
        self._unsent: list[tuple[bytes, int, bytes]] = []  # what the server has not taken yet
        self._volatile: list[tuple[int, int, Request]] = []  # what cannot be serialized
        self._numbers = count()
        self._seen: set[bytes] = set()  # fingerprints of these
        self._length = 0  # the last known

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the scheduler of a crawler."""
        return cls(crawler)

    def open(self, spider: Spider) -> None:
        """Join the crawl of all spiders of this name.

        Raises:
            redis.RedisError: if the server does not answer, or refuses.
        """
        self._spider = spider
        self._client.ping()

    def close(self, reason: str) -> None:
        """Release the connection; what is not done stays stored, for other crawlers and for the next crawl."""
        with suppress(*AWAY):  # then what was done comes once more when its lease has run out
            self._renew()
        self._client.close()

    def enqueue_request(self, request: Request) -> bool:
        """Store a request; false if it is a duplicate. While the server does not answer, the request is kept.

        Raises:
            redis.RedisError: if the server refuses.
        """
        fingerprint = b"" if request.dont_filter else self._fingerprint(request)
        if fingerprint in self._seen:
            return False
        try:
            data = pickle.dumps(request.to_dict(spider=self._spider))
            self._rebuilt(data)
        except Exception:  # whatever the objects in a request raise
            return self._keep(request, fingerprint)
        self._unsent.append((fingerprint, -request.priority, data))
        try:
            return self._send()
        except AWAY:
            return True
        except exceptions.RedisError:
            self._unsent.pop()
            raise

    def next_request(self) -> Request | None:
        """Return the next request; ``None`` if there is none for this crawler now, or the server does not answer.

        Raises:
            Exception: if it cannot be rebuilt; it is set aside, and the next run tries it again.
        """
        try:
            self._renew()
            found = self._client.eval(TAKE, 2, self._key("requests"), self._key("leases"), self._lease)
            if found is None:
                return self._next_volatile()
        except AWAY:
            return None
        try:
            self._held[found] = self._rebuilt(found[20:])
        except Exception:
            self._aside.add(found)
            raise
        return self._held[found]

    def has_pending_requests(self) -> bool:
        """Whether something is left, for this crawler or for another one."""
        return len(self) > 0

    def __len__(self) -> int:
        """Return how many requests no crawler is done with, or the last known number if the server does not tell."""
        try:
            self._renew()
            self._length = self._client.zcard(self._key("requests")) - len(self._aside)
        except AWAY:
            self._length = max(1, self._length)
        return self._length + len(self._volatile)

    def _send(self) -> bool:
        """Store what the server has not taken yet; return whether the last of it is no duplicate."""
        keys = [self._key(name) for name in ("seen", "requests", "numbers")]
        new = True
        while self._unsent:
            new = bool(self._client.eval(STORE, 3, *keys, *self._unsent[0]))
            del self._unsent[0]
        return new

    def _next_volatile(self) -> Request | None:
        """Return the next request that is kept in memory."""
        if not self._volatile:
            return None
        _, _, request = self._volatile[0]
        if not request.dont_filter:  # from now on it was seen, even if this crawl ends
            self._client.sadd(self._key("seen"), self._fingerprint(request))
        return heappop(self._volatile)[2]

    def _keep(self, request: Request, fingerprint: bytes) -> bool:
        """Keep in memory what cannot be serialized."""
        if fingerprint:
            with suppress(*AWAY):  # or else it may come twice
                if self._client.sismember(self._key("seen"), fingerprint):
                    return False
            self._seen.add(fingerprint)
        heappush(self._volatile, (-request.priority, next(self._numbers), request))
        return True

    def _fingerprint(self, request: Request) -> bytes:
        return self._crawler.request_fingerprinter.fingerprint(request)

    def _rebuilt(self, data: bytes) -> Request:
        return request_from_dict(pickle.loads(data), spider=self._spider)

    def _renew(self) -> None:
        """Remove what the engine is done with, once all that it led to is stored, and renew the leases of what it has."""
        self._send()
        if not self._held and not self._aside:
            return
        engine: Any = self._crawler.engine
        slot = getattr(engine, "_slot", None) or getattr(engine, "slot", None)  # its name until Scrapy 2.13
        working = {id(request) for request in slot.inprogress} if slot else set()
        working_on = [data for data, request in self._held.items() if id(request) in working]
        done = [data for data in self._held if data not in working_on]
        held = [*working_on, *self._aside]
        self._client.eval(RENEW, 2, self._key("requests"), self._key("leases"), self._lease, len(held), *held, *done)
        for data in done:
            del self._held[data]

    def _key(self, name: str) -> str:
        return f"{self._spider.name}:{name}"
