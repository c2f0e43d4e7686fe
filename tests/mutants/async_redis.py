"""Wrong asynchronous queues that keep requests in a Redis server."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import ClassVar

from redis import exceptions

import mutants
from queue_reference import async_redis
from queue_reference.async_redis import RedisQueue

REDIS = "queue_reference.async_redis.RedisQueue"

mutant = partial(mutants.mutant, control=REDIS, server="redis", settings={"host": "{host}", "port": "{port}"})


@mutant(fails="aqueue.redis.namespace", may_fail="aqueue.put.accept")
class KnowsOneNamespace(RedisQueue):
    """It has one index for all namespaces."""

    def __init__(self, namespace="qcrawl", **options):
        super().__init__(namespace="qcrawl", **options)


@mutant(fails="aqueue.redis.shared", claims={"shared": "yes"})
class RepeatsForOthers(RedisQueue):
    """It returns what another crawler got last once more."""

    last: ClassVar = {}

    async def get(self, timeout=None):
        namespace = self._keys[0]
        if self.last.get(namespace, (self,))[0] is not self:
            return self.last.pop(namespace)[1]
        request = await super().get(timeout)
        if not self._closed:
            self.last[namespace] = self, request
        return request

    async def close(self):
        self.last.pop(self._keys[0], None)
        await super().close()


@mutant(fails=("aqueue.redis.shared", "aqueue.shared-visible"), claims={"shared": "yes"})
class HearsItselfOnly(RedisQueue):
    """A get that waits looks again only when the same object puts."""

    async def get(self, timeout=None):
        while not self._closed and timeout is None and not await self.size():
            await self._something_arrives()
        return await super().get(timeout)


@mutant(fails="aqueue.redis.namespace", hint="Clear the keys")
class ClearsWhatBeginsAlike(RedisQueue):
    """Its clear removes all keys that begin like its own."""

    async def clear(self):
        await super().clear()
        for key in await self._client.keys(self._keys[0].removesuffix(":index") + "*"):
            await self._client.delete(key)


@mutant(fails="aqueue.persist.reopen")
class ForgetsInAnHour(RedisQueue):
    """What waits lives for an hour from the last put on, though nobody asked for that."""

    def __init__(self, host="localhost", port=6379, namespace="qcrawl", *, maxsize=0):
        super().__init__(host, port, namespace, maxsize=maxsize)

    async def put(self, request, priority=0):
        stored = await super().put(request, priority)
        if not self._closed:
            await self._client.expire(self._keys[0], 3600)
        return stored


@mutant(fails="aqueue.redis.dedupe")
class ComparesURLs(RedisQueue):
    """Two requests are one if their URLs are."""

    async def put(self, request, priority=0):
        if self._fingerprinter:
            self._fingerprinter.fingerprint_bytes = lambda request: request.url
        return await super().put(request, priority)


@mutant(fails="aqueue.put.failed-no-trace")
class KnowsWhatItRefused(RedisQueue):
    """With a bound, what it refused is a duplicate from then on."""

    refused = ()

    async def put(self, request, priority=0):
        if self._fingerprinter and request in self.refused:
            return False
        try:
            return await super().put(request, priority)
        except asyncio.QueueFull:
            self.refused = [*self.refused, request]
            raise


@mutant(fails="aqueue.redis.timeout")
class LeavesAGetter(RedisQueue):
    """A get whose time is over goes on, and takes a request for nobody."""

    async def get(self, timeout=None):
        if not timeout:
            return await super().get(timeout)
        getting = asyncio.ensure_future(super().get())
        done, _ = await asyncio.wait([getting], timeout=timeout)
        if not done:
            raise asyncio.QueueEmpty
        return await getting


@mutant(fails="aqueue.redis.timeout")
class WaitsForever(RedisQueue):
    """It takes a time-out of 0 for none."""

    async def get(self, timeout=None):
        return await super().get(timeout or None)


@mutant(fails="aqueue.redis.outage", hint="Let the exception of the client")
class HidesOutages(RedisQueue):
    """Its size is 0 while the server is away."""

    async def size(self):
        try:
            return await super().size()
        except exceptions.ConnectionError:
            return 0


@mutant(fails="aqueue.redis.outage", hint="Let a client not repeat")
class PutsOnceMore(RedisQueue):
    """It puts once more where no reply came, as a client does that tries again by itself."""

    async def put(self, request, priority=0):
        try:
            return await super().put(request, priority)
        except exceptions.ConnectionError:
            return await super().put(request, priority)


@mutant(fails="aqueue.redis.orphans")
class TrustsItsIndex(RedisQueue):
    """It expects a request for each entry of its index."""

    async def _run(self, script, *arguments):
        if script == async_redis._GET:
            script = script.replace("if data then", "if true then")
        return await super()._run(script, *arguments)


@mutant(fails="aqueue.close.releases")
class LeavesItsConnection(RedisQueue):
    """Its close leaves the connection open."""

    async def _release_if_closed(self):
        pass
