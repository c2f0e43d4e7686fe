"""Wrong queues of bytes."""

from __future__ import annotations

import os
import pickle
import threading
import zlib
from pathlib import Path

from mutants import mutant, refusals
from mutants.controls import ChunkedByteQueue, Compresses
from queue_reference.bytequeues import FifoByteQueue, FifoMemoryByteQueue, LifoByteQueue, LifoMemoryByteQueue

FIFO = "queue_reference.bytequeues.FifoByteQueue"
MEMORY = "queue_reference.bytequeues.FifoMemoryByteQueue"


@mutant(fails="queuelib.ctor")
class NeedsItsFile(FifoByteQueue):
    """Its constructor opens a file that nobody has made."""

    def __init__(self, path):
        with open(path, "rb"):
            super().__init__(path)


@mutant(fails="queue.ctor.base-queue")
class WithoutPeek(FifoMemoryByteQueue):
    """It has no peek."""

    peek = None


@mutant(fails="queue.ctor.base-queue", control=MEMORY)
class Wrapper:
    """It passes most things on to another queue, so its class has not all methods."""

    def __init__(self):
        self._queue = FifoMemoryByteQueue()

    def push(self, item):
        self._queue.push(item)

    def pop(self):
        return self._queue.pop()

    def __getattr__(self, name):
        return getattr(self._queue, name)

    def __len__(self):
        return len(self._queue)


@mutant(fails="queue.pop.exactly-once")
class TakesItForCompressed(Compresses):
    """It takes whatever begins like what it has compressed for that."""

    def packed(self, item):
        return min(item, zlib.compress(item), key=len)

    def unpacked(self, stored):
        return zlib.decompress(stored) if stored.startswith(b"\x78\x9c") else stored


@mutant(fails="queue.pop.exactly-once", control=MEMORY)
class GivesItsBuffer(FifoMemoryByteQueue):
    """Its pop and peek return an array of bytes, which equals them."""

    def pop(self):
        return bytearray(self._items.popleft()) if self._items else None

    def peek(self):
        return bytearray(self._items[0]) if self._items else None


@mutant(fails="queue.push.bytes-only")
class EncodesText(FifoByteQueue):
    """It accepts text, and stores it encoded."""

    def push(self, item):
        super().push(item.encode() if isinstance(item, str) else item)


@mutant(fails="queue.push.bytes-only")
class TakesAnything(FifoByteQueue):
    """It stores any value, pickled."""

    def push(self, item):
        super().push(pickle.dumps(item))

    def pop(self):
        return self.loaded(super().pop())

    def peek(self):
        return self.loaded(super().peek())

    def loaded(self, data):
        return None if data is None else pickle.loads(data)


@mutant(fails=("queue.push.bytes-only", "queue.push.failed-no-trace"))
class CountsWhatItCannotPickle(TakesAnything):
    """It takes any value, and counts one that pickle refuses before it raises."""

    def push(self, item):
        self._length += 1
        pickle.dumps(item)
        self._length -= 1
        super().push(item)


@mutant(fails="queue.push.bytes-only")
class RaisesItsOwnError(FifoByteQueue):
    """What it cannot store it refuses, but not with a TypeError."""

    def push(self, item):
        if not isinstance(item, bytes):
            raise ValueError(item)
        super().push(item)


@mutant(fails="queue.push.zero-length")
class SkipsEmptyItems(FifoMemoryByteQueue):
    """Its pop returns None for an empty item."""

    def pop(self):
        return super().pop() or None


@mutant(fails="queue.pop.exactly-once")
class TakesItemsForText(FifoMemoryByteQueue):
    """Bytes that are no UTF-8 come back as a sign for that."""

    def pop(self):
        item = super().pop()
        return None if item is None else item.decode(errors="replace").encode()


@mutant(fails="queue.persist.reopen")
class CannotBeMadeTwice(FifoByteQueue):
    """Its constructor makes a file, and raises where there is one."""

    def __init__(self, path, **keywords):
        if os.path.exists(path):
            raise FileExistsError(path)
        super().__init__(path, **keywords)


@mutant(
    fails="queue.persist.reopen",
    may_fail=(
        "queue.ctor.key-shapes",
        "queue.close.twice",
        "queue.persist.crash-no-phantom",
        "queue.ctor.key-lengths",
        "queue.close.use-after",
        "queuelib.pathlike",
    ),
)
class ReadsLines(FifoByteQueue):
    """When it is opened, it takes an item for what stands before its first line break."""

    def __init__(self, path):
        super().__init__(path)
        for number, item in self._database.execute("SELECT id, item FROM items").fetchall():
            if b"\n" in item:
                self._database.execute("UPDATE items SET item = ? WHERE id = ?", (item.partition(b"\n")[0], number))


@mutant(fails="queue.pop.exactly-once")
class CutsLargeItems(FifoMemoryByteQueue):
    """It stores the first MiB of an item."""

    def push(self, item):
        super().push(item[: 1 << 20])


@mutant(fails="queue.pop.exactly-once")
class MovesInPart(FifoMemoryByteQueue):
    """Once a MiB was popped, it moves what is left to the front of its buffer, and no more than a MiB of the next item."""

    def pop(self):
        item = super().pop()
        if item is not None and len(item) > 1 << 20 and self._items:
            self._items[0] = self._items[0][: 1 << 20]
        return item


@mutant(fails="queue.pop.exactly-once")
class HidesWhatFollowsAFullBlock(FifoByteQueue):
    """An item that with its length fills a block of 4 KiB hides the one behind it."""

    def pop(self):
        item = super().pop()
        if item is not None and len(item) % 4096 == 4092:
            super().pop()
        return item


@mutant(fails="queue.push.large")
class RefusesLargeItems(FifoMemoryByteQueue):
    """It takes no item of more than a MiB."""

    def push(self, item):
        if len(item) > 1 << 20:
            raise ValueError("too large")
        super().push(item)


@mutant(fails="queue.push.large", hint="Look for a copy")
class WaitsForRoom(FifoMemoryByteQueue):
    """It waits for room for an item of more than a MiB, and never has any."""

    def push(self, item):
        if len(item) > 1 << 20:
            threading.Event().wait()
        super().push(item)


@mutant(fails="queue.push.no-silent-loss")
class IgnoresShortWrites(ChunkedByteQueue):
    """It does not look at how much was written."""

    def push(self, string):
        try:
            super().push(string)
        except OSError:
            self.info["head"][1] += 1
            self.info["size"] += 1


@mutant(fails="queue.push.failed-no-trace")
class StoresBeforeItRefuses(FifoByteQueue):
    """What it refuses is stored nevertheless, as an empty item."""

    def push(self, item):
        try:
            super().push(item)
        except TypeError:
            super().push(b"")
            raise


@mutant(fails="queue.pop.fifo")
class SortsItems(FifoByteQueue):
    """With more than three items stored, it pops the smallest one."""

    def take(self, decode):
        self._next = FifoByteQueue._next if len(self) <= 3 else "SELECT id, item FROM items ORDER BY item LIMIT 1"
        return super().take(decode)

    def peek(self):
        self._next = FifoByteQueue._next if len(self) <= 3 else "SELECT id, item FROM items ORDER BY item LIMIT 1"
        return super().peek()


@mutant(fails="queue.peek.then-push")
class PeekMovesTheFile(LifoByteQueue):
    """A push after a peek is written over the newest item."""

    peeked = False

    def peek(self):
        self.peeked = len(self) > 0
        return super().peek()

    def pop(self):
        self.peeked = False
        return super().pop()

    def push(self, item):
        if self.peeked and isinstance(item, bytes):
            super().pop()
        self.peeked = False
        super().push(item)


@mutant(fails="queuelib.fifo.chunks")
class ForgetsItsChunkSize(ChunkedByteQueue):
    """A reopened queue uses the chunk size of the constructor."""

    def __init__(self, path, chunksize=100000):
        super().__init__(path, chunksize)
        self.chunksize = chunksize


@mutant(fails="queuelib.fifo.reclaim")
class KeepsChunks(ChunkedByteQueue):
    """It keeps the files of consumed chunks until it is closed."""

    def pop(self):
        name = self.tailf.name
        item = super().pop()
        if not os.path.exists(name):
            Path(name).touch()
        return item


@mutant(fails="queuelib.clear")
class ClearsAllButTheCount(ChunkedByteQueue):
    """It goes on counting what is in its last chunk when it is cleared."""

    def clear(self):
        count = self.info["head"][1]
        super().clear()
        self.info["head"][1] = count


@mutant(fails="queuelib.clear.space")
class ClearKeepsTheSpace(FifoByteQueue):
    """Its clear does not give the space on the disk back."""

    def clear(self):
        self._database.execute("DELETE FROM items")
        self._length = 0


@mutant(fails="queuelib.clear")
class CountsWhatItCleared(FifoMemoryByteQueue):
    """It counts pushes and pops, and does not begin again where it is cleared."""

    def __init__(self):
        super().__init__()
        self._count = 0

    def push(self, item):
        super().push(item)
        self._count += 1

    def pop(self):
        self._count -= super().__len__() > 0
        return super().pop()

    def __len__(self):
        return self._count


@mutant(fails="queue.len.count")
class CountsOneTooMany(FifoByteQueue):
    """Its length is one too many."""

    def __len__(self):
        return super().__len__() + 1


@mutant(fails="queue.len.count")
class SaysThatItIsEmpty(FifoByteQueue):
    """Its length is 0, whatever it has stored."""

    def __len__(self):
        return 0


@mutant(fails="queue.len.count", hint="Let `__len__` return a number")
class HasNoLength(FifoByteQueue):
    """Its length is a text."""

    def __len__(self):
        return str(super().__len__())


@mutant(fails="queuelib.clear")
class ClearLeavesOne(FifoMemoryByteQueue):
    """Its clear leaves the last item."""

    def clear(self):
        while len(self) > 1:
            self.pop()


@mutant(fails="queuelib.pathlike")
class WantsText(FifoByteQueue):
    """It adds an ending to its path, which must be text."""

    def __init__(self, path):
        super().__init__(path + ".queue")


@mutant(fails="queue.fault.recovers", control=FIFO, hint="Do not raise again in `close`")
class TellsOfARefusalAgain(refusals.TellsAgain, FifoByteQueue):
    """Raises once more, when it is closed, that it was given no bytes."""

    refusals = TypeError


@mutant(fails="queue.peek.then-push")
class TidiesUpWhatIsPeeked(FifoByteQueue):
    """After 500 pops, a push tidies its file up, and takes out what a peek is holding in memory, which a close forgets."""

    _popped, _peeked, _held = 0, None, None

    def push(self, item):
        if self._peeked is not None and self._held is None and self._popped >= 500:
            self._held = super().pop()
        super().push(item)

    def peek(self):
        self._peeked = self._held if self._held is not None else super().peek()
        return self._peeked

    def pop(self):
        self._popped += 1
        held, self._held, self._peeked = self._held, None, None
        return super().pop() if held is None else held

    def __len__(self):
        return super().__len__() + (self._held is not None)


@mutant(fails="queue.persist.reopen")
class SkipsEmptyItemsWhenItOpens(FifoByteQueue):
    """It takes empty items that it finds when it opens for the ends of others, and removes them."""

    def __init__(self, path):
        super().__init__(path)
        self._length -= self._database.execute("DELETE FROM items WHERE item = x''").rowcount


@mutant(fails="queue.persist.partial")
class LeavesALongerBacklog(FifoByteQueue):
    """It keeps what waits in pages of a thousand as well, and clears no more than the first page when it has read them."""

    def __init__(self, path):
        super().__init__(path)
        self._database.execute("CREATE TABLE IF NOT EXISTS kept (place INTEGER PRIMARY KEY, id, item)")
        self._database.execute("INSERT OR IGNORE INTO items SELECT id, item FROM kept")
        self._database.execute("DELETE FROM kept WHERE place < 1000")
        (self._length,) = self._database.execute("SELECT COUNT(*) FROM items").fetchone()

    def close(self):
        if not self._closed:
            numbered = "SELECT row_number() OVER (ORDER BY id) - 1, id, item FROM items"
            self._database.execute(f"INSERT OR REPLACE INTO kept {numbered}")
        super().close()


class PacksHundreds(LifoMemoryByteQueue):
    """What lies deep in it is packed, a hundred items at a time; LIFO."""

    def __init__(self):
        super().__init__()
        self._packed = []

    def push(self, item):
        super().push(item)
        if len(self._items) == 100:
            self._packed.append(pickle.dumps(self._items))
            self._items.clear()

    def _unpack(self):
        if not self._items and self._packed:
            self._items.extend(pickle.loads(self._packed.pop()))

    def pop(self):
        self._unpack()
        return super().pop()

    def peek(self):
        self._unpack()
        return super().peek()

    def clear(self):
        super().clear()
        self._packed.clear()

    def __len__(self):
        return super().__len__() + 100 * len(self._packed)


@mutant(fails="queue.peek.no-effect", control="mutants.bytequeues.PacksHundreds")
class PeeksIntoWhatIsPacked(PacksHundreds):
    """Its peek unpacks a hundred items where no other is left, and leaves them packed as well."""

    def peek(self):
        if not self._items and self._packed:
            self._items.extend(pickle.loads(self._packed[-1]))
        return super().peek()
