"""Right implementations of what the reference implementations do not show."""

from __future__ import annotations

import heapq
import os
import struct
import zlib
from collections import deque
from pathlib import Path

import queuelib.queue

from queue_reference.memory import FifoMemoryQueue


class WithoutPeek(FifoMemoryQueue):
    """A queue whose peek says that it is not supported."""

    def peek(self):
        raise NotImplementedError("no peek")


class ChunkedByteQueue(queuelib.queue.FifoDiskQueue):
    """queuelib's queue in chunks, which also notices a full disk and an unclean end, and may be closed twice."""

    _closed = False

    def __init__(self, path, chunksize=100000):
        info = Path(path, "info.json")
        if any(Path(path).glob("q*")) and not info.exists():
            raise OSError(f"{path} was not closed")
        super().__init__(path, chunksize)
        info.unlink(missing_ok=True)

    def push(self, string):
        size = os.fstat(self.headf.fileno()).st_size
        head, written = self.headf, self.szhdr_size + len(string)
        super().push(string)
        path = head.name
        if os.path.getsize(path) < size + written:
            os.truncate(path, size)
            number, position = self.info["head"]
            self.info["head"] = [number, position - 1]
            self.info["size"] -= 1
            raise OSError("the disk is full")

    def close(self):
        if not self._closed:
            self._closed = True
            super().close()


class LogByteQueue:
    """A file that is only appended to: records with length and checksum say what was pushed, and that one was popped."""

    MAGIC, PUSHED, POPPED = b"log\n", b"+", b"-"
    HEAD = struct.Struct("<II")

    _closed = False

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
        self._append(self.PUSHED + self.HEAD.pack(len(item), zlib.crc32(item)) + item)
        self._items.append(item)

    def pop(self):
        if not self._items:
            return None
        self._append(self.POPPED)
        return self._items.popleft()

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
