"""Wrong asynchronous schedulers that treat a request otherwise because of one of its fields.

What else each of them fails depends on the field, so `test_async_fields` demands the rule that fits.
"""

from __future__ import annotations

from mutants.async_fields import FIELDS, Picky, made_for
from queue_reference.async_scheduler import Scheduler


class PickyScheduler(Scheduler):
    """A right scheduler that tells requests with a field from plain ones."""

    field = ""
    is_plain = Picky.is_plain


class Drops(PickyScheduler):
    """It drops what has the field."""

    fails = "ascheduler.get.no-lost-wakeup"

    async def add(self, request):
        if isinstance(request, str) or self.is_plain(request):
            await super().add(request)


class Reorders(PickyScheduler):
    """It hands out what has the field before what is more urgent."""

    fails = "ascheduler.get.order"

    async def _store(self, request):
        if self.is_plain(request):
            return await super()._store(request)
        await self.queue.put(request, priority=10**6)
        self._tell()
        return True


class Doubles(PickyScheduler):
    """It hands out what has the field twice."""

    fails = "ascheduler.add.dedupe"

    async def add(self, request):
        await super().add(request)
        if not isinstance(request, str) and not self.is_plain(request) and not request.meta.get("retry_count"):
            again = request.copy()
            again.meta["retry_count"] = 1
            await super().add(again)


class Strips(PickyScheduler):
    """It hands out what has the field without it."""

    fails = "ascheduler.add.forms"

    async def get(self):
        request = await super().get()
        if self.field != "query" and not self.is_plain(request):
            setattr(request, self.field, getattr(type(request)(request.url), self.field))
        return request


for way in (Drops, Reorders, Doubles, Strips):
    for field in FIELDS:
        made = made_for(way, field)
        globals()[made.__name__] = made
