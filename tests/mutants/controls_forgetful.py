"""Right implementations that keep nothing, or not what a trace of theirs may suggest."""

from __future__ import annotations

import os
import pickle
from collections import deque
from pathlib import Path

import queuelib.queue
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.request import request_from_dict

from mutants.controls_pqueues import ForgetsAtClose
from mutants.controls_schedulers import PlainScheduler
from mutants.forgetful import KeepsOnlyWhatWasSeen, StoresNothing
from queue_reference.memory import FifoMemoryQueue


class InMemory(StoresNothing):
    """A queue in memory, which takes a path because those who build queues give one."""

    def push(self, item):
        self.items.append(item)


class LocksItsKey(FifoMemoryQueue):
    """A queue in memory; a file beside its key tells other processes that it is in use."""

    def __init__(self, crawler, key):
        super().__init__()
        self.path = Path(f"{key}.lock")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def close(self):
        super().close()
        self.path.unlink(missing_ok=True)


class KeepsALog(FifoMemoryQueue):
    """A queue in memory, which logs where the process works."""

    def __init__(self):
        super().__init__()
        self.log = Path("queue.log").open("a", buffering=1)  # noqa: SIM115
        self.log.write("opened\n")

    def close(self):
        super().close()
        self.log.close()


class LogsItsCrawls(PlainScheduler):
    """A scheduler in memory, which logs where the process works."""

    def open(self, spider):
        Path("scheduler.log").write_text(f"opened for {spider.name}\n")


class NotesItsProcess(LocksItsKey):
    """A queue in memory; a file below its key names the process that has it open."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self.path = Path(f"{key}.owner")
        self.path.write_text(str(os.getpid()))


class SpillsOver:
    """A queue that puts all but the next request into files, which are of no use to anybody once it is closed."""

    def __init__(self, crawler, key):
        self.spider, self.directory = crawler.spider, Path(key)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.files = deque()
        self.pushed = 0

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def push(self, request):
        try:
            data = pickle.dumps(request.to_dict(spider=self.spider))
            self.rebuilt(data)
        except Exception as error:
            raise ValueError(str(error)) from error
        self.pushed += 1
        path = self.directory / str(self.pushed)
        try:
            path.write_bytes(data)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        self.files.append(path)

    def rebuilt(self, data):
        return request_from_dict(pickle.loads(data), spider=self.spider)

    def peek(self):
        return self.rebuilt(self.files[0].read_bytes()) if self.files else None

    def pop(self):
        request = self.peek()
        if request is not None:
            self.files.popleft().unlink()
        return request

    def close(self):
        while self.files:
            self.files.popleft().unlink()
        if self.directory.exists():
            self.directory.rmdir()

    def __len__(self):
        return len(self.files)


class NewestLifoQueue(queuelib.queue.FifoMemoryQueue):
    """Its base class is FIFO, and its own name says that it is not."""

    def pop(self):
        return self.q.pop() if self.q else None

    def peek(self):
        return self.q[-1] if self.q else None


class CountsRequests(BaseDupeFilter):
    """It filters nothing."""

    def __init__(self):
        self.seen = 0

    def request_seen(self, request):
        self.seen += 1
        return False


class FiltersByItem(BaseDupeFilter):
    """Filters by a number in the meta, and what has none not at all."""

    numbers = frozenset()

    def request_seen(self, request):
        number = request.meta.get("item")
        if number is None:
            return False
        seen = number in self.numbers
        self.numbers |= {number}
        return seen


class FiltersOneSite(BaseDupeFilter):
    """Filters the pages of one site."""

    def __init__(self):
        self.pages = set()

    def request_seen(self, request):
        if "shop.example" in request.url:
            seen = request.url in self.pages
            self.pages.add(request.url)
            return seen
        return False


class FiltersOneRun(BaseDupeFilter):
    """It filters, and remembers nothing in the next run."""

    def __init__(self, crawler):
        self.fingerprinter, self.seen = crawler.request_fingerprinter, set()

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def request_seen(self, request):
        found = self.fingerprinter.fingerprint(request)
        if found in self.seen:
            return True
        self.seen.add(found)
        return False


class ForOneRun(KeepsOnlyWhatWasSeen):
    """A scheduler for crawls that are never resumed."""


class ForQueuesInMemory(ForgetsAtClose):
    """A priority queue for queues in memory."""
