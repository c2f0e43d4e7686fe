"""Broken asynchronous queues that keep requests in a Redis server."""

from __future__ import annotations

import asyncio
from functools import partial

from redis import exceptions

from gallery import breaks as broken
from queue_reference import async_redis
from queue_reference.async_redis import RedisQueue

REDIS = "queue_reference.async_redis.RedisQueue"

breaks = partial(broken, right=REDIS, server="redis", settings={"host": "{host}", "port": "{port}"})


@breaks("aqueue.redis.namespace")
class KnowsOneNamespace(RedisQueue):
    """It has one index for all namespaces."""

    def __init__(self, namespace="qcrawl", **options):
        super().__init__(namespace="qcrawl", **options)


@breaks("aqueue.redis.shared", claims={"shared": "yes"})
class LooksBeforeItTakes(RedisQueue):
    """It looks for the first request, and takes it a moment later; another crawler may have done the same."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        self.lock = asyncio.Lock()

    async def _run(self, script, *arguments):
        if script != async_redis._GET:
            return await super()._run(script, *arguments)
        async with self.lock:
            index, requests = self._keys[:2]
            found = await self._ask(self._client.zrange(index, 0, 0, withscores=True))
            if not found:
                return None
            entry, urgency = found[0]
            data = await self._ask(self._client.hget(requests, entry))
            await asyncio.sleep(0.02)
            taken = await super()._run(script, *arguments)
            return taken if data is None else taken and [entry, urgency, data, ""]


@breaks("aqueue.redis.timeout")
class WaitsForever(RedisQueue):
    """It takes a time-out of 0 for none."""

    async def get(self, timeout=None):
        return await super().get(timeout or None)


@breaks("aqueue.redis.outage")
class HidesOutages(RedisQueue):
    """Its size is 0 while the server is away."""

    async def size(self):
        try:
            return await super().size()
        except exceptions.ConnectionError:
            return 0


@breaks("aqueue.redis.orphans")
class TrustsItsIndex(RedisQueue):
    """It expects a request for each entry of its index."""

    async def _run(self, script, *arguments):
        if script == async_redis._GET:
            script = script.replace("if data then", "if true then")
        return await super()._run(script, *arguments)


@breaks("aqueue.close.releases")
class LeavesItsConnection(RedisQueue):
    """Its close leaves the connection open."""

    async def _release_if_closed(self):
        pass
