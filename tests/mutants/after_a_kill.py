"""Wrong queues whose storage contradicts itself, or what was stored, once their process was killed."""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

from mutants import mutant
from mutants.controls import LogByteQueue, SharedFile
from mutants.controls_stores import OrderBeside
from mutants.crash import CRASH_SAFE
from queue_conformance import SerializationError

BESIDE = "mutants.controls_stores.OrderBeside"
LENGTH = "queue.persist.crash-length"


# --- Length and contents ---------------------------------------------------------------------------------------------


class BelievesItsOrder(OrderBeside):
    """It counts an item whose place was written and whose file was not, and gives nothing in its place, for ever."""

    def complete(self, names):
        return deque(names)

    def peek(self):
        if not self.names or not (self.path / self.names[0]).exists():
            return None
        return super().peek()

    def pop(self):
        return super().pop() if self.peek() is not None else None


@mutant(fails=LENGTH, control=BESIDE)
class WaitsForALostItem(BelievesItsOrder):
    """It counts an item whose place was written and whose file was not, and gives nothing in its place, for ever."""


@mutant(fails=LENGTH, control=BESIDE, claims=CRASH_SAFE)
class WaitsThoughItIsCrashSafe(BelievesItsOrder):
    """The same, of one that claims to be crash-safe; of what was stored before, nothing is lost."""


@mutant(fails=LENGTH, claims={"shared": "yes"})
class CountsForEver(SharedFile):
    """It notes each request before it stores it, and counts one that was noted alone for ever, in each of its processes."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._connection.execute("CREATE TABLE IF NOT EXISTS noted (id INTEGER PRIMARY KEY)")

    def push(self, request):
        self._connection.execute("INSERT INTO noted DEFAULT VALUES")
        try:
            super().push(request)
        except SerializationError:
            self._connection.execute("DELETE FROM noted WHERE id = (SELECT max(id) FROM noted)")
            raise

    def pop(self):
        request = super().pop()
        if request is not None:
            self._connection.execute("DELETE FROM noted WHERE id = (SELECT min(id) FROM noted)")
        return request

    def __len__(self):
        return self._connection.execute("SELECT count(*) FROM noted").fetchone()[0]


@mutant(fails=LENGTH, may_fail=("queue.persist.partial-fault", "queue.close.keeps", "queue.close.empty-removes"))
class CountsBeside(LogByteQueue):
    """It keeps its length in a file of its own, which it writes first."""

    def __init__(self, path):
        self._count = Path(f"{os.fspath(path)}.count")
        super().__init__(path)
        self._length = int(self._count.read_text()) if self._count.exists() else len(self._items)

    def _note(self, length):
        new = self._count.with_suffix(".new")
        new.write_text(str(length))
        new.replace(self._count)
        self._length = length

    def push(self, item):
        before = self._length
        self._note(len(self._items) + 1)
        try:
            super().push(item)
        except BaseException:
            self._length = before
            raise

    def pop(self):
        item = super().pop()
        if item is not None:
            self._note(len(self._items))
        return item

    def clear(self):
        super().clear()
        self._note(0)

    def __len__(self):
        return self._length


@mutant(fails=LENGTH, may_fail="queue.persist.partial-fault")
class CountsWhatItRewrites(LogByteQueue):
    """It rewrites its log in place after each twentieth item that it gave, and meanwhile notes how many there are."""

    _given = _missing = 0

    def __init__(self, path):
        super().__init__(path)
        self._count = Path(f"{os.fspath(path)}.count")
        if self._count.exists():
            self._missing = int(self._count.read_text()) - len(self._items)

    def pop(self):
        item = super().pop()
        self._given += item is not None
        if self._given == 20:
            self._rewrite()
        return item

    def _rewrite(self):
        self._given = 0
        self._count.write_text(str(len(self._items)))
        os.ftruncate(self._file, 0)
        self._append(self.MAGIC)
        for item in self._items:
            self._append(self._record(item))
        self._count.unlink()

    def __len__(self):
        return super().__len__() + self._missing


# --- Stores that were used before ------------------------------------------------------------------------------------


@mutant(fails="queue.persist.crash-push", may_fail="queue.close.keeps-fault", claims=CRASH_SAFE)
class BelievesAnOldEnd(LogByteQueue):
    """Its close notes where the log ends, and the note stays when the next run goes on."""

    def __init__(self, path):
        self._mark = Path(f"{os.fspath(path)}.clean")
        if self._mark.exists() and Path(path).exists():
            os.truncate(path, min(int(self._mark.read_text()), os.path.getsize(path)))
        super().__init__(path)

    def close(self):
        if not self._closed:
            if self._items:
                self._mark.write_text(str(os.lseek(self._file, 0, os.SEEK_END)))
            else:
                self._mark.unlink(missing_ok=True)
        super().close()


@mutant(fails="queue.persist.crash-push", claims=CRASH_SAFE)
class BelievesItsRescue(LogByteQueue):
    """What it finds after an unclean end it keeps for later ones too, though more was stored meanwhile."""

    def __init__(self, path):
        path = Path(path)
        self._owner, self._rescued = (path.with_name(path.name + end) for end in (".open", ".rescued"))
        if self._owner.exists() and path.exists():
            if self._rescued.exists():
                path.write_bytes(self._rescued.read_bytes())
            self._rescued.write_bytes(path.read_bytes())
        super().__init__(path)
        self._owner.touch()

    def close(self):
        super().close()
        self._owner.unlink(missing_ok=True)
        self._rescued.unlink(missing_ok=True)
