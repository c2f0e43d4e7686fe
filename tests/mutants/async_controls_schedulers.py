"""Right asynchronous schedulers of kinds that a check might wrongly take for broken."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import deque
from contextlib import suppress

from qcrawl.core.request import Request
from qcrawl.signals import signals_registry

from queue_reference.async_scheduler import RequestFingerprinter, Scheduler

logger = logging.getLogger(__name__)


class Accounts:
    """What these schedulers share: what is seen, and what is being processed."""

    fingerprinter_class = RequestFingerprinter

    def __init__(self, queue=None, fingerprinter=None):
        if not queue or not fingerprinter:
            raise ValueError("queue and fingerprinter, please")
        self.queue, self.fingerprinter = queue, fingerprinter
        self.signals = signals_registry.for_sender(self)
        self.seen, self.row, self.returns = set(), deque(), set()
        self.working = self.moving = 0
        self.closed = False

    async def add(self, request):
        if self.closed:
            return
        request = Request(request) if isinstance(request, str) else request
        fingerprint = self.fingerprinter.fingerprint_bytes(request)
        known = fingerprint in self.seen
        if known and "retry_count" not in request.meta:
            return
        self.seen.add(fingerprint)
        self.moving += 1
        try:
            stored = await self.accept(request)
        except BaseException as error:
            if not known:
                self.seen.discard(fingerprint)
            if not isinstance(error, asyncio.QueueFull):
                raise
            await self.drop(request)
        else:
            if stored:
                await self.signals.send_async("request_scheduled", request=request)
        finally:
            self.moving -= 1
            self.tell()

    async def drop(self, request):
        logger.warning("Queue full, dropping request: %s", request.url)
        await self.signals.send_async("request_dropped", request=request, exception=None)

    async def store(self, request):
        if 0 < self.queue.maxsize() <= await self.queue.size():
            raise asyncio.QueueFull
        return await self.queue.put(request, priority=request.priority) is not False

    def hand(self, request):
        """Give a request to whoever has waited for longest."""
        while self.row:
            if not self.row[0].done():
                self.row.popleft().set_result(request)
                self.working += 1
                return True
            self.row.popleft()
        return False

    def take_back(self, request):
        """Let somebody else have a request that was handed to a consumer which is gone."""
        self.working -= 1
        self.moving += 1
        task = asyncio.ensure_future(self.accept_again(request))
        self.returns.add(task)
        task.add_done_callback(self.taken_back)

    async def accept_again(self, request):
        try:
            await self.accept(request)
        except asyncio.QueueFull:
            await self.drop(request)

    def taken_back(self, task):
        self.returns.discard(task)
        self.moving -= 1
        self.tell()

    def task_done(self):
        if self.working == 0:
            raise ValueError("nothing is being worked on")
        self.working -= 1
        self.tell()

    async def idle(self):
        return not (self.working or self.moving) and (self.closed or not await self.queue.size())

    def tell(self):
        """Say that something has changed."""

    async def qsize(self):
        return await self.queue.size()

    async def stats(self):
        return {
            "queued": await self.qsize(),
            "pending": self.working,
            "seen": len(self.seen),
            "waiting_consumers": sum(not consumer.done() for consumer in self.row),
            "closed": int(self.closed),
        }

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        await self.close()
        await self.join()


class Conditional(Accounts):
    """A condition guards it: whoever waits is woken by every change, and looks whether it is meant."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.changed, self.left = asyncio.Condition(), []

    def tell(self):
        task = asyncio.ensure_future(self.notify())
        self.returns.add(task)
        task.add_done_callback(self.returns.discard)

    async def notify(self):
        async with self.changed:
            self.changed.notify_all()

    async def accept(self, request):
        async with self.changed:
            if self.closed:
                self.left.append(request)
                return True
            if not await self.queue.size() and self.hand(request):
                return True
            return await self.store(request)

    async def get(self):
        place = asyncio.get_running_loop().create_future()
        self.row.append(place)
        try:
            async with self.changed:
                while not place.done():
                    while self.row and self.row[0].done():
                        self.row.popleft()
                    if self.row and self.row[0] is place and await self.first():
                        break
                    if self.closed and not self.left and not await self.queue.size():
                        raise asyncio.CancelledError
                    await self.changed.wait()
            return place.result()
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.take_back(place.result())
            place.cancel()
            raise
        finally:
            self.tell()

    async def first(self):
        """Take a request out of the queue for the first in the row."""
        if self.left:
            return self.hand(self.left.pop(0))
        if not await self.queue.size():
            return False
        self.moving += 1
        try:
            async with asyncio.timeout(5):
                request = await self.queue.get()
        except Exception:
            logger.exception("unreadable, or gone")
            self.tell()
            return False
        finally:
            self.moving -= 1
        if not self.hand(request):
            self.working += 1
            self.take_back(request)
        return True

    async def qsize(self):
        return await self.queue.size() + len(self.left)

    async def join(self):
        async with self.changed:
            while not await self.idle():
                await self.changed.wait()

    async def close(self):
        async with self.changed:
            if not self.closed:
                self.closed = True
                await self.queue.close()
        self.tell()


class Mailbox(Accounts):
    """One task does everything, in the order in which it was asked to."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.letters, self.owner, self.joining, self.left = deque(), None, [], []

    def ask(self, what, request=None):
        answer = asyncio.get_running_loop().create_future()
        self.letters.append((what, request, answer))
        self.tell()
        return answer

    def tell(self):
        if self.owner is None or self.owner.done():
            self.owner = asyncio.get_running_loop().create_task(self.work())

    async def work(self):
        again = True
        while self.letters or again:
            again = False
            while self.letters:
                what, request, answer = self.letters.popleft()
                try:
                    result = await what(request)
                except Exception as error:
                    if not answer.done():
                        answer.set_exception(error)
                else:
                    if not answer.done():
                        answer.set_result(result)
            while any(not place.done() for place in self.row) and (self.left or await self.queue.size()):
                if not await self.serve():
                    again = True
                    break
            while self.closed and self.row and not self.left:
                self.row.popleft().cancel()
            if self.joining and await self.idle():
                for joining in self.joining:
                    if not joining.done():
                        joining.set_result(None)
                self.joining.clear()

    async def serve(self):
        if self.left:
            request = self.left.pop(0)
        else:
            self.moving += 1
            try:
                async with asyncio.timeout(5):
                    request = await self.queue.get()
            except Exception:
                logger.exception("unreadable, or gone")
                return False
            finally:
                self.moving -= 1
        if not self.hand(request):
            await (self.keep if self.closed else self.store)(request)
        return True

    async def keep(self, request):
        self.left.append(request)
        return True

    async def accept(self, request):
        return await self.ask(self.do_accept, request)

    async def do_accept(self, request):
        if self.closed:
            return await self.keep(request)
        if not await self.queue.size() and self.hand(request):
            return True
        return await self.store(request)

    async def get(self):
        place = asyncio.get_running_loop().create_future()
        self.row.append(place)
        self.tell()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.take_back(place.result())
            raise

    async def join(self):
        self.joining.append(asyncio.get_running_loop().create_future())
        joining = self.joining[-1]
        self.tell()
        await joining

    async def close(self):
        await self.ask(self.do_close)

    async def do_close(self, _request):
        if not self.closed:
            self.closed = True
            await self.queue.close()

    async def qsize(self):
        return await self.queue.size() + len(self.left)


class Dispatches(Accounts):
    """Whatever changes starts a dispatcher, unless one is at work: callbacks, locks and short tasks."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.lock, self.again, self.dispatcher, self.news, self.left = asyncio.Lock(), False, None, set(), []

    def tell(self):
        for news in self.news:
            news.set()
        self.again = True
        if self.dispatcher is None:
            self.dispatcher = asyncio.ensure_future(self.dispatch())
            self.dispatcher.add_done_callback(self.dispatched)

    def dispatched(self, _task):
        self.dispatcher = None
        if self.again:
            self.tell()

    async def dispatch(self):
        while self.again:
            self.again = False
            async with self.lock, asyncio.TaskGroup() as group:
                room = sum(not place.done() for place in self.row)
                for _ in range(min(room, len(self.left))):
                    self.hand(self.left.pop(0))
                room = sum(not place.done() for place in self.row)
                for _ in range(min(room, await self.queue.size())):
                    self.moving += 1
                    await group.create_task(self.fetch())
                if self.closed and not self.left and not await self.queue.size():
                    while self.row:
                        self.row.popleft().cancel()

    async def fetch(self):
        try:
            async with asyncio.timeout(5):
                request = await self.queue.get()
            if not self.hand(request):
                self.left.append(request)
        except Exception:
            logger.exception("unreadable, or gone")
        finally:
            self.moving -= 1
            self.again = True

    async def accept(self, request):
        async with self.lock:
            if self.closed:
                self.left.append(request)
                return True
            if not await self.queue.size() and not self.left and self.hand(request):
                return True
            return await self.store(request)

    async def get(self):
        place = asyncio.get_running_loop().create_future()
        self.row.append(place)
        self.tell()
        try:
            return await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.take_back(place.result())
            raise
        finally:
            self.tell()

    async def idle(self):
        return (self.closed or not self.left) and await super().idle()

    async def join(self):
        news = asyncio.Event()
        self.news.add(news)
        try:
            while not await self.idle() or news.is_set():
                await news.wait()
                news.clear()
        finally:
            self.news.discard(news)

    async def close(self):
        async with self.lock:
            if not self.closed:
                self.closed = True
                await self.queue.close()
        self.tell()

    async def qsize(self):
        return await self.queue.size() + len(self.left)


class Polls(Accounts):
    """Whoever touches the queue holds a lock, and whoever waits looks again every 50 ms; there is no other task."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.lock, self.left = asyncio.Lock(), []

    async def accept(self, request):
        async with self.lock:
            if not await self.queue.size() and self.hand(request):
                return True
            if self.closed:  # the queue takes nothing more
                self.left.append(request)
                return True
            return await self.store(request)

    async def get(self):
        consumer = asyncio.get_running_loop().create_future()
        self.row.append(consumer)
        try:
            while not consumer.done():
                async with self.lock:
                    if not consumer.done() and self.first() is consumer:
                        if self.left:
                            self.row.remove(consumer)
                            self.working += 1
                            return self.left.pop()
                        if await self.queue.size():
                            self.moving += 1
                            try:
                                request = await self.queue.get()
                            except Exception:
                                logger.exception("unreadable")
                                continue
                            finally:
                                self.moving -= 1
                            self.row.remove(consumer)
                            self.working += 1
                            return request
                        if self.closed:
                            raise asyncio.CancelledError
                await asyncio.wait([consumer], timeout=0.05)
            return consumer.result()
        except asyncio.CancelledError:
            if consumer.done() and not consumer.cancelled():
                self.take_back(consumer.result())
            consumer.cancel()
            raise

    def first(self):
        while self.row and self.row[0].done():
            self.row.popleft()
        return self.row[0] if self.row else None

    async def join(self):
        while True:
            async with self.lock:
                left = 0 if self.closed else await self.queue.size()
                if not (left or self.working or (self.moving and not self.closed)):
                    return
            await asyncio.sleep(0.05)

    async def qsize(self):
        return await self.queue.size() + len(self.left)

    async def close(self):
        async with self.lock:
            if not self.closed:
                self.closed = True
                await self.queue.close()


class Remembers(Scheduler):
    """A process beyond a socket remembers what was seen."""

    async def add(self, request):
        near, far = socket.socketpair()
        far.close()
        reader, writer = await asyncio.open_connection(sock=near)
        await reader.read()
        writer.close()
        await super().add(request)


class TakesAhead(Scheduler):
    """It takes up to four requests out of the queue ahead of its consumers; they go back before a put, and before the close."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.ahead = []

    async def _next(self):
        if self._closed and self.ahead and self._consumers:
            return self.ahead.pop(0)
        if self._returned or self._closed or not self._consumers:
            return await super()._next()
        async with self._one_put:
            if self.ahead:
                return self.ahead.pop(0)
        found = await super()._next()
        with suppress(Exception):  # what the queue raises, the next call notices
            async with self._one_put, asyncio.timeout(self.timeout):
                while found is not None and not self._closed and len(self.ahead) < 4 and await self.queue.size():
                    self.ahead.append(await self.queue.get())
        return found

    async def put_back(self):
        while self.ahead:
            request = self.ahead.pop(0)
            try:
                await self.queue.put(request, priority=request.priority)
            except BaseException:
                self.ahead.insert(0, request)
                raise

    async def _store(self, request):
        async with self._one_put:
            await self.put_back()
        return await super()._store(request)

    async def close(self):
        async with self._one_put:
            if not self._closed:
                self._closed = True
                await self.put_back()
                await self.queue.close()
        self._tell()

    async def _is_empty(self):
        return not self.ahead and await super()._is_empty()

    async def _queued(self):
        async with self._one_put:
            return len(self.ahead) + await super()._queued()


class KeepsADistance(Scheduler):
    """A quarter of a second lies between two requests of one host."""

    def __init__(self, queue=None, fingerprinter=None):
        super().__init__(queue, fingerprinter)
        self.next = {}

    async def get(self):
        request = await super().get()
        host, now = request.url.split("/")[2], asyncio.get_running_loop().time()
        begins = max(now, self.next.get(host, 0))
        self.next[host] = begins + 0.25
        try:
            if begins > now:
                await asyncio.sleep(begins - now)
        except asyncio.CancelledError:
            self._processed -= 1
            self._returned.append(request)
            self._feed()
            raise
        return request
