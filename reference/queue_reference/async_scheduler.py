"""A scheduler for qCrawl, and the fingerprints by which it knows requests again.

The consumers that wait are futures in a row. A request that is added goes straight to the first of them if the queue is
known to be empty, and else into the queue. As long as consumers wait, one task, the feeder, takes requests out of the queue
for them; no consumer touches the queue itself, so cancelling one disturbs nobody. What is left to do is never counted in
advance, it is looked up: what the queue holds, whoever has put it there, and what was handed out.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections import deque
from contextlib import suppress
from typing import Any, ClassVar

from qcrawl.core.queue import RequestQueue
from qcrawl.core.request import Request
from qcrawl.signals import signals_registry
from qcrawl.utils.url import normalize_url
from yarl import URL

logger = logging.getLogger(__name__)


class RequestFingerprinter:
    """Requests are the same if their method, their body, and their URL with its parameters in any order are.

    Args:
        ignore_query_params: names of parameters that do not count.
        keep_query_params: names of the only parameters that count.

    Raises:
        ValueError: if both are given.
    """

    def __init__(self, ignore_query_params: set[str] | None = None, keep_query_params: set[str] | None = None) -> None:
        if ignore_query_params and keep_query_params:
            raise ValueError("ignore_query_params and keep_query_params exclude each other")
        self._ignored = frozenset(ignore_query_params or ())
        self._kept = frozenset(keep_query_params or ())

    def fingerprint_bytes(self, request: Request) -> bytes:
        """Return the same bytes for the same requests, and others for others."""
        url = URL(normalize_url(request.url))
        parameters = sorted((name, value) for name, value in url.query.items() if self._counts(name))
        parts = (request.method.upper(), str(url.with_query(parameters)), request.body or b"")
        return hashlib.blake2b(repr(parts).encode(), digest_size=16).digest()

    def _counts(self, name: str) -> bool:
        return name in self._kept if self._kept else name not in self._ignored


class Scheduler:
    """Hands out requests: each once, the highest priority first.

    Args:
        queue: where requests wait.
        fingerprinter: tells what was seen; its ``fingerprint_bytes`` is called.

    Raises:
        ValueError: if one of them is missing.
    """

    fingerprinter_class: ClassVar[type] = RequestFingerprinter

    look_again: ClassVar[float] = 0.5
    """Seconds after which the queue is looked at again: another process that shares it tells nobody what it has done."""

    timeout: ClassVar[float] = 5.0
    """Seconds that a queue which is not empty gets to hand out a request: another process may have taken the last one."""

    rest: ClassVar[float] = 0.1
    """Seconds that a queue which has failed is left alone."""

    def __init__(self, queue: RequestQueue | None = None, fingerprinter: Any = None) -> None:
        if queue is None or fingerprinter is None:
            raise ValueError("a scheduler needs a queue and a fingerprinter")
        self.queue = queue
        self.fingerprinter = fingerprinter
        self.seen: set[bytes] = set()
        self.signals = signals_registry.for_sender(self)
        self._consumers: deque[asyncio.Future[Request]] = deque()
        self._processed = 0  # handed out, and not done
        self._adding = 0  # accepted, and on the way into the queue
        self._taking = False  # the feeder is taking a request out of the queue
        self._returned: list[Request] = []  # handed to consumers that were gone
        self._known_empty = False
        self._closed = False
        self._one_put = asyncio.Lock()
        self._feeder: asyncio.Task[None] | None = None
        self._news = asyncio.Event()  # for the feeder
        self._listeners = {self._news}

    # --- In --------------------------------------------------------------------------------------------------------

    async def add(self, request: Request | str) -> None:
        """Accept a request, unless it was seen or the scheduler is closed; drop it if the queue is full.

        Raises:
            Exception: what the queue's ``put`` raises; the request is forgotten then.
        """
        if self._closed:
            return
        if isinstance(request, str):
            request = Request(request, priority=0)
        fingerprint = self.fingerprinter.fingerprint_bytes(request)
        is_new = fingerprint not in self.seen
        if not is_new and not request.meta.get("retry_count"):
            return
        self.seen.add(fingerprint)
        self._adding += 1
        try:
            accepted = (self._known_empty and self._deliver(request)) or await self._store(request)
        except BaseException as error:
            if is_new:
                self.seen.discard(fingerprint)
            if not isinstance(error, asyncio.QueueFull):
                raise
            logger.warning("Queue full, dropping request: %s", request.url)
            await self.signals.send_async("request_dropped", request=request, exception=None)
        else:
            if accepted:
                await self.signals.send_async("request_scheduled", request=request)
        finally:
            self._adding -= 1
            self._tell()

    async def _store(self, request: Request) -> bool:
        """Put a request into the queue; return whether it is there now.

        Raises:
            asyncio.QueueFull: if there is no room, also for queues that would wait for it or drop the request themselves.
        """
        async with self._one_put:
            limit = self.queue.maxsize()
            if limit and await self.queue.size() >= limit:
                raise asyncio.QueueFull
            stored: object = await self.queue.put(request, priority=request.priority)
        self._tell()
        return stored is not False

    # --- Out -------------------------------------------------------------------------------------------------------

    async def get(self) -> Request:
        """Wait for the next request.

        Raises:
            asyncio.CancelledError: if the scheduler is closed and nothing is left.
        """
        consumer: asyncio.Future[Request] = asyncio.get_running_loop().create_future()
        self._consumers.append(consumer)
        self._feed()
        try:
            return await consumer
        except asyncio.CancelledError:
            if not consumer.cancelled():  # the request came, but the consumer is gone
                self._processed -= 1
                self._returned.append(consumer.result())
                self._feed()
            raise
        finally:
            self._tell()

    def _deliver(self, request: Request) -> bool:
        """Hand a request to the first consumer that waits, if one does."""
        while self._consumers:
            consumer = self._consumers.popleft()
            if not consumer.done():
                consumer.set_result(request)
                self._processed += 1
                return True
        return False

    def _feed(self) -> None:
        """Let the feeder run."""
        if self._feeder is None or self._feeder.done():
            self._feeder = asyncio.get_running_loop().create_task(self._feed_consumers())
        self._tell()

    async def _feed_consumers(self) -> None:
        """Take requests out of the queue as long as consumers wait for them."""
        try:
            while self._consumers or self._returned:
                self._news.clear()
                try:
                    found = await self._next()
                except Exception:  # such as a stored request that cannot be read
                    logger.exception("The queue could not return a request; going on")
                    await asyncio.sleep(self.rest)
                    continue
                if found is not None:
                    if not self._deliver(found):
                        self._returned.append(found)
                    self._taking = False
                elif self._closed:
                    if not self._consumers:
                        return
                    self._consumers.popleft().cancel()
                elif not self._consumers:
                    return  # what finds no room stays here until one comes
                elif not self._news.is_set():
                    self._known_empty = True
                    await self._heard(self._news)
        finally:
            self._known_empty = self._taking = False
            self._tell()

    async def _next(self) -> Request | None:
        """Return the next request, or ``None`` if there is none for now."""
        if self._returned and self._closed:
            return self._returned.pop(0) if self._consumers else None
        while self._returned:  # back to where the order is known
            request = self._returned[0]
            try:
                await self._store(request)
            except Exception:  # such as no room
                return self._returned.pop(0) if self._consumers else None
            self._returned.remove(request)
        if not self._consumers or await self.queue.size() == 0:
            return None
        self._taking = True
        try:
            async with asyncio.timeout(self.timeout):
                return await self.queue.get()
        except BaseException as error:
            self._taking = False
            # A queue that is closed raises CancelledError; nobody has cancelled the feeder then.
            if isinstance(error, asyncio.CancelledError) and not asyncio.current_task().cancelling():  # type: ignore[union-attr]
                return None
            raise

    # --- Done ------------------------------------------------------------------------------------------------------

    def task_done(self) -> None:
        """Mark one request as processed.

        Raises:
            ValueError: if none is being processed.
        """
        if not self._processed:
            raise ValueError("task_done() was called more often than requests were got")
        self._processed -= 1
        self._tell()

    async def join(self) -> None:
        """Wait until nothing is left to do; on a closed scheduler, until nothing is being processed."""
        news = asyncio.Event()
        self._listeners.add(news)
        try:
            while self._busy() or not (self._closed or await self._is_empty()) or news.is_set():
                await self._heard(news)
                news.clear()
        finally:
            self._listeners.discard(news)

    def _busy(self) -> bool:
        return bool(self._processed or self._adding or (not self._closed and (self._taking or self._returned)))

    async def _is_empty(self) -> bool:
        return await self.queue.size() == 0 and not self._busy()

    async def close(self) -> None:
        """Accept nothing more, end the consumers that wait, and close the queue."""
        if self._closed:
            return
        self._closed = True
        async with self._one_put:
            await self.queue.close()
        self._tell()

    async def __aenter__(self) -> Scheduler:
        return self

    async def __aexit__(self, *_: object) -> bool:
        await self.close()
        await self.join()
        return False

    # --- Numbers ---------------------------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        """How many requests are being processed."""
        return self._processed

    async def qsize(self) -> int:
        """Return how many requests wait."""
        return await self._queued()

    async def _queued(self) -> int:
        return int(await self.queue.size()) + len(self._returned)

    async def stats(self) -> dict[str, int]:
        """Return numbers for people and for tests of idleness."""
        return {
            "queued": await self._queued(),
            "pending": self._processed,
            "seen": len(self.seen),
            "waiting_consumers": sum(not consumer.done() for consumer in self._consumers),
            "closed": int(self._closed),
        }

    # --- News ------------------------------------------------------------------------------------------------------

    def _tell(self) -> None:
        """Say that something has changed."""
        for news in self._listeners:
            news.set()

    async def _heard(self, news: asyncio.Event) -> None:
        """Wait for news, but not for long."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.look_again):
                await news.wait()
