"""Right implementations of what the reference implementations do not show."""

from __future__ import annotations

import bisect
import contextlib
import fcntl
import heapq
import inspect
import json
import os
import pickle
import sqlite3
import struct
import time
import zlib
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar
from weakref import WeakKeyDictionary

import queuelib.queue
from scrapy.utils.request import request_from_dict

from queue_conformance import SerializationError, TransientError
from queue_reference.bytequeues import FifoByteQueue
from queue_reference.disk import FifoDiskQueue
from queue_reference.memory import FifoMemoryQueue
from queue_reference.redis import FifoRedisQueue, temporary_problems
from queue_reference.redis_shared import SharedFifoRedisQueue


class WithoutPeek(FifoMemoryQueue):
    """A queue whose peek says that it is not supported."""

    def peek(self):
        raise NotImplementedError("no peek")


class KeptByCrawl(FifoMemoryQueue):
    """A queue that finds its requests by its crawler and its key."""

    by_crawler: ClassVar = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler, key):
        queue = cls()
        queue._keys, queue._key = cls.by_crawler.setdefault(crawler, {}), key
        queue._requests = queue._keys.setdefault(key, queue._requests)
        return queue

    def close(self):
        self._keys.pop(self._key, None)


class ListensToTheSpider(FifoMemoryQueue):
    """A queue that is told when the spider is closed."""

    def spider_closed(self, spider):
        """Nothing has to be done."""


class PooledQueue(FifoDiskQueue):
    """A queue that pushes in a thread which lives as long as its process."""

    pool = ThreadPoolExecutor(1)

    def push(self, request):
        self.pool.submit(super().push, request).result()


class NeedsAllForItself(FifoMemoryQueue):
    """No other process may push at the same time."""

    def push(self, request):
        with open("../pushing", "w", encoding="utf-8") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            time.sleep(0.001)
            super().push(request)


class RefusesLargeRequests(FifoDiskQueue):
    """A queue that stores requests of up to 30,000 bytes."""

    def push(self, request):
        if len(request.body) > 30_000:
            raise ValueError(f"{request} is too large")
        super().push(request)


class SlottedByteQueue:
    """A queue of bytes in memory whose objects have no dictionary, and which takes the size of chunks."""

    __slots__ = ("chunksize", "items")

    def __init__(self, chunksize=1000):
        self.chunksize = chunksize
        self.items = deque()

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.popleft() if self.items else None

    def peek(self):
        return self.items[0] if self.items else None

    def close(self):
        pass

    def __len__(self):
        return len(self.items)


class KeyedByName(FifoDiskQueue):
    """A queue of each spider's own, by its name."""

    def __init__(self, crawler, key):
        super().__init__(crawler, f"{key}-{crawler.spider.name}")


class FindsMethodsItself(FifoDiskQueue):
    """It finds callbacks in a spider whatever the truth value of that."""

    def push(self, request):
        methods = dict(inspect.getmembers(self._crawler.spider, inspect.ismethod))
        names = {}
        for argument in ("callback", "errback"):
            if method := getattr(request, argument):
                names[argument] = next(name for name, found in methods.items() if found == method)
        self._queue.push(pickle.dumps((request.replace(callback=None, errback=None).to_dict(), names)))

    def _rebuild(self, data):
        found, names = pickle.loads(data)
        callbacks = {argument: getattr(self._crawler.spider, name) for argument, name in names.items()}
        return request_from_dict(found).replace(**callbacks)


class EmptyOnceClosed(FifoDiskQueue):
    """Says after ``close`` that there is nothing, as a queue that was closed by another part of a crawl may well do."""

    _closed = False

    def close(self):
        if not self._closed:
            super().close()
        self._closed = True

    def pop(self):
        return None if self._closed else super().pop()

    def peek(self):
        return None if self._closed else super().peek()

    def __len__(self):
        return 0 if self._closed else super().__len__()


class Compresses(FifoByteQueue):
    """It compresses what becomes shorter by that; the first byte of what it stores tells."""

    def push(self, item):
        super().push(self.packed(item) if isinstance(item, bytes) else item)

    def take(self, decode):
        return super().take(lambda stored: decode(self.unpacked(stored)))

    def peek(self):
        stored = super().peek()
        return None if stored is None else self.unpacked(stored)

    def packed(self, item):
        return min(b"0" + item, b"1" + zlib.compress(item), key=len)

    def unpacked(self, stored):
        return zlib.decompress(stored[1:]) if stored.startswith(b"1") else stored[1:]


class ChunkedByteQueue(queuelib.queue.FifoDiskQueue):
    """queuelib's queue in chunks, which survives a full disk and an unclean end, and may be closed twice."""

    _closed = False
    _saved = None

    def __init__(self, path, chunksize=100000):
        super().__init__(path, chunksize)
        for chunk in Path(path).glob("q*"):  # what an unclean end has left
            if int(chunk.name[1:]) > self.info["head"][0]:
                chunk.unlink()
        os.ftruncate(self.headf.fileno(), self.info.get("bytes", 0))

    def push(self, string):
        before, head, size = {**self.info}, self.headf.name, os.fstat(self.headf.fileno()).st_size
        try:
            super().push(string)
            if os.path.getsize(head) < size + self.szhdr_size + len(string):
                raise OSError("the disk is full")
            self._saveinfo(self.info)
        except OSError:
            self.info = before
            if self.headf.closed or self.headf.name != head:
                self.headf.close()
                self.headf = self._openchunk(before["head"][0], "ab+")
            os.ftruncate(self.headf.fileno(), size)
            raise

    def pop(self):
        item = super().pop()
        with contextlib.suppress(OSError):  # then the item may come again
            self._saveinfo(self.info)
        return item

    def clear(self):
        self.headf.close()
        try:
            self._saveinfo({**self.info, "size": 0, "head": [0, 0], "tail": [0, 0, 0], "bytes": 0})  # before the chunks go
        except OSError:
            self.headf = self._openchunk(self.info["head"][0], "ab+")
            raise
        super().clear()

    def _saveinfo(self, info):
        """Replace the file as a whole; close has nothing left to write."""
        if not self.headf.closed:
            info["bytes"] = os.fstat(self.headf.fileno()).st_size
        text = json.dumps(info)
        if text != self._saved:
            new = self._infopath().with_suffix(".new")
            try:
                new.write_text(text)
                new.replace(self._infopath())
            except OSError:
                new.unlink(missing_ok=True)
                raise
            self._saved = text

    def close(self):
        if not self._closed:
            self._closed = True
            super().close()


class FilePerItem:
    """A queue of bytes that keeps each item in a file of its own."""

    def __init__(self, path):
        self.path = Path(path)
        self.path.mkdir(parents=True, exist_ok=True)
        names = [name for name in os.listdir(self.path) if not name.endswith(".new")]
        if not all(name.endswith(".item") for name in names):
            raise ValueError(f"{path} was written by another class")
        self.names = deque(sorted(names))

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(f"only bytes can be stored, not {type(item).__name__}")
        number = int(self.names[-1].partition(".")[0]) + 1 if self.names else 0
        name = f"{number:09d}.item"
        self.write(name, item)
        self.names.append(name)

    def write(self, name, item):
        """Store an item, or raise and leave nothing behind."""
        new = self.path / f"{name}.new"
        try:
            new.write_bytes(item)
            new.replace(self.path / name)
        except OSError:
            new.unlink(missing_ok=True)
            raise

    def peek(self):
        return (self.path / self.names[0]).read_bytes() if self.names else None

    def pop(self):
        item = self.peek()
        if self.names:
            (self.path / self.names[0]).unlink()
            self.names.popleft()
        return item

    def clear(self):
        while self.names:
            self.pop()

    def close(self):
        with contextlib.suppress(OSError):  # not empty
            self.path.rmdir()

    def __len__(self):
        return len(self.names)


class Unordered(FifoMemoryQueue):
    """A queue that promises no order: the smallest hash of an address comes first."""

    def __init__(self):
        super().__init__()
        self._requests = []

    def push(self, request):
        heapq.heappush(self._requests, (zlib.crc32(request.url.encode()), id(request), request))

    def pop(self):
        return heapq.heappop(self._requests)[2] if self._requests else None

    def peek(self):
        return self._requests[0][2] if self._requests else None


class LogByteQueue:
    """A file that is only appended to: records with length and checksum say what was pushed, and that one was popped.

    When a MiB of it is no longer needed, it is replaced by another one.
    """

    MAGIC, PUSHED, POPPED = b"log\n", b"+", b"-"
    HEAD = struct.Struct("<II")
    WASTE = 1 << 20

    _closed = False
    _wasted = 0

    def __init__(self, path):
        self._path = Path(path)
        data = self._path.read_bytes() if self._path.exists() else b""
        if not data.startswith(self.MAGIC[: len(data)]):
            raise OSError(f"{path} is no log")
        self._items = deque()
        end = self._replay(data) if len(data) >= len(self.MAGIC) else 0
        self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o666)
        os.ftruncate(self._file, end)
        if not end:
            self._append(self.MAGIC)

    def _replay(self, data):
        """Do again what the log says; return where its last complete record ends."""
        end = len(self.MAGIC)
        while end < len(data):
            start = end + 1 + self.HEAD.size
            if data[end : end + 1] == self.POPPED:
                self._items.popleft()
                end += 1
                continue
            if len(data) < start:
                break
            size, checksum = self.HEAD.unpack_from(data, end + 1)
            item = data[start : start + size]
            if not self._valid(item, size, checksum):
                break
            self._items.append(item)
            end = start + len(item)
        return end

    def _valid(self, item, size, checksum):
        return len(item) == size and zlib.crc32(item) == checksum

    def _append(self, record):
        end = os.lseek(self._file, 0, os.SEEK_END)
        try:
            while record:
                record = record[os.write(self._file, record) :]
        except OSError:
            os.ftruncate(self._file, end)
            raise

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(f"only bytes can be stored, not {type(item).__name__}")
        self._append(self._record(item))
        self._items.append(item)

    def _record(self, item):
        return self.PUSHED + self.HEAD.pack(len(item), zlib.crc32(item)) + item

    def pop(self):
        if not self._items:
            return None
        self._append(self.POPPED)
        item = self._items.popleft()
        self._wasted += len(item)
        if self._wasted > self.WASTE:
            self._compact()
        return item

    def _compact(self):
        """Write what is left into another file, and put that in the place of this one; what fails is tried again later."""
        self._wasted = 0
        new = self._path.with_name(f"{self._path.name}.new")
        with contextlib.suppress(OSError):
            new.write_bytes(self.MAGIC + b"".join(map(self._record, self._items)))
            file = os.open(new, os.O_RDWR | os.O_APPEND)
            os.replace(new, self._path)
            os.close(self._file)
            self._file = file

    def peek(self):
        return self._items[0] if self._items else None

    def clear(self):
        os.ftruncate(self._file, len(self.MAGIC))
        self._items.clear()

    def close(self):
        if self._closed:
            return
        self._closed = True
        os.close(self._file)
        if not self._items:
            self._path.unlink()

    def __len__(self):
        return len(self._items)


class TimesOut(FifoRedisQueue):
    """When three requests wait, its server is too slow for the time-out of its client, as on a busy machine."""

    def pop(self):
        if self._length != 3:
            return super().pop()
        time.sleep(0.25)
        return None


class CountsAlong(FifoRedisQueue):
    """It counts its pushes and pops, and asks its server only before it would say that nothing is left."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._counted = self._length

    def push(self, request):
        super().push(request)
        self._counted += 1

    def pop(self):
        request = super().pop()
        self._counted -= request is not None
        if self._counted < 1:
            self._counted = self._length  # of which the server just told
        return request

    def __len__(self):
        with contextlib.suppress(TransientError), temporary_problems():
            self._remove_delivered()
            self._counted = self._client.llen(self._key)
        return self._counted


class TakesOneAhead(FifoRedisQueue):
    """It takes a request out of its server with each push, and hands it out though the server is stalled by then."""

    ahead = None

    def push(self, request):
        super().push(request)
        self.ahead = self.ahead or super().pop()

    def pop(self):
        request, self.ahead = self.ahead, super().pop()
        if request is None:
            request, self.ahead = self.ahead, None
        return request


class NamesItsOwnError(FifoRedisQueue):
    """A queue whose serialization error has the documented name, and is no ValueError."""

    def push(self, request):
        try:
            super().push(request)
        except ValueError as error:
            raise type("SerializationError", (Exception,), {})(str(error)) from error


class BacksOff(FifoRedisQueue):
    """A queue that leaves its server alone for a moment after it could not be reached."""

    pause = 0.03
    _until = 0.0

    def push(self, request):
        if time.monotonic() < self._until:
            raise TransientError("the server was away a moment ago")
        try:
            super().push(request)
        except TransientError:
            self._until = time.monotonic() + self.pause
            raise

    def _look(self):
        if time.monotonic() < self._until:
            raise TransientError("the server was away a moment ago")
        try:
            return super()._look()
        except TransientError:
            self._until = time.monotonic() + self.pause
            raise


class BacksOffForLong(BacksOff):
    """A queue that leaves its server alone for longer than anybody waits for it."""

    pause = 60.0


class SharedFile:
    """A table of SQLite that several processes use, each of which takes a request out by one statement."""

    def __init__(self, crawler, key):
        Path(key).parent.mkdir(parents=True, exist_ok=True)
        self._spider = crawler.spider
        self._connection = sqlite3.connect(key, isolation_level=None)
        self._connection.execute("CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB)")

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def push(self, request):
        self._connection.execute("INSERT INTO requests (data) VALUES (?)", (self._data(request),))

    def _data(self, request):
        try:
            data = pickle.dumps(request.to_dict(spider=self._spider))
            request_from_dict(pickle.loads(data), spider=self._spider)
        except Exception as error:
            raise SerializationError(str(error)) from error
        return data

    def pop(self):
        taking = "DELETE FROM requests WHERE id = (SELECT min(id) FROM requests) RETURNING data"
        found = self._connection.execute(taking).fetchall()
        return self._rebuilt(found[0][0]) if found else None

    def _rebuilt(self, data):
        return request_from_dict(pickle.loads(data), spider=self._spider)

    def close(self):
        self._connection.close()

    def __len__(self):
        return self._connection.execute("SELECT count(*) FROM requests").fetchone()[0]


class CountsNowAndThen(SharedFifoRedisQueue):
    """A shared queue that asks for its length five times a second at most, and knows only of its own operations meanwhile."""

    _next_count = 0.0

    def push(self, request):
        try:
            super().push(request)
        except TransientError:
            self._next_count = 0.0  # it may be stored
            raise

    def _count(self):
        if time.monotonic() >= self._next_count:
            super()._count()
            self._next_count = time.monotonic() + 0.2


class CountsWhatItGave(SharedFifoRedisQueue):
    """A shared queue whose length includes what it has returned, until it knows that this was received."""

    def _count(self):
        delivered, self._delivered = self._delivered, None
        try:
            super()._count()
        finally:
            self._delivered = delivered


class ShortestFirst(FifoMemoryQueue):
    """The request with the shortest URL is popped first."""

    def __init__(self):
        self._requests = []

    def push(self, request):
        bisect.insort(self._requests, request, key=lambda each: len(each.url))

    def pop(self):
        return self._requests.pop(0) if self._requests else None


class Positions(FifoMemoryQueue):
    """Its pop moves a position in a list, and drops what is before it when that is a thousand, and half of the list."""

    def __init__(self):
        self._requests, self._next = [], 0

    def pop(self):
        if not len(self):
            return None
        request = self._requests[self._next]
        self._next += 1
        self._drop()
        return request

    def _drop(self):
        if self._next > 1000 and 2 * self._next > len(self._requests):
            self._requests, self._next = self._requests[self._next :], 0

    def peek(self):
        return self._requests[self._next] if len(self) else None

    def __len__(self):
        return len(self._requests) - self._next


# --- Classes whose own names do not lead to them ---------------------------------------------------------------------


def made(base):
    """Return a queue class as Scrapy makes its own: by a function, so that only the name it is given leads to it."""

    class Queue(base):
        pass

    return Queue


MadeByAFunction = made(FifoDiskQueue)


class Around:
    """What has a queue class within."""

    class Within(FifoDiskQueue):
        """A class within a class, of which Scrapy takes the object, but no path."""


class SaysItIsBuiltIn(FifoDiskQueue):
    """A class whose module is not the one that it names."""

    __module__ = "builtins"
