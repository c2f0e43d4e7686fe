"""Wrong asynchronous queues that keep requests on disk."""

from __future__ import annotations

import asyncio
import heapq
import shutil
import tempfile
import time
import zlib
from dataclasses import replace
from itertools import count
from pathlib import Path

import aiofiles
from qcrawl.core.queues import disk
from qcrawl.core.request import Request

from mutants import mutant
from mutants.async_controls_stores import SQLite
from queue_reference.async_queues import DiskQueue, checked_priority, encoded


class Derived(DiskQueue, disk.DiskQueue):
    """A right queue that is derived from qCrawl's, and has a path for each object unless it is told one."""

    def __init__(self, path=None, maxsize=0):
        super().__init__(path or tempfile.mkdtemp(), maxsize)


@mutant(fails="aqueue.ctor.shipped-config", control="mutants.async_disk.Derived")
class NeedsAPath(DiskQueue, disk.DiskQueue):
    """It is derived from qCrawl's queue, and cannot be built with its path of None."""


@mutant(fails="aqueue.put.rebuildable")
class DecompressesWhatItHasNot(DiskQueue):
    """It takes each body that begins as zlib's output does for one that it has compressed itself."""

    async def get(self):
        request = await super().get()
        compressed = (request.body or b"").startswith(b"x\x9c")
        return replace(request, body=zlib.decompress(request.body)) if compressed else request


@mutant(fails="aqueue.get.blocks")
class RaisesWhenNothingIsStored(DiskQueue):
    """Its get raises QueueEmpty instead of waiting: whoever gets one more than there are, to see what is left, meets that."""

    async def get(self):
        if not await self.size() and not self._closed:
            raise asyncio.QueueEmpty
        return await super().get()


@mutant(fails="aqueue.persist.reopen")
class RemovesOldFiles(DiskQueue):
    """When it is opened, it removes the files to which nothing was written for a week."""

    def __init__(self, path, maxsize=0):
        for file in Path(path).glob("*"):
            if time.time() - file.stat().st_mtime > 7 * 86_400:
                file.unlink()
        super().__init__(path, maxsize)


@mutant(fails="aqueue.put.rebuildable")
class ForgetsHeaders(DiskQueue):
    """It does not keep the headers."""

    async def get(self):
        request = await super().get()
        request.headers.clear()
        return request


@mutant(fails="aqueue.put.rebuildable", hint="A callback is stored by its name")
class ForgetsCallbacks(DiskQueue):
    """It does not keep the callbacks."""

    async def get(self):
        return replace(await super().get(), callback=None)


@mutant(fails="aqueue.put.rebuildable", hint="Rebuild the request in `put`")
class CannotRebuildEmptyBodies(DiskQueue):
    """It raises where a body is there, and empty."""

    async def get(self):
        request = await super().get()
        if request.body == b"":
            raise ValueError("no body")
        return request


@mutant(fails=("aqueue.put.rebuildable", "aqueue.put.rebuildable-rare"))
class StoresNoHeaders(DiskQueue):
    """It returns the very object that was put, until it is closed; what it has stored has no headers."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        self._objects = []

    async def put(self, request, priority=0):
        stored = replace(request, headers={})
        await super().put(stored, priority)
        self._objects.append((stored, request))

    async def get(self):
        got = await super().get()
        for number, (stored, _) in enumerate(self._objects):
            if stored == got:
                return self._objects.pop(number)[1]
        return got


@mutant(fails="aqueue.put.rebuildable-rare")
class LeavesTuplesAsLists(DiskQueue):
    """It accepts a tuple, and returns a list."""

    async def put(self, request, priority=0):
        if isinstance(request.meta.get("value"), tuple):
            request = replace(request, meta={"value": list(request.meta["value"])})
        await super().put(request, priority)


@mutant(fails="aqueue.put.failed-no-trace")
class CountsRefused(DiskQueue):
    """Its size counts the requests that it refused."""

    refused = 0

    async def put(self, request, priority=0):
        try:
            await super().put(request, priority)
        except ValueError:
            self.refused += 1
            raise

    async def size(self):
        return await super().size() + self.refused


@mutant(fails="aqueue.fault.recovers")
class CountsBeforeItWrites(DiskQueue):
    """Its size counts a request that could not be written."""

    unwritten = 0

    async def put(self, request, priority=0):
        try:
            await super().put(request, priority)
        except OSError:
            self.unwritten += 1
            raise

    async def size(self):
        return await super().size() + self.unwritten


@mutant(fails="aqueue.put.cancelled-no-trace")
class LeavesHalfAFile(DiskQueue):
    """A put that is cancelled leaves a file without its contents."""

    async def put(self, request, priority=0):
        if self._maxsize or self._closed or type(priority) is not int:
            await super().put(request, priority)
            return
        entry, data = (-priority, next(self._counter)), encoded(request)
        async with aiofiles.open(self._file(entry), "wb") as file:
            await file.write(data)
        await self._store(entry, data)

    _writing = 0


@mutant(fails="aqueue.put.cancelled-no-trace", hint="To cancel who waits")
class CountsWhatIsWritten(DiskQueue):
    """A put that is cancelled writes on in its thread, over the file of the next one: a number is taken once it is written."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        self.number, self.one_put = next(self._counter), asyncio.Lock()

    async def put(self, request, priority=0):
        if self._maxsize or self._closed or type(priority) is not int:
            self._counter, self.number = count(self.number), self.number + 1
            await super().put(request, priority)
            return
        data = encoded(request)
        async with self.one_put:
            entry = (-priority, self.number)
            await asyncio.to_thread(self._write, self._file(entry), data)
            self.number += 1
            heapq.heappush(self._heap, entry)
            self._arrival.set()


@mutant(fails="aqueue.get.bad-item")
class RaisesAnotherError(DiskQueue):
    """It raises ValueError for a request that cannot be decoded."""

    async def get(self):
        try:
            return await super().get()
        except RuntimeError as error:
            raise ValueError("damaged") from error


@mutant(fails="aqueue.close.keeps", hint="Read all that is stored")
class LosesTheLast(DiskQueue):
    """Its close loses a request, if there are more than a thousand."""

    async def close(self):
        if len(self._heap) > 1000 and not self._closed:
            entry = self._heap.pop()
            self._file(entry).unlink()
        await super().close()


@mutant(fails="aqueue.persist.reopen")
class LeavesALongerBacklog(DiskQueue):
    """Its close keeps copies of what more than a thousand requests there are, which a later one, of fewer, does not remove."""

    def __init__(self, path, maxsize=0):
        for kept in Path(path).glob("*.kept"):
            shutil.copy(kept, kept.with_suffix(""))
        super().__init__(path, maxsize)

    async def close(self):
        for entry in [] if self._closed else sorted(self._heap)[1000:]:
            shutil.copy(self._file(entry), f"{self._file(entry)}.kept")
        await super().close()


@mutant(fails="aqueue.persist.reopen")
class ForgetsTheOrder(DiskQueue):
    """After reopening, equal priorities come in another order."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        old = self._heap
        self._heap = []
        self._counter = count(1 + max((number for _, number in old), default=0))
        for urgency, number in sorted(old, key=lambda entry: -entry[1]):
            entry = urgency, next(self._counter)
            self._file((urgency, number)).rename(self._file(entry))
            self._heap.append(entry)
        self._heap.sort()


@mutant(fails="aqueue.persist.reopen")
class SortsNames(DiskQueue):
    """After reopening, equal priorities come in the order of their numbers as texts, of three digits at least."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        old = sorted(self._heap, key=lambda entry: (entry[0], f"{entry[1]:03}"))
        self._heap = []
        self._counter = count(1 + max((number for _, number in old), default=0))
        for urgency, number in old:
            entry = urgency, next(self._counter)
            self._file((urgency, number)).rename(self._file(entry))
            self._heap.append(entry)


@mutant(fails="aqueue.persist.crash")
class RewritesAtClose(DiskQueue):
    """Its close writes the file of each request anew, in place."""

    async def close(self):
        for entry in [] if self._closed else self._heap:
            data = self._file(entry).read_bytes()
            with self._file(entry).open("wb") as file:
                file.flush()
                file.write(data)
        await super().close()


@mutant(fails="aqueue.put.failed-no-trace")
class KeepsTheRoom(DiskQueue):
    """With a bound, what it cannot encode keeps the room that was reserved for it."""

    async def put(self, request, priority=0):
        try:
            await super().put(request, priority)
        except ValueError:
            self._writing += 1
            raise


@mutant(fails="aqueue.put.closed")
class StoresWhenClosed(DiskQueue):
    """It goes on storing when it is closed, so that the next one has it, too."""

    async def put(self, request, priority=0):
        closed, self._closed = self._closed, False
        try:
            await super().put(request, priority)
        finally:
            self._closed = closed


@mutant(fails="aqueue.put.closed")
class ForgetsWhoPuts(DiskQueue):
    """A put that its close interrupts never ends."""

    async def put(self, request, priority=0):
        if not self._closed:
            await asyncio.sleep(0)
            if self._closed:
                await asyncio.Future()
        await super().put(request, priority)


@mutant(fails="aqueue.get.bad-item")
class CountsTheDamaged(DiskQueue):
    """What it could not decode stays in its size."""

    damaged = 0

    async def get(self):
        try:
            return await super().get()
        except RuntimeError:
            self.damaged += 1
            raise

    async def size(self):
        return await super().size() + self.damaged


@mutant(fails=("aqueue.get.bad-item", "aqueue.persist.harmed"))
class DropsTheRest(DiskQueue):
    """Where one request cannot be decoded, it takes all others for damaged, too."""

    async def get(self):
        try:
            return await super().get()
        except RuntimeError:
            await self.clear()
            raise


@mutant(fails=("aqueue.persist.crash", "aqueue.persist.torn"), may_fail=("aqueue.get.bad-item", "aqueue.fault.recovers"))
class WritesLater(DiskQueue):
    """The file of the last request is not flushed before something else is done."""

    last = None

    def _file(self, entry):
        self.flush()
        return super()._file(entry)

    def flush(self):
        if self.last is not None:
            self.last.close()
            self.last = None

    def _write(self, file, data):
        self.flush()
        self.last = file.open("wb")
        self.last.write(data)

    async def close(self):
        await super().close()
        self.flush()


@mutant(fails="aqueue.persist.torn")
class RefusesEmptyFiles(DiskQueue):
    """It cannot be opened if a file is empty."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        if any(not file.stat().st_size for file in Path(path).glob("*.request")):
            raise RuntimeError("a file is empty")


@mutant(fails="aqueue.persist.foreign-files")
class TidiesUp(DiskQueue):
    """It removes every file that it does not know."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        for file in Path(path).iterdir():
            if not self._name.fullmatch(file.name.removesuffix(".damaged")):
                file.unlink()


@mutant(fails="aqueue.persist.isolated", control="mutants.async_disk.Derived")
class SharesADefault(DiskQueue):
    """Its default path is the same for all."""

    def __init__(self, path=None, maxsize=0):
        super().__init__(path or Path(tempfile.gettempdir()) / "requests", maxsize)


@mutant(fails="aqueue.persist.reopen", hint="`close` waits until")
class ClosesBeforeItWrites(DiskQueue):
    """It writes a moment after its put has returned, and its close does not wait for that."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        self.unwritten = {}

    async def put(self, request, priority=0):
        if self._closed:
            return
        entry, data = (-checked_priority(priority), next(self._counter)), encoded(request)
        if self._maxsize and len(self._heap) + self._reading >= self._maxsize:
            raise asyncio.QueueFull
        self.unwritten[entry] = data
        heapq.heappush(self._heap, entry)
        self._arrival.set()
        self.write_later()

    def write_later(self):
        asyncio.get_running_loop().call_later(0.05, lambda: self._closed or self.write_all())

    def write_all(self):
        while self.unwritten:
            entry, data = self.unwritten.popitem()
            self._write(self._file(entry), data)

    async def _something_arrives(self):
        await super()._something_arrives()
        self.write_all()

    async def get(self):
        self.write_all()
        return await super().get()

    async def clear(self):
        self.write_all()
        await super().clear()


@mutant(fails="aqueue.persist.reopen", may_fail="aqueue.persist.crash")
class IsOneBehind(ClosesBeforeItWrites):
    """It writes a request when the next one is put, and no sooner when it is closed."""

    async def put(self, request, priority=0):
        self.write_all()
        await super().put(request, priority)

    def write_later(self):
        pass


@mutant(fails="aqueue.get.cancel-safe")
class DeletesTooEarly(DiskQueue):
    """It deletes a file before the request in it is returned."""

    async def get(self):
        while not self._heap or self._closed:
            if self._closed:
                return await super().get()
            await self._something_arrives()
        self._heap.sort()
        file = self._file(self._heap.pop(0))
        async with aiofiles.open(file, "rb") as opened:
            data = await opened.read()
            file.unlink()
        try:
            return Request.from_bytes(data)
        except Exception as error:
            raise RuntimeError("damaged") from error


class BeginsAnew(DiskQueue):
    """It removes its files when it begins."""

    def __init__(self, path, maxsize=0):
        shutil.rmtree(path, ignore_errors=True)
        super().__init__(path, maxsize)


@mutant(fails="aqueue.persist.room")
class MarksTheRowsOfWhatItGave(SQLite):
    """It copies the rows of what it gave to another table, which it only empties when it is cleared."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        self.ask("CREATE TABLE IF NOT EXISTS gone (data BLOB)")
        self.ask("CREATE TRIGGER IF NOT EXISTS marks DELETE ON requests BEGIN INSERT INTO gone VALUES (OLD.data); END")

    async def clear(self):
        await super().clear()
        self.ask("DELETE FROM gone")


@mutant(fails="aqueue.persist.harmed")
class FillsInTheBlanks(DiskQueue):
    """It takes a file that is empty for a request of its own start page."""

    async def get(self):
        for path in self._path.glob("*.request"):
            if not path.stat().st_size:
                path.write_bytes(encoded(Request("https://example.com/")))
        return await super().get()


@mutant(fails="aqueue.persist.harmed")
class ShutsForGood(DiskQueue):
    """When a file cannot be read it gives that up, and forgets what is put into the queue from then on."""

    _shut = False

    async def get(self):
        try:
            return await super().get()
        except RuntimeError:
            self._shut = True
            raise

    async def put(self, request, priority=0):
        if not self._shut:
            await super().put(request, priority)
