"""Asynchronous mutants that take what they have handed out for lost after a while, and hand it out again."""

from __future__ import annotations

import asyncio

from mutants import mutant
from queue_reference.async_queues import MemoryQueue
from queue_reference.async_scheduler import Scheduler

PATIENCE = 300


def now():
    return asyncio.get_running_loop().time()


class GivesTwice:
    """What was given last is given once more, unless more is asked for within five minutes."""

    given, until = None, 0.0

    async def get(self):
        if self.given is None or now() < self.until:
            self.given = None
            self.given, self.until = await super().get(), now() + PATIENCE
            return self.given
        again, self.given = self.given, None
        return again


@mutant(fails="aqueue.get.concurrent", control="queue_reference.async_queues.MemoryQueue")
class GetsAgain(GivesTwice, MemoryQueue):
    """What it has given last, it gives once more, unless it is asked for more within five minutes."""


@mutant(fails="ascheduler.get.waits", hint="Hand out a request once", control="queue_reference.async_scheduler.Scheduler")
class HandsOutAgain(GivesTwice, Scheduler):
    """A request that is not done within five minutes goes to another consumer, too."""

    def task_done(self):
        super().task_done()
        self.given = None
