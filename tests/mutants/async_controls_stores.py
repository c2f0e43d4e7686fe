"""Right asynchronous queues that let threads work, or keep their requests elsewhere."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import queue
import re
import sqlite3
import threading
import time
from pathlib import Path

from qcrawl.core.request import Request

from queue_reference.async_queues import AsyncQueue, MemoryQueue, checked_priority, encoded


class Threaded(MemoryQueue):
    """A thread of its own does the work."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.lock = asyncio.Lock()

    async def put(self, request, priority=0):
        await self.elsewhere()
        await super().put(request, priority)

    async def elsewhere(self):
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def work():
            time.sleep(0.001)
            loop.call_soon_threadsafe(lambda: done.done() or done.set_result(None))

        threading.Thread(target=work).start()
        await done


class BlocksThreads(AsyncQueue):
    """A queue of the standard library holds the requests; whoever gets lets a thread wait, for a moment at a time."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.entries, self.counter = queue.PriorityQueue(), itertools.count()

    async def put(self, request, priority=0):
        checked_priority(priority)
        if not self._closed:
            if self._maxsize and self.entries.qsize() >= self._maxsize:
                raise asyncio.QueueFull
            self.entries.put_nowait((-priority, next(self.counter), request))

    async def get(self):
        while True:
            with contextlib.suppress(queue.Empty):
                return self.entries.get_nowait()[-1]
            if self._closed:
                raise asyncio.CancelledError
            await asyncio.to_thread(self.wait)

    def wait(self):
        with self.entries.not_empty:
            if not self._closed and not self.entries.queue:
                self.entries.not_empty.wait(0.05)

    async def size(self):
        return self.entries.qsize()

    async def clear(self):
        while self.entries.qsize():
            self.entries.get_nowait()

    async def close(self):
        self._closed = True


class SQLite(AsyncQueue):
    """A database holds the requests; threads ask it, and what was begun is ended even if nobody waits for it any more."""

    def __init__(self, path, maxsize=0):
        super().__init__(maxsize)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path, self.lock, self.under_way = path, asyncio.Lock(), set()
        self.ask("CREATE TABLE IF NOT EXISTS requests (number INTEGER PRIMARY KEY AUTOINCREMENT, priority INTEGER, data BLOB)")

    def ask(self, *question):
        with contextlib.closing(sqlite3.connect(self.path)) as connection, connection:
            return connection.execute(*question).fetchall()

    async def begin(self, coroutine, undo=None):
        """Let a coroutine run to its end; if whoever waits for it is cancelled, its result is undone."""
        task = asyncio.create_task(coroutine)
        self.keep(task)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if undo is not None:
                self.keep(asyncio.create_task(self.undone(task, undo)))
            raise

    def keep(self, task):
        self.under_way.add(task)
        task.add_done_callback(self.under_way.discard)

    async def undone(self, task, undo):
        if (result := await task) is not None:
            await undo(result)

    async def put(self, request, priority=0):
        if not self._closed:
            data = encoded(request)
            await self.begin(self.store(checked_priority(priority), data))

    async def store(self, priority, data):
        async with self.lock:
            if self._maxsize and await asyncio.to_thread(self.count) >= self._maxsize:
                raise asyncio.QueueFull
            question = "INSERT INTO requests (priority, data) VALUES (?, ?)", (priority, data)
            await asyncio.to_thread(self.ask, *question)
        self._arrival.set()

    async def get(self):
        while (found := await self.begin(self.take(), self.give_back)) is None:
            if self._closed:
                raise asyncio.CancelledError
            await self._arrival.wait()
        try:
            return Request.from_bytes(found[2])
        except Exception as error:
            raise RuntimeError("a request is damaged") from error

    async def take(self):
        async with self.lock:
            first = "SELECT number FROM requests ORDER BY priority DESC, number LIMIT 1"
            found = await asyncio.to_thread(self.ask, f"DELETE FROM requests WHERE number = ({first}) RETURNING *")
            if not found and not self._closed:
                self._arrival.clear()
        return found[0] if found else None

    async def give_back(self, row):
        async with self.lock:
            await asyncio.to_thread(self.ask, "INSERT INTO requests VALUES (?, ?, ?)", row)
        self._arrival.set()

    def count(self):
        return self.ask("SELECT count(*) FROM requests")[0][0]

    async def size(self):
        while self.under_way:
            await asyncio.wait(self.under_way)
        return self.count()

    async def clear(self):
        await self.size()
        self.ask("DELETE FROM requests")

    async def close(self):
        self._closed = True
        await self.size()
        self._arrival.set()


class Directory(AsyncQueue):
    """A directory is all it has: it is listed anew for each question, ten times a second while a get waits."""

    name = re.compile(r"(-?\d+),(\d+),(\d+)\.mail")
    counter = itertools.count()

    def __init__(self, path, maxsize=0):
        super().__init__(maxsize)
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)

    def entries(self):
        found = [match for match in map(self.name.fullmatch, os.listdir(self.path)) if match]
        return sorted(found, key=lambda match: (-int(match[1]), int(match[2]), int(match[3])))

    async def put(self, request, priority=0):
        if self._closed:
            return
        data = encoded(request)
        name = f"{checked_priority(priority)},{time.time_ns()},{next(self.counter)}.mail"
        if self._maxsize and len(self.entries()) >= self._maxsize:
            raise asyncio.QueueFull
        (self.path / f"{name}.new").write_bytes(data)
        (self.path / f"{name}.new").rename(self.path / name)

    async def get(self):
        while not (entries := self.entries()):
            if self._closed:
                raise asyncio.CancelledError
            await asyncio.sleep(0.1)
        file = self.path / entries[0][0]
        try:
            request = Request.from_bytes(file.read_bytes())
        except Exception as error:
            file.rename(f"{file}.damaged")
            raise RuntimeError(f"{file} is damaged") from error
        file.unlink()
        return request

    async def size(self):
        return len(self.entries())

    async def clear(self):
        for match in self.entries():
            (self.path / match[0]).unlink()

    async def close(self):
        self._closed = True
