"""Asynchronous mutants that take what they have handed out for lost after a while, and hand it out again."""

from __future__ import annotations

import asyncio

from mutants import mutant
from queue_reference.async_queues import MemoryQueue
from queue_reference.async_scheduler import Scheduler

PATIENCE = 300


def now():
    return asyncio.get_running_loop().time()


@mutant(fails="aqueue.get.concurrent")
class GetsAgain(MemoryQueue):
    """What it has given last, it gives once more, unless it is asked for more within five minutes."""

    given, until = None, 0.0

    async def get(self):
        if self.given is None or now() < self.until:
            self.given = None
            self.given, self.until = await super().get(), now() + PATIENCE
            return self.given
        again, self.given = self.given, None
        return again


@mutant(fails="ascheduler.get.waits", hint="Hand out a request once")
class HandsOutAgain(Scheduler):
    """A request that is not done within five minutes goes to another consumer, too."""

    given, until = None, 0.0

    async def get(self):
        if self.given is None or now() < self.until:
            self.given = None
            self.given, self.until = await super().get(), now() + PATIENCE
            return self.given
        again, self.given = self.given, None
        return again

    def task_done(self):
        super().task_done()
        self.given = None
