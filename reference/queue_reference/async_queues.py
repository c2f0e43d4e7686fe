"""Asynchronous queues for qCrawl, which keep requests in memory and on disk; the highest priority comes first.

What makes them hard is cancellation: a crawler cancels its workers wherever they wait. So between taking a request out and
returning it there is either no ``await``, or whoever is cancelled there gives the request back.
"""

from __future__ import annotations

import asyncio
import heapq
import os
import re
from dataclasses import replace
from itertools import count
from pathlib import Path

from qcrawl.core.queue import RequestQueue
from qcrawl.core.request import Request


def checked_limit(maxsize: int) -> int:
    """Return a limit on the number of requests.

    Raises:
        ValueError: if it is negative.
    """
    if maxsize < 0:
        raise ValueError(f"maxsize must not be negative, as {maxsize} is")
    return maxsize


def checked_priority(priority: int) -> int:
    """Return a priority.

    Raises:
        TypeError: if it is no int: it could not be compared with others.
    """
    if type(priority) is not int:
        raise TypeError(f"a priority must be an int, not {priority!r}")
    return priority


def encoded(request: Request) -> bytes:
    """Return a request as bytes from which an equal one can be made.

    Raises:
        ValueError: if there are none. Now the caller still has the request; in ``get`` it would be lost.
    """
    try:
        data: bytes = request.to_bytes()
        rebuilt = replace(Request.from_bytes(data), ts=request.ts)  # a time stamp is added
    except Exception as error:  # whatever the values in a request raise
        raise ValueError(f"cannot encode {request}: {error!r}") from error
    if rebuilt != request:
        raise ValueError(f"{request} would not come back as it is")
    return data


class AsyncQueue(RequestQueue):
    """What these queues share: waiting, closing and iterating.

    Args:
        maxsize: how many requests it holds at most; 0 is unlimited.
    """

    def __init__(self, maxsize: int = 0) -> None:
        self._maxsize = checked_limit(maxsize)
        self._closed = False
        self._arrival = asyncio.Event()  # wakes all who wait; who comes too late waits again

    def maxsize(self) -> int:
        """Return the largest number of requests; 0 is unlimited."""
        return self._maxsize

    async def __anext__(self) -> Request:
        try:
            return await self.get()
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._closed or (task is not None and task.cancelling()):
                raise  # not the queue, but the task was ended
            raise StopAsyncIteration from None

    async def _something_arrives(self) -> None:
        self._arrival.clear()
        await self._arrival.wait()


class MemoryQueue(AsyncQueue):
    """Requests in memory."""

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self._heap: list[tuple[int, int, Request]] = []
        self._counter = count()

    async def put(self, request: Request, priority: int = 0) -> None:
        """Store a request; on a closed queue, do nothing.

        Raises:
            asyncio.QueueFull: if there is no room.
            TypeError: if the priority is no int.
        """
        if self._closed:
            return
        checked_priority(priority)
        if self._maxsize and len(self._heap) >= self._maxsize:
            raise asyncio.QueueFull
        heapq.heappush(self._heap, (-priority, next(self._counter), request))
        self._arrival.set()

    async def get(self) -> Request:
        """Wait for a request and return it.

        Raises:
            asyncio.CancelledError: if the queue is closed and empty.
        """
        while not self._heap:
            if self._closed:
                raise asyncio.CancelledError
            await self._something_arrives()
        return heapq.heappop(self._heap)[2]

    async def size(self) -> int:
        """Return the number of requests."""
        return len(self._heap)

    async def clear(self) -> None:
        """Remove all requests."""
        self._heap.clear()

    async def close(self) -> None:
        """Let nothing in any more; what is left can still be got."""
        self._closed = True
        self._arrival.set()


class DiskQueue(AsyncQueue):
    """Requests in a directory, each in a file of its own, which is complete as soon as it has its name.

    Files are read and written in threads. Only one object at a time may use a directory.

    Args:
        path: the directory.
        maxsize: how many requests it holds at most; 0 is unlimited.

    Raises:
        OSError: if the directory cannot be made or read.
    """

    _name = re.compile(r"(-?\d+)_(\d+)\.request")
    _unfinished = ".unfinished"

    def __init__(self, path: str | Path, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self._path = Path(path)
        self._path.mkdir(parents=True, exist_ok=True)
        self._heap: list[tuple[int, int]] = []
        self._stores: set[asyncio.Task[None]] = set()
        self._writing = self._reading = 0  # requests on their way in and out
        for name in os.listdir(self._path):
            if found := self._name.fullmatch(name.removesuffix(self._unfinished)):
                if name.endswith(self._unfinished):
                    (self._path / name).unlink()
                else:
                    self._heap.append((-int(found[1]), int(found[2])))
        heapq.heapify(self._heap)
        self._counter = count(max((number for _, number in self._heap), default=0) + 1)

    async def put(self, request: Request, priority: int = 0) -> None:
        """Store a request; on a closed queue, do nothing. If this is cancelled, the request is stored nevertheless.

        Raises:
            asyncio.QueueFull: if there is no room.
            TypeError: if the priority is no int.
            ValueError: if the request cannot be stored.
            OSError: if the disk is full, or something like it.
        """
        if self._closed:
            return
        entry, data = (-checked_priority(priority), next(self._counter)), encoded(request)
        if self._maxsize and len(self._heap) + self._writing + self._reading >= self._maxsize:
            raise asyncio.QueueFull
        self._writing += 1
        storing = asyncio.create_task(self._store(entry, data))
        self._stores.add(storing)
        storing.add_done_callback(self._stores.discard)
        await asyncio.shield(storing)

    async def get(self) -> Request:
        """Wait for a request and return it.

        Raises:
            asyncio.CancelledError: if the queue is closed and empty.
            RuntimeError: if it cannot be decoded; its file is renamed, so that the next call gets the next request.
            OSError: if its file cannot be read; it stays stored.
        """
        while not self._heap:
            if self._closed and not self._reading:  # who reads may yet give a request back
                raise asyncio.CancelledError
            await self._something_arrives()
        entry = heapq.heappop(self._heap)
        self._reading += 1
        try:
            data = await asyncio.to_thread(self._file(entry).read_bytes)
        except BaseException:
            heapq.heappush(self._heap, entry)
            raise
        finally:
            self._reading -= 1
            self._arrival.set()
        try:
            request = Request.from_bytes(data)
        except Exception as error:
            self._file(entry).rename(f"{self._file(entry)}.damaged")
            raise RuntimeError(f"{self._file(entry)} is damaged") from error
        self._file(entry).unlink()  # from here to the end nothing can be cancelled
        return request

    async def size(self) -> int:
        """Return the number of requests."""
        return len(self._heap) + self._reading

    async def clear(self) -> None:
        """Remove all requests."""
        await self._stored()
        while self._heap:
            self._file(heapq.heappop(self._heap)).unlink()

    async def close(self) -> None:
        """Let nothing in any more; what is left can still be got, now or by another object."""
        self._closed = True
        await self._stored()
        self._arrival.set()

    async def _store(self, entry: tuple[int, int], data: bytes) -> None:
        try:
            await asyncio.to_thread(self._write, self._file(entry), data)
            heapq.heappush(self._heap, entry)
        finally:
            self._writing -= 1
        self._arrival.set()

    async def _stored(self) -> None:
        """Wait for the puts that were cancelled."""
        await asyncio.gather(*self._stores, return_exceptions=True)

    def _write(self, file: Path, data: bytes) -> None:
        unfinished = Path(f"{file}{self._unfinished}")
        try:
            unfinished.write_bytes(data)
            unfinished.rename(file)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise

    def _file(self, entry: tuple[int, int]) -> Path:
        urgency, number = entry
        return self._path / f"{-urgency}_{number}.request"
