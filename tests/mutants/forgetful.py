"""Mutants that lose all of what they should keep, or never do what they are for, so that nothing of it shows."""

from __future__ import annotations

import heapq
import pickle
from collections import deque
from contextlib import suppress
from itertools import count
from pathlib import Path

import queuelib.queue
from scrapy.dupefilters import RFPDupeFilter
from scrapy.extensions.spiderstate import SpiderState as ReleasedState
from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler, load_object

from mutants import mutant
from mutants.controls import ChunkedByteQueue
from mutants.controls_schedulers import FilteringScheduler
from queue_reference.bytequeues import FifoByteQueue
from queue_reference.disk import FifoDiskQueue
from queue_reference.dupefilter import DupeFilter
from queue_reference.pqueues import PriorityQueue
from queue_reference.state import SpiderState

FIFO_BYTES = "queue_reference.bytequeues.FifoByteQueue"
FIFO_MEMORY_BYTES = "queue_reference.bytequeues.FifoMemoryByteQueue"
DUPEFILTER = "queue_reference.dupefilter.DupeFilter"
STATE = "queue_reference.state.SpiderState"


@mutant(fails="queue.persist.reopen")
class RemovesItsFile(FifoDiskQueue):
    """Its close removes the file, whatever is in it."""

    def close(self):
        if not self._queue._closed:
            self._queue.clear()
        super().close()


@mutant(fails="queue.persist.reopen", control=FIFO_BYTES)
class NeverLoads(ChunkedByteQueue):
    """It begins with nothing, whatever is in its files."""

    def _loadinfo(self, chunksize):
        return {"chunksize": chunksize, "size": 0, "tail": [0, 0, 0], "head": [0, 0]}


@mutant(fails="queue.persist.reopen", control=FIFO_BYTES)
class StoresNothing:
    """A queue for a path, which it leaves empty."""

    def __init__(self, path):
        self.path, self.items = path, deque()

    def push(self, item):
        if not isinstance(item, bytes):
            raise TypeError(item)
        self.items.append(item)

    def pop(self):
        return self.items.popleft() if self.items else None

    def peek(self):
        return self.items[0] if self.items else None

    def close(self):
        pass

    def __len__(self):
        return len(self.items)


@mutant(fails="queue.pop.fifo", control=FIFO_MEMORY_BYTES)
class FifoTurnedRound(queuelib.queue.FifoMemoryQueue):
    """Its base class is FIFO, and it is not."""

    def pop(self):
        return self.q.pop() if self.q else None

    def peek(self):
        return self.q[-1] if self.q else None


@mutant(fails=("queue.peek.equals-pop", "queue.peek.empty-none"), control=FIFO_MEMORY_BYTES)
class PeekGivenUp(queuelib.queue.FifoMemoryQueue):
    """Its base class can peek, and it says that it cannot."""

    def peek(self):
        raise NotImplementedError("no peek")


@mutant(fails=("queue.peek.equals-pop", "queue.peek.empty-none"))
class PeekFails(FifoByteQueue):
    """Its peek reads an attribute that is not there."""

    def peek(self):
        return self._database.next_item


@mutant(fails=("pq.resume.all", "pq.resume.foreign-state"))
class ForgetsItsState(PriorityQueue):
    """Its close tells nobody what is left in the queues below."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), **keywords):
        super().__init__(crawler, downstream_queue_cls, key, (), **keywords)

    def close(self):
        super().close()


@mutant(fails=("dupefilter.seen.first", "dupefilter.seen.custom-fingerprinter", "dupefilter.persist.resume"))
class NeverSeen(DupeFilter):
    """It notes what it sees, and never says so."""

    def request_seen(self, request):
        super().request_seen(request)
        return False


@mutant(
    fails=(
        "dupefilter.seen.first",
        "dupefilter.seen.custom-fingerprinter",
        "dupefilter.subclass.fingerprint",
        "dupefilter.persist.resume",
        "dupefilter.format.unknown",
    ),
    control=DUPEFILTER,
)
class NeverSeenInMemory(RFPDupeFilter):
    """Its base class is released, and it never says what that finds out."""

    def request_seen(self, request):
        super().request_seen(request)
        return False


@mutant(fails=("dupefilter.persist.resume", "dupefilter.format.unknown"))
class BeginsAnew(DupeFilter):
    """It empties its file when it begins."""

    def _resumed(self, path):
        path.unlink(missing_ok=True)
        return super()._resumed(path)


@mutant(fails=("state.restored", "state.saved", "state.torn"))
class NeverRestores(SpiderState):
    """It saves the state, and begins with an empty one."""

    def spider_opened(self, spider):
        spider.state = {}


@mutant(fails=("state.restored", "state.saved"), control=STATE)
class NeverSaves(ReleasedState):
    """Its base class is released, and it saves nothing."""

    def spider_closed(self, spider):
        pass


class InMemory:
    """A scheduler that keeps its requests in memory, with the filter of the settings."""

    def __init__(self, crawler):
        self.crawler, self.requests, self.numbers = crawler, [], count()
        self.filter = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open(self, spider):
        return self.filter.open()

    def close(self, reason):
        return self.filter.close(reason)

    def enqueue_request(self, request):
        if not request.dont_filter and self.filter.request_seen(request):
            self.filter.log(request, self.crawler.spider)
            return False
        heapq.heappush(self.requests, (-request.priority, next(self.numbers), request))
        return True

    def next_request(self):
        return heapq.heappop(self.requests)[2] if self.requests else None

    def has_pending_requests(self):
        return bool(self.requests)


@mutant(
    fails=("scheduler.close.memory-unseen", "scheduler.resume.all"),
    control="queue_reference.scheduler.Scheduler",
)
class KeepsOnlyWhatWasSeen(InMemory):
    """Its filter remembers in the job directory what was seen, and its requests are gone."""


@mutant(
    fails=("scheduler.close.memory-unseen", "scheduler.resume.all"),
    control="queue_reference.scheduler.Scheduler",
)
class WritesTooLate(InMemory):
    """It writes its requests to the job directory, and never reads them."""

    def close(self, reason):
        directory = self.crawler.settings["JOBDIR"]
        if directory:
            with Path(directory, "requests.pickle").open("wb") as file:
                for *_, request in self.requests:
                    with suppress(Exception):
                        file.write(pickle.dumps(request.to_dict(spider=self.crawler.spider)))
        return super().close(reason)


@mutant(fails="scheduler.persist.evidence", control="mutants.controls_schedulers.SQLiteScheduler")
class WritesThreeTooLate(FilteringScheduler):
    """It writes its requests to the job directory where three of them wait, and never reads them."""

    name = "requests.txt"

    def open(self, spider):
        self.job = job_dir(spider.settings)
        return super().open(spider)

    def close(self, reason):
        if self.job and len(self.heap) >= 3:
            Path(self.job, self.name).write_text("\n".join(request.url for *_, request in self.heap))
        return super().close(reason)


@mutant(
    fails="scheduler.persist.evidence",
    control="mutants.controls_schedulers.SQLiteScheduler",
    hint="The filter remembers what",
)
class NotesThreeThatItForgets(WritesThreeTooLate):
    """Where three requests wait, it notes in the job directory that it has seen them, and forgets them."""

    name = "requests.seen"
