"""Implementations that are right, and cost more the more they hold or have seen, or keep what is gone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import ClassVar

from mutants import mutant
from mutants.controls import Positions
from queue_reference.bytequeues import FifoByteQueue, FifoMemoryByteQueue
from queue_reference.disk import FifoDiskQueue
from queue_reference.dupefilter import DupeFilter
from queue_reference.memory import FifoMemoryQueue, LifoMemoryQueue
from queue_reference.pqueues import PriorityQueue
from queue_reference.scheduler import Scheduler


@mutant(fails="queue.scale.stored", hint="Take the next one from an end")
class LooksAtAllToPop(FifoMemoryQueue):
    """Its pop looks at each request that it holds."""

    def pop(self):
        first = len(self)
        for number, _ in enumerate(self._requests):
            first = min(first, number)
        return super().pop()


@mutant(fails="queue.scale.stored", hint="Count in `push` and `pop`")
class CountsAnew(FifoMemoryByteQueue):
    """Its length counts the items."""

    def __len__(self):
        return sum(1 for _ in self._items)


@mutant(fails="queue.scale.stored", hint="Append; write no file")
class CopiesToPush(LifoMemoryQueue):
    """Its push copies all that it holds, in one call."""

    def push(self, request):
        self._requests = [*self._requests, request]


@mutant(fails="queue.scale.stored", hint="Close the file of an item", may_fail="queue.close.releases")
class HoldsAFileOpenForEach(LifoMemoryQueue):
    """It holds a file open for each request, until that is popped."""

    def __init__(self):
        super().__init__()
        self._files = []

    def push(self, request):
        self._files.append(os.open(os.devnull, os.O_RDONLY))
        super().push(request)

    def pop(self):
        if self._files:
            os.close(self._files.pop())
        return super().pop()

    def close(self):
        while self._files:
            os.close(self._files.pop())
        super().close()


@mutant(fails="queue.scale.stored", may_fail="queue.push.failed-no-trace-fault")
class WritesAnIndexAnew(FifoDiskQueue):
    """Its push writes a file with a line for each request that it holds."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._index = Path(f"{key}.index")

    def push(self, request):
        super().push(request)
        self._index.write_text("the URL of a request that waits\n" * len(self))

    def close(self):
        self._index.unlink(missing_ok=True)
        super().close()


@mutant(fails="queue.scale.stored", may_fail="queue.push.failed-no-trace-fault")
class ReadsAllToPeek(WritesAnIndexAnew):
    """Its peek reads a file with a line for each request that it holds."""

    def push(self, request):
        FifoDiskQueue.push(self, request)
        with self._index.open("a") as index:
            index.write("the URL of a request that waits\n")

    def peek(self):
        if self._index.exists():
            self._index.read_bytes()
        return super().peek()


class Unordered(FifoByteQueue):
    """A byte queue of which SQLite sorts all items to find the next one."""

    _next: ClassVar[str] = "SELECT id, item FROM items WHERE id NOT IN aside ORDER BY id + 0 LIMIT 1"


@mutant(fails="queue.persist.reopen")
class WalksOverWhatIsGone(FifoByteQueue):
    """It calls itself once for each item that is gone, when it is opened."""

    def __init__(self, *arguments, **keywords):
        super().__init__(*arguments, **keywords)
        (first,) = self._database.execute("SELECT MIN(id) FROM items").fetchone()
        self._walk(first or 1)

    def _walk(self, number):
        return number == 1 or self._walk(number - 1)


@mutant(fails="queue.scale.stored")
class SortsAllInSqlite(FifoDiskQueue):
    """Its pop and peek sort a table without an index."""

    _storage: ClassVar[type[FifoByteQueue]] = Unordered


@mutant(fails="queue.scale.kept")
class KeepsWhatItPopped(Positions):
    """Its pop moves a position in a list, which only grows."""

    def _drop(self):
        pass


# --- Priority queues, schedulers and dupefilters -----------------------------------------------------------------------


@mutant(fails="pq.scale.stored")
class CountsOneByOne(PriorityQueue):
    """Its length adds one for each request."""

    def __len__(self):
        return sum(1 for _ in range(super().__len__()))


@mutant(fails="pq.scale.stored")
class WalksToPop(PriorityQueue):
    """Its pop walks along a list of all requests."""

    def pop(self):
        for _ in range(len(self)):
            pass
        return super().pop()


@mutant(fails="pq.scale.kept")
class RemembersTheLast(PriorityQueue):
    """It remembers each request that it returned."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._returned = []

    def pop(self):
        request = super().pop()
        self._returned.append(request)
        return request


@mutant(fails="scheduler.scale.stored")
class AsksEachRequest(Scheduler):
    """It looks at each request to tell whether there is one."""

    def has_pending_requests(self):
        return sum(1 for _ in range(len(self))) > 0


@mutant(fails="scheduler.scale.stored")
class SortsToTakeTheNext(Scheduler):
    """It sorts all that it holds before it takes the next request."""

    def next_request(self):
        sorted(range(len(self)), key=lambda number: -number)
        return super().next_request()


@mutant(fails="scheduler.scale.stored")
class WritesAJournalAnew(Scheduler):
    """It writes a file with a line for each request whenever one is stored."""

    def _store(self, request):
        if self._job:
            Path(self._job, "requests.queue", "journal.new").write_text("the URL of a request that waits\n" * len(self))
        return super()._store(request)


@mutant(fails="scheduler.scale.kept")
class RemembersWhatIsDone(Scheduler):
    """It keeps each request that it returned, by its URL."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._done = {}

    def next_request(self):
        request = super().next_request()
        if request is not None:
            self._done[request.url] = request
        return request


@mutant(fails="dupefilter.scale.seen")
class LooksAtAllThatWasSeen(DupeFilter):
    """It compares each request with all that it has seen."""

    def request_seen(self, request):
        for _ in self._seen:
            pass
        return super().request_seen(request)


@mutant(fails="dupefilter.scale.kept")
class KeepsRequests(DupeFilter):
    """It keeps the requests that it has seen."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._requests = []

    def request_seen(self, request):
        seen = super().request_seen(request)
        if not seen:
            self._requests.append(request)
        return seen


@mutant(fails="queue.pop.exactly-once", control="queue_reference.disk.FifoDiskQueue")
class ForgetsTheOldestOfMany(FifoDiskQueue):
    """Where more than a hundred queues are open, the one that was opened first loses what it holds."""

    opened: ClassVar[list[FifoDiskQueue]] = []

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self.opened.append(self)
        if len(self.opened) > 100:
            self.opened.pop(0)._queue.clear()

    def push(self, request):
        super().push(request)
        if self not in self.opened:
            self._queue.clear()

    def close(self):
        super().close()
        if self in self.opened:
            self.opened.remove(self)
