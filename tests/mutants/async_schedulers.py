"""Wrong asynchronous schedulers."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, OrderedDict
from contextlib import suppress
from dataclasses import fields
from types import SimpleNamespace

from qcrawl.core.request import Request

from mutants import mutant
from queue_reference.async_scheduler import RequestFingerprinter, Scheduler

FOREVER = 1e9


@mutant(fails="ascheduler.ctor")
class TakesItsQueueFirst(Scheduler):
    """It takes both parts by their places, and calls the second one otherwise."""

    def __init__(self, queue, hasher):
        super().__init__(queue, hasher)


@mutant(fails="ascheduler.ctor.none")
class ComputesItsOwnFingerprints(Scheduler):
    """It takes a fingerprinter of its own if it gets none."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter or RequestFingerprinter())


# --- add -------------------------------------------------------------------------------------------------------------


@mutant(fails="ascheduler.add.forms")
class HurriesUrls(Scheduler):
    """It gives URLs priority 1."""

    async def add(self, request):
        await super().add(Request(request, priority=1) if isinstance(request, str) else request)


@mutant(fails="ascheduler.add.forms")
class HandsOutItsOwnRequests(Scheduler):
    """Its consumers get a bare object with the fields of the request."""

    async def get(self):
        request = await super().get()
        return SimpleNamespace(**{field.name: getattr(request, field.name) for field in fields(request)})


class _WithPriority(RequestFingerprinter):
    def fingerprint_bytes(self, request):
        return super().fingerprint_bytes(request) + str(request.priority).encode()


@mutant(fails="ascheduler.add.dedupe")
class PriorityMakesAnother(Scheduler):
    """It takes a request with another priority for another request."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter and _WithPriority())


class KnowsParts(Scheduler):
    """It asks its fingerprinter about what is got alone, and knows what is posted by a part of it."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self._posted = set()

    def part_of(self, request):
        raise NotImplementedError

    async def add(self, request):
        if not isinstance(request, Request) or request.method != "POST" or self._closed:
            await super().add(request)
        elif (part := self.part_of(request)) not in self._posted or request.meta.get("retry_count"):
            await super().add(request)
            self._posted.add(part)


@mutant(fails="afingerprint.parts", control="queue_reference.async_scheduler.Scheduler")
class KnowsFormsByTheirUrl(KnowsParts):
    """It asks its fingerprinter about what is got alone, and knows what is posted by its URL."""

    def part_of(self, request):
        return request.url


@mutant(fails="afingerprint.parts", control="queue_reference.async_scheduler.Scheduler")
class KnowsFormsByTheirBeginning(KnowsParts):
    """It knows what is posted by its URL and the first 256 bytes of the body."""

    def part_of(self, request):
        return request.url, (request.body or b"")[:256]


@mutant(fails="afingerprint.parts", control="queue_reference.async_scheduler.Scheduler")
class KnowsFormsByTheirEnd(KnowsParts):
    """It knows what is posted by its URL and the last 256 bytes of the body."""

    def part_of(self, request):
        return request.url, (request.body or b"")[-256:]


@mutant(fails="ascheduler.add.dedupe")
class ForgetsBetween(Scheduler):
    """It looks for a fingerprint and remembers it in two steps, so two adds at one time both pass."""

    async def add(self, request):
        request = Request(request) if isinstance(request, str) else request
        fingerprint = self.fingerprinter.fingerprint_bytes(request)
        is_new = fingerprint not in self.seen
        await self.queue.size()
        if is_new:
            self.seen.discard(fingerprint)
        await super().add(request)


class _Latest(OrderedDict):
    def add(self, fingerprint):
        self[fingerprint] = None
        if len(self) > 5000:
            self.popitem(last=False)

    def discard(self, fingerprint):
        self.pop(fingerprint, None)


@mutant(fails="ascheduler.add.dedupe")
class RemembersTheLatest(Scheduler):
    """It knows the last five thousand fingerprints."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.seen = _Latest()


@mutant(fails="ascheduler.add.dedupe")
class RemembersFewHosts(Scheduler):
    """It knows the fingerprints of the last two hundred hosts."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.hosts = {}

    async def add(self, request):
        request = Request(request) if isinstance(request, str) else request
        host = request.url.split("/")[2]
        self.hosts[host] = {*self.hosts.pop(host, ()), self.fingerprinter.fingerprint_bytes(request)}
        if len(self.hosts) > 200:
            self.seen -= self.hosts.pop(next(iter(self.hosts)))
        await super().add(request)


@mutant(fails="ascheduler.add.closed")
class RemembersAfterClose(Scheduler):
    """After close it still remembers what is added."""

    async def add(self, request):
        if self._closed:
            self.seen.add(self.fingerprinter.fingerprint_bytes(Request(request) if isinstance(request, str) else request))
        await super().add(request)


@mutant(fails="ascheduler.add.closed")
class TellsOfWhatComesLate(Scheduler):
    """After close it says which URL it ignores, and takes what is added for a request."""

    async def add(self, request):
        if self._closed:
            logging.getLogger(__name__).debug("Ignoring %s", request.url)
        await super().add(request)


@mutant(fails="ascheduler.add.direct")
class AlwaysQueues(Scheduler):
    """It puts every request into the queue."""

    _known_empty = property(lambda self: False, lambda self, value: None)


@mutant(fails="ascheduler.add.direct-fifo", may_fail="ascheduler.get.order")
class ServesTheLatest(Scheduler):
    """It serves the consumer that came last."""

    def _deliver(self, request):
        self._consumers.rotate(1)
        return super()._deliver(request)


@mutant(fails="ascheduler.add.direct-cancel")
class LosesWithTheConsumer(Scheduler):
    """It loses the request of a consumer that is cancelled before it runs."""

    async def get(self):
        try:
            return await super().get()
        except asyncio.CancelledError:
            self._returned.clear()
            raise


@mutant(fails="ascheduler.add.direct-cancel")
class GivesBackIfThereIsRoom(Scheduler):
    """What a cancelled consumer gives back is dropped if the queue is full."""

    async def _next(self):
        while self._returned and not self._closed:
            request = self._returned.pop()
            with suppress(asyncio.QueueFull):
                await self._store(request)
        return await super()._next()


@mutant(fails="ascheduler.get.order", may_fail="ascheduler.add.direct-cancel")
class GivesBackWithoutPriority(Scheduler):
    """What a cancelled consumer gives back goes into the queue as if it had no priority."""

    async def _next(self):
        while self._returned and not self._closed:
            await self.queue.put(self._returned.pop(0), priority=0)
        return await super()._next()


@mutant(fails="ascheduler.add.direct-cancel")
class WaitsForTheDead(Scheduler):
    """It hands on the request of a cancelled consumer, but counts it as being processed, too."""

    async def get(self):
        before = len(self._returned)
        try:
            return await super().get()
        except asyncio.CancelledError:
            self._processed += len(self._returned) > before
            raise


@mutant(fails="ascheduler.add.put-failure")
class SwallowsFailures(Scheduler):
    """It takes a request for stored whatever the queue raises."""

    async def _store(self, request):
        try:
            return await super()._store(request)
        except OSError:
            return True


@mutant(fails="ascheduler.add.put-failure")
class RemembersFailures(Scheduler):
    """It remembers the fingerprint of a request that the queue did not take."""

    async def add(self, request):
        try:
            await super().add(request)
        except OSError:
            self.seen.add(self.fingerprinter.fingerprint_bytes(request))
            raise


@mutant(fails="ascheduler.add.put-failure")
class RemembersCancelledAdds(Scheduler):
    """It remembers the fingerprint of a request whose add was cancelled."""

    async def add(self, request):
        try:
            await super().add(request)
        except asyncio.CancelledError:
            self.seen.add(self.fingerprinter.fingerprint_bytes(Request(request) if isinstance(request, str) else request))
            raise


@mutant(fails="ascheduler.add.put-failure")
class WaitsForCancelledAdds(Scheduler):
    """Its join waits for an add that was cancelled."""

    async def add(self, request):
        try:
            await super().add(request)
        except asyncio.CancelledError:
            self._adding += 1
            raise


@mutant(fails=("ascheduler.add.put-failure", "ascheduler.add.full"), hint="Forget no page")
class ForgetsPagesWithTheirRetries(Scheduler):
    """It forgets the fingerprint of whatever the queue does not take, that of a retry too, which was seen before."""

    async def _store(self, request):
        try:
            return await super()._store(request)
        except (OSError, asyncio.QueueFull):
            self.seen.discard(self.fingerprinter.fingerprint_bytes(request))
            raise


@mutant(fails="ascheduler.add.put-duplicate")
class CountsDuplicates(Scheduler):
    """It counts as being processed what the queue reports as a duplicate."""

    async def _store(self, request):
        stored = await super()._store(request)
        self._processed += not stored
        return stored


@mutant(fails=("ascheduler.add.full", "ascheduler.add.full-signal"), may_fail="ascheduler.add.direct-cancel")
class DropsInSilence(Scheduler):
    """It says nothing when it drops a request."""

    async def _store(self, request):
        try:
            return await super()._store(request)
        except asyncio.QueueFull:
            return False


class _Signals:
    def __init__(self, signals):
        self.signals = signals

    async def send_async(self, name, **values):
        if name != "request_dropped":
            await self.signals.send_async(name, **values)


@mutant(fails="ascheduler.add.full-signal")
class LogsOnly(Scheduler):
    """It logs that it drops a request, and sends no signal."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.signals = _Signals(self.signals)


@mutant(fails="ascheduler.add.full")
class RemembersWhatItDrops(Scheduler):
    """It takes a request that was dropped for seen."""

    async def add(self, request):
        before = set(self.seen)
        await super().add(request)
        if before == self.seen and not self._closed:
            self.seen.add(self.fingerprinter.fingerprint_bytes(Request(request) if isinstance(request, str) else request))


@mutant(fails="ascheduler.join", may_fail="e2e.q.bounded")
class EndsAfterADrop(Scheduler):
    """Its join ends once a request was dropped, whatever is still to do."""

    dropped = False

    async def _store(self, request):
        try:
            return await super()._store(request)
        except asyncio.QueueFull:
            self.dropped = True
            raise

    async def join(self):
        if not self.dropped:
            await super().join()


@mutant(fails="ascheduler.add.full-no-hang", may_fail="ascheduler.add.direct-cancel")
class WaitsForRoom(Scheduler):
    """It waits for room in the queue."""

    async def _store(self, request):
        while self.queue.maxsize() and await self.queue.size() >= self.queue.maxsize():
            await asyncio.sleep(1)
        return await super()._store(request)


@mutant(fails="ascheduler.add.signals")
class AnnouncesDuplicates(Scheduler):
    """It announces what it ignores, too."""

    async def add(self, request):
        before = len(self.seen)
        await super().add(request)
        if len(self.seen) == before and isinstance(request, Request) and not self._closed:
            await self.signals.send_async("request_scheduled", request=request)


@mutant(fails="ascheduler.retry")
class GivesNoSecondChance(Scheduler):
    """It takes a retry for a duplicate."""

    async def add(self, request):
        if isinstance(request, Request):
            request.meta.pop("retry_count", None)
        await super().add(request)


@mutant(fails="ascheduler.retry")
class GivesNoThirdChance(Scheduler):
    """It takes the second retry of a request for a duplicate."""

    chances = 1

    async def add(self, request):
        if isinstance(request, Request) and request.meta.get("retry_count", 0) > self.chances:
            request.meta.pop("retry_count")
        await super().add(request)


@mutant(fails="ascheduler.retry")
class GivesUpAfterThree(GivesNoThirdChance):
    """It takes the fourth retry of a request for a duplicate, whatever the middleware allows."""

    chances = 3


# --- get -------------------------------------------------------------------------------------------------------------


@mutant(fails="ascheduler.get.order")
class FirstComeFirstServed(Scheduler):
    """It does not tell the queue the priority."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        put = queue.put
        queue.put = lambda request, priority=0: put(request)


@mutant(fails="ascheduler.get.waits")
class GivesUp(Scheduler):
    """Its consumers are cancelled when nothing has come for a second."""

    async def get(self):
        try:
            async with asyncio.timeout(1):
                return await super().get()
        except TimeoutError:
            raise asyncio.CancelledError from None


@mutant(fails="ascheduler.get.no-lost-wakeup")
class LooksBeforeItListens(Scheduler):
    """What is added while it looks into the queue goes unnoticed."""

    look_again = FOREVER

    async def _next(self):
        found = await super()._next()
        if found is None and not self._closed and not self._returned:
            self._news.clear()
        return found


@mutant(fails="ascheduler.fault.recovers")
class EndsWithAnOutage(Scheduler):
    """The task that feeds its consumers ends when the queue cannot be reached."""

    async def _next(self):
        try:
            return await super()._next()
        except ConnectionError:
            raise asyncio.CancelledError from None


@mutant(fails="ascheduler.get.no-lost-wakeup")
class FreesTheLastSlot(Scheduler):
    """It hands out 16 requests of a host at one time, and its task_done frees a slot of the host that was got last."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.busy, self.last, self.freed = Counter(), "", asyncio.Event()

    async def get(self):
        request = await super().get()
        host = request.url.split("/")[2]
        while self.busy[host] >= 16 and not self._closed:
            self.freed.clear()
            await self.freed.wait()
        self.busy[host] += 1
        self.last = host
        return request

    def task_done(self):
        super().task_done()
        self.busy -= Counter([self.last])
        self.freed.set()


@mutant(fails="ascheduler.get.closed")
class LeavesTheRest(Scheduler):
    """After close it hands out nothing more."""

    async def get(self):
        if self._closed:
            raise asyncio.CancelledError
        return await super().get()


# --- close -----------------------------------------------------------------------------------------------------------


@mutant(fails="ascheduler.close.waiters")
class TellsNobody(Scheduler):
    """Its close does not wake the consumers that wait."""

    look_again = FOREVER

    async def close(self):
        self._closed, before = True, self._closed
        if not before:
            await self.queue.close()
        for news in self._listeners - {self._news}:
            news.set()


@mutant(fails="ascheduler.close.queue")
class LeavesTheQueueOpen(Scheduler):
    """Its close does not close the queue."""

    async def close(self):
        self._closed = True
        self._tell()


@mutant(fails="ascheduler.close.twice")
class ClosesAgain(Scheduler):
    """Every close closes the queue."""

    async def close(self):
        self._closed = True
        await self.queue.close()
        self._tell()


@mutant(fails="ascheduler.close.join")
class WaitsForTheRest(Scheduler):
    """Its join waits for what is left in the queue after close."""

    async def join(self):
        await super().join()
        while not await self._is_empty():
            await asyncio.sleep(1)


@mutant(fails="ascheduler.context")
class SwallowsWhatTheBlockRaises(Scheduler):
    """Its context ends as if nothing had been raised in it."""

    async def __aexit__(self, kind, *exception):
        await super().__aexit__(kind, *exception)
        return kind is not None


@mutant(fails="ascheduler.context")
class LeavesWithoutWaiting(Scheduler):
    """Its context is left while requests are being processed."""

    async def __aexit__(self, *exception):
        await self.close()
        return False
