"""Wrong asynchronous schedulers: how they count."""

from __future__ import annotations

import asyncio

from mutants import mutant
from queue_reference.async_scheduler import Scheduler

RIGHT = "queue_reference.async_scheduler.Scheduler"


# --- join and task_done ----------------------------------------------------------------------------------------------


@mutant(fails="ascheduler.join")
class EndsWithTheQueue(Scheduler):
    """Its join ends when the queue is empty."""

    def _busy(self):
        return bool(self._adding)


@mutant(fails="ascheduler.join")
class MissesWhatIsOnItsWay(Scheduler):
    """Its join does not wait for a request that is on its way into the queue."""

    def _busy(self):
        return bool(self._processed or self._taking or self._returned) and not (self._closed and not self._processed)


@mutant(fails="ascheduler.join")
class SharesOneJoin(Scheduler):
    """All who join wait for one task, which ends with the first of them that is cancelled."""

    joining = None

    async def join(self):
        if self.joining is None or self.joining.done():
            self.joining = asyncio.ensure_future(super().join())
        await self.joining


@mutant(fails="ascheduler.join.recovered")
class JoinsWhatItAdded(Scheduler):
    """Its join ends at once if nothing was added."""

    async def _is_empty(self):
        return not self.seen or await super()._is_empty()


class _KnowsItsOwn(Scheduler):
    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.own = set()

    async def _store(self, request):
        stored = await super()._store(request)
        if stored:
            self.own.add(request.url)
        return stored

    def _deliver(self, request):
        delivered = super()._deliver(request)
        if delivered:
            self.own.discard(request.url)
        return delivered


@mutant(fails=("ascheduler.join.shared", "e2e.q.bad-item"), control=RIGHT)
class WaitsForItsOwn(_KnowsItsOwn):
    """Its join waits until it has handed out itself what was added to it, be it taken by others or unreadable."""

    def _busy(self):
        return super()._busy() or bool(self.own and not self._closed)


@mutant(fails="ascheduler.task-done.early", control=RIGHT)
class CountsFromAdd(_KnowsItsOwn):
    """Its task_done accepts requests that were not handed out yet."""

    def task_done(self):
        if self._processed or not self.own:
            super().task_done()


@mutant(fails="ascheduler.task-done.extra")
class ForgivesExtraCalls(Scheduler):
    """Once a request was handed out, its task_done can be called at will."""

    used = False

    def task_done(self):
        if self._processed or not self.used:
            super().task_done()
        self.used = True


@mutant(fails="ascheduler.idle-running")
class StopsWhenDone(Scheduler):
    """Once join has ended after some work it accepts nothing more."""

    finished = False

    async def join(self):
        await super().join()
        self.finished = bool(self.seen)

    async def add(self, request):
        if not self.finished:
            await super().add(request)


# --- Statistics ------------------------------------------------------------------------------------------------------


@mutant(fails="ascheduler.stats.keys")
class HidesWhatItHasSeen(Scheduler):
    """Its stats() lack what was seen."""

    async def stats(self):
        return {name: number for name, number in (await super().stats()).items() if name != "seen"}


@mutant(fails="ascheduler.stats.keys")
class HidesWhatIsPending(Scheduler):
    """Its stats() lack what is being processed."""

    async def stats(self):
        return {name: number for name, number in (await super().stats()).items() if name != "pending"}


@mutant(fails="ascheduler.stats.keys")
class CountsUnderOtherNames(Scheduler):
    """Its stats() have names of their own."""

    async def stats(self):
        return {f"scheduler/{name}": number for name, number in (await super().stats()).items()}


@mutant(fails="ascheduler.stats.pending")
class CountsQueuedAsPending(Scheduler):
    """Its stats() count what is queued as pending, too."""

    async def stats(self):
        stats = await super().stats()
        return stats | {"pending": stats["pending"] + stats["queued"]}


@mutant(fails=("ascheduler.stats.idle", "ascheduler.stats.pending"))
class RestsWhileOthersWork(Scheduler):
    """Its stats() do not count the last request that is being processed."""

    async def stats(self):
        stats = await super().stats()
        return stats | {"pending": max(0, stats["pending"] - 1)}


@mutant(fails="ascheduler.qsize", may_fail="ascheduler.add.put-failure")
class CountsWhatWasHandedOut(Scheduler):
    """Its qsize() counts what is being processed, too."""

    async def qsize(self):
        return await super().qsize() + self._processed
