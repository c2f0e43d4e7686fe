"""A scheduler that keeps every rule: nothing is lost between its queues, its filter and its files."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler, load_object

from queue_conformance.errors import TransientError

if TYPE_CHECKING:
    from typing import Self

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.dupefilters import BaseDupeFilter
    from twisted.internet.defer import Deferred

logger = logging.getLogger(__name__)


class Queue(Protocol):
    """A downstream queue."""

    def push(self, request: Request) -> None: ...
    def pop(self) -> Request | None: ...
    def close(self) -> None: ...
    def __len__(self) -> int: ...


class Scheduler:
    """Requests of higher priority come first; of equal ones those in memory, and start requests last.

    It uses the queues and the dupefilter of the settings, and sorts requests by priority on its own.

    Args:
        crawler: the crawler of the crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._filter: BaseDupeFilter = build_from_crawler(load_object(crawler.settings["DUPEFILTER_CLASS"]), crawler)
        self._job = job_dir(crawler.settings)
        self._debug = crawler.settings.getbool("SCHEDULER_DEBUG")
        self._memory = Buckets(crawler, "MEMORY")
        self._disk: DiskBuckets | None = None
        self._unstored = Unstored()
        self._forgiven: set[str] = set()
        self._closed = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the scheduler of a crawler."""
        return cls(crawler)

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Continue what an earlier crawl left in the job directory.

        Raises:
            ValueError: if it was left by other queues, or cannot be read.
        """
        self._spider = spider
        if self._job:
            directory = Path(self._job, "requests.queue")
            self._disk = DiskBuckets(self._crawler, directory)
            self._unstored = Unstored(directory / "unstored")
            self._forgiven = set(self._unstored.fingerprints)  # what was seen but is nowhere may come again
            if self._disk:
                logger.info("Resuming crawl (%d requests scheduled)", len(self._disk))
        return self._filter.open()

    def close(self, reason: str) -> Deferred[None] | None:
        """Release everything; what is on disk stays there."""
        if self._closed:
            return None
        self._closed = True
        if self._disk is not None:
            self._disk.close()
        self._unstored.close()
        return self._filter.close(reason)

    def has_pending_requests(self) -> bool:
        """Whether something is left."""
        return len(self) > 0

    def __len__(self) -> int:
        return len(self._memory) + (len(self._disk) if self._disk is not None else 0)

    # --- Requests ----------------------------------------------------------------------------------------------------

    def enqueue_request(self, request: Request) -> bool:
        """Store a request; false if it is a duplicate.

        Raises:
            Exception: what the disk queue raises, unless that is a reason to use the memory. The request may come again.
        """
        fingerprint = "" if request.dont_filter else self._fingerprint(request)
        noted = bool(fingerprint) and self._unstored.add(fingerprint)  # before the filter records it
        if fingerprint and self._filter.request_seen(request) and fingerprint not in self._forgiven:
            if noted:
                self._unstored.discard(fingerprint)
            self._filter.log(request, self._spider)
            return False
        try:
            place = self._store(request)
        except BaseException:
            self._forgiven.add(fingerprint)
            raise
        self._forgiven.discard(fingerprint)
        if place == "disk":
            self._unstored.discard(fingerprint)
        self._count("enqueued", f"enqueued/{place}")
        return True

    def next_request(self) -> Request | None:
        """Take out the next request; ``None`` if there is none, or the disk queue has a temporary problem.

        Raises:
            Exception: what the disk queue raises. The crawl ends then: its engine would ask again and again.
        """
        place, request = "disk", None
        if self._disk and (not self._memory or self._disk.highest > self._memory.highest):
            request = self._pop_from_disk(self._disk)
        if request is None and self._memory:
            place, request = "memory", self._memory.pop()
        if request is None:
            return None
        if place == "memory" and not request.dont_filter:
            self._unstored.discard(self._fingerprint(request))
        self._count("dequeued", f"dequeued/{place}")
        return request

    def _pop_from_disk(self, disk: DiskBuckets) -> Request | None:
        try:
            return disk.pop()
        except Exception:
            if self._crawler.crawling and self._crawler.engine is not None:
                self._crawler.engine.close_spider(self._spider, "queue_failed")
            raise

    def _store(self, request: Request) -> str:
        """Store a request on disk, or else in memory; return where."""
        if self._disk is not None:
            try:
                self._disk.push(request)
            except ValueError as error:
                self._count("unserializable")
                if self._debug:
                    self._debug = False
                    logger.warning("Unable to serialize %s (%s); no more such requests are logged", request, error)
            except TransientError:
                pass
            else:
                return "disk"
        self._memory.push(request)
        return "memory"

    def _fingerprint(self, request: Request) -> str:
        assert self._crawler.request_fingerprinter is not None
        return self._crawler.request_fingerprinter.fingerprint(request).hex()

    def _count(self, *names: str) -> None:
        assert self._crawler.stats is not None
        for name in names:
            self._crawler.stats.inc_value(f"scheduler/{name}")


class Buckets:
    """One queue for each priority, and one for the start requests of it, if the settings name a class for these.

    Args:
        crawler: the crawler of the crawl.
        place: ``MEMORY`` or ``DISK``, as in the names of the settings.
        directory: where the queues keep what they hold.
    """

    def __init__(self, crawler: Crawler, place: str, directory: str = "") -> None:
        self._crawler = crawler
        self._directory = directory
        named = [crawler.settings[f"SCHEDULER_{prefix}{place}_QUEUE"] for prefix in ("", "START_")]
        self._classes: list[Any] = [load_object(name) if name else None for name in named]
        self._queues: dict[tuple[int, bool], Queue] = {}

    def __len__(self) -> int:
        return sum(map(len, self._queues.values()))

    @property
    def highest(self) -> int:
        """The highest priority that is stored."""
        return self._best()[0]

    def push(self, request: Request) -> None:
        """Store a request; nothing changes if that fails."""
        start = bool(request.meta.get("is_start_request")) and self._classes[True] is not None
        self._queue((request.priority, start)).push(request)

    def pop(self) -> Request | None:
        """Take out the next request; ``None`` if its queue has a temporary problem."""
        bucket = self._best()
        request = self._queues[bucket].pop()
        if len(self._queues[bucket]) == 0:
            self._queues.pop(bucket).close()
        return request

    def close(self) -> None:
        """Close all queues."""
        for queue in self._queues.values():
            queue.close()

    def _best(self) -> tuple[int, bool]:
        """Return the bucket that comes next; those that are empty, because a push failed, do not count."""
        return max((b for b, queue in self._queues.items() if len(queue)), key=lambda bucket: (bucket[0], not bucket[1]))

    def _queue(self, bucket: tuple[int, bool]) -> Queue:
        if bucket not in self._queues:
            key = f"{self._directory}/{bucket[0]}{'s' if bucket[1] else ''}"
            self._queues[bucket] = build_from_crawler(self._classes[bucket[1]], self._crawler, key)
        return self._queues[bucket]


def describe(cls: type | None) -> str:
    """Return a text that is another one for every class of queues."""
    return repr(cls and cls.__mro__)


class DiskBuckets(Buckets):
    """Buckets that can be found again: a file names them, and is written before anything is stored in a new one.

    Raises:
        ValueError: if the file is damaged or gone, or other classes wrote what the directory holds.
    """

    def __init__(self, crawler: Crawler, directory: Path) -> None:
        super().__init__(crawler, "DISK", str(directory))
        self._index = directory / "index.json"
        self._about = [describe(cls) for cls in self._classes]
        self._named: set[tuple[int, bool]] = set()
        directory.mkdir(parents=True, exist_ok=True)
        if self._index.exists():
            found = json.loads(self._index.read_text("utf-8"))
            if found["classes"] != self._about:
                raise ValueError(f"{directory} was written by other queues: {found['classes']}, not {self._about}")
            self._named = {(priority, start) for priority, start in found["buckets"]}
            for bucket in self._named:
                self._queue(bucket)
        elif any(path.suffix != ".new" for path in directory.iterdir()):
            raise ValueError(f"{self._index} is gone, so what {directory} holds cannot be told")
        self._write()

    def _queue(self, bucket: tuple[int, bool]) -> Queue:
        if bucket not in self._named:
            self._named.add(bucket)
            self._write()
        return super()._queue(bucket)

    def close(self) -> None:
        self._named = {bucket for bucket, queue in self._queues.items() if len(queue)}
        super().close()
        self._write()

    def _write(self) -> None:
        """Replace the file as a whole."""
        text = json.dumps({"classes": self._about, "buckets": sorted(self._named)})
        new = self._index.with_suffix(".new")
        new.write_text(text, "utf-8")
        os.replace(new, self._index)


class Unstored:
    """The fingerprints of requests that the filter has seen, or is about to see, and that are not on disk.

    Args:
        path: a file that keeps them, one line for each change.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.fingerprints: set[str] = set()
        self._file: int | None = None
        if path is None:
            return
        for line in path.read_text("ascii").splitlines() if path.exists() else ():
            (self.fingerprints.add if line.startswith("+") else self.fingerprints.discard)(line[1:])
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def add(self, fingerprint: str) -> bool:
        """Note a fingerprint; return whether it is new."""
        if fingerprint in self.fingerprints:
            return False
        self._write(f"+{fingerprint}\n")
        self.fingerprints.add(fingerprint)
        return True

    def discard(self, fingerprint: str) -> None:
        """Forget a fingerprint."""
        if fingerprint in self.fingerprints:
            self.fingerprints.discard(fingerprint)
            self._write(f"-{fingerprint}\n")

    def close(self) -> None:
        """Release the file."""
        if self._file is not None:
            os.close(self._file)

    def _write(self, line: str) -> None:
        if self._file is not None:
            os.write(self._file, line.encode("ascii"))
