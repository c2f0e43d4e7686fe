"""Wrong schedulers: the order of requests, and what is left of a crawl that was stopped."""

from __future__ import annotations

import json
import shutil
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from mutants import mutant
from queue_reference.scheduler import Buckets, Scheduler, describe

CRASH_SAFE = {"crash-safe": "yes"}
QUEUES = {
    "SCHEDULER_DISK_QUEUE": "queue_reference.disk.LifoDiskQueue",
    "SCHEDULER_START_DISK_QUEUE": "queue_reference.disk.FifoDiskQueue",
}


def directory_of(scheduler):
    """Return where a scheduler keeps its files, or None."""
    return Path(scheduler._job, "requests.queue") if scheduler._job else None


# --- Order -----------------------------------------------------------------------------------------------------------


@mutant(fails="scheduler.next.no-spurious-none")
class PausesAfterAFallback(Scheduler):
    """After a request that the disk queue refused, it returns nothing once."""

    pause = False

    def _store(self, request):
        place = super()._store(request)
        self.pause = self._disk is not None and place == "memory"
        return place

    def next_request(self):
        if self.pause:
            self.pause = False
            return None
        return super().next_request()


@mutant(fails="scheduler.next.memory-first")
class PrefersTheDisk(Scheduler):
    """Of equal priorities it takes what is on disk first."""

    def next_request(self):
        if self._disk and self._memory and self._disk.highest == self._memory.highest:
            request = self._disk.pop()
            if request is not None:
                self._count("dequeued", "dequeued/disk")
                return request
        return super().next_request()


@mutant(fails="scheduler.next.priority-across")
class EmptiesTheMemoryFirst(Scheduler):
    """It takes everything that is in memory before anything that is on disk."""

    def next_request(self):
        disk = self._disk
        if self._memory:
            self._disk = None
        try:
            return super().next_request()
        finally:
            self._disk = disk


def start_first(buckets):
    """Let start requests come before others of their priority."""
    buckets._best = lambda: max(bucket for bucket, queue in buckets._queues.items() if len(queue))


@mutant(fails="scheduler.next.default-order", hint="Pass the classes of")
class StartsFirst(Scheduler):
    """It takes start requests before others of their priority."""

    def open(self, spider):
        opened = super().open(spider)
        for buckets in (self._memory, self._disk):
            if buckets is not None:
                start_first(buckets)
        return opened


@mutant(fails="scheduler.next.fifo-settings")
class IgnoresTheOrder(Scheduler):
    """In memory requests of equal priority come last in, first out, whatever the settings say."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._memory._classes[0] = LifoMemoryQueue


class LifoMemoryQueue(list):
    """A queue in memory."""

    def __init__(self, key):
        super().__init__()

    push = list.append

    def pop(self):
        return super().pop() if self else None

    def close(self):
        pass


@mutant(fails="scheduler.next.start-none")
class NeedsAStartQueue(Scheduler):
    """Where the settings name no queue for start requests, it uses the one in memory."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._memory._classes[1] = self._memory._classes[1] or self._memory._classes[0]


@mutant(fails="scheduler.next.outage", claims={"profile": "external-queue"})
class TakesNoneForTheEnd(Scheduler):
    """It forgets a queue that returned None."""

    def open(self, spider):
        opened = super().open(spider)
        if self._disk is not None:
            forget_silent_queues(self._disk)
        return opened


def forget_silent_queues(buckets):
    pop = buckets.pop

    def popping():
        bucket = buckets._best()
        request = pop()
        if request is None:
            buckets._queues.pop(bucket).close()
        return request

    buckets.pop = popping


@mutant(fails="scheduler.enqueue.true")
class LosesASilentQueue(TakesNoneForTheEnd):
    """It forgets a queue that returned None, in the profile that says nothing about temporary problems too."""


# --- Close and resume ------------------------------------------------------------------------------------------------


@mutant(fails="scheduler.close.persist", may_fail="scheduler.resume.elsewhere")
class RemembersInTheProcess(Scheduler):
    """It keeps the names of its queues in the process between two crawls."""

    known: ClassVar = {}

    def open(self, spider):
        if self._job in self.known:
            (directory_of(self) / "index.json").write_text(self.known[self._job])
        return super().open(spider)

    def close(self, reason):
        closed = super().close(reason)
        index = directory_of(self) / "index.json" if self._job else None
        if index and index.exists():
            self.known[self._job] = index.read_text()
            index.unlink()
        return closed


@mutant(fails="scheduler.close.memory-unseen")
class ForgetsWhatItLost(Scheduler):
    """It does not remember what it loses at close, so that this stays seen."""

    def close(self, reason):
        closed = super().close(reason)
        if self._job:
            (directory_of(self) / "unstored").unlink(missing_ok=True)
        return closed


@mutant(fails="scheduler.close.twice")
class ClosesTwice(Scheduler):
    """Its second close writes that nothing is pending."""

    def close(self, reason):
        if self._closed and self._disk is not None:
            self._disk._named = set()
            self._disk._write()
        return super().close(reason)


@mutant(fails="scheduler.close.after-failed-open")
class ClosesWhatItOpened(Scheduler):
    """Its close needs what open sets last."""

    def open(self, spider):
        opened = super().open(spider)
        self.is_open = True
        return opened

    def close(self, reason):
        assert self.is_open
        return super().close(reason)


@mutant(fails="scheduler.resume.all", may_fail="scheduler.next.unreadable")
class ResumesInReverse(Scheduler):
    """A resumed crawl begins with the oldest requests."""

    def open(self, spider):
        opened = super().open(spider)
        for queue in self._disk._queues.values() if self._disk is not None else ():
            requests = [queue.pop() for _ in range(len(queue))]
            for request in requests:
                queue.push(request)
        return opened


@mutant(fails=("scheduler.resume.all", "scheduler.close.memory-unseen"), hint="A crawl that continues takes")
class ResumesWithoutAStart(Scheduler):
    """A crawl that continues takes no start requests, as if the one before had taken all of them."""

    def open(self, spider):
        opened = super().open(spider)
        self.resumes = bool(self._disk)
        return opened

    def enqueue_request(self, request):
        return not (self.resumes and request.meta.get("is_start_request")) and super().enqueue_request(request)


@mutant(fails="scheduler.resume.all")
class LosesTheHighest(Scheduler):
    """A resumed crawl does not find the requests of the highest priority."""

    def close(self, reason):
        queues = self._disk._queues if self._disk is not None else {}
        if len(queues) > 2:
            queues.pop(max(queues)).close()
        return super().close(reason)


@mutant(fails="scheduler.resume.seen")
class SeesEverythingAnew(Scheduler):
    """A resumed crawl has seen nothing."""

    def __init__(self, crawler):
        jobdir = crawler.settings["JOBDIR"]
        if jobdir:
            Path(jobdir, "requests.seen").unlink(missing_ok=True)
        super().__init__(crawler)


@mutant(fails="scheduler.resume.no-dup")
class PutsTheLastBack(Scheduler):
    """A resumed crawl begins with the request that was returned last."""

    last = None

    def next_request(self):
        request = super().next_request()
        self.last = request or self.last
        return request

    def close(self, reason):
        if self._disk is not None and self.last and not self._closed and not self.last.meta.get("refuse"):
            with suppress(Exception):  # what cannot be pickled cannot be put back; its close is right
                self._disk.push(self.last)
        return super().close(reason)


@mutant(fails="scheduler.open.incompatible")
class BeginsAnew(Scheduler):
    """It throws everything away when it cannot read what an earlier crawl left."""

    def open(self, spider):
        index = directory_of(self) / "index.json" if self._job else None
        if index and index.exists():
            try:
                json.loads(index.read_text())
            except ValueError:
                shutil.rmtree(index.parent)
        return super().open(spider)


@mutant(fails="scheduler.resume.settings-changed")
class SkipsWhatItCannotOpen(Scheduler):
    """It leaves out the queues that it cannot open with the new settings."""

    def open(self, spider):
        try:
            return super().open(spider)
        except ValueError as error:
            if "was written by other queues" not in str(error):
                raise
            index = directory_of(self) / "index.json"
            found = json.loads(index.read_text())
            found["buckets"] = [bucket for bucket in found["buckets"] if not bucket[1]]
            found["classes"] = [describe(cls) for cls in Buckets(self._crawler, "DISK")._classes]
            index.write_text(json.dumps(found))
            return super().open(spider)


# --- Crashes and settings --------------------------------------------------------------------------------------------


@mutant(fails="scheduler.crash.safe", claims=CRASH_SAFE, settings=QUEUES)
class WritesAtClose(Scheduler):
    """It writes the names of its queues when it is closed."""

    def open(self, spider):
        opened = super().open(spider)
        if self._disk is not None:
            self._disk._queue = lambda bucket: Buckets._queue(self._disk, bucket)
        return opened


@mutant(fails="scheduler.crash.no-limbo", claims=CRASH_SAFE, settings=QUEUES)
class NotesAtClose(Scheduler):
    """It writes what is in memory only when it is closed."""

    def open(self, spider):
        opened = super().open(spider)
        self._lines, self._write = [], self._unstored._write
        self._unstored._write = self._lines.append
        return opened

    def close(self, reason):
        if not self._closed and self._disk is not None:
            for line in self._lines:
                self._write(line)
        return super().close(reason)


@mutant(fails="scheduler.settings.classes")
class TakesPathsOnly(Scheduler):
    """It takes the queue for start requests in memory by its path only."""

    def __init__(self, crawler):
        path = crawler.settings["SCHEDULER_START_MEMORY_QUEUE"]
        if path and not isinstance(path, str):
            raise TypeError(f"{path!r} is no path")
        super().__init__(crawler)


@mutant(fails="scheduler.resume.all")
class TidiesUpAfterNothing(Scheduler):
    """A run that ends before its first request takes the job for done, and removes what waits."""

    idle = True

    def enqueue_request(self, request):
        self.idle = False
        return super().enqueue_request(request)

    def next_request(self):
        self.idle = False
        return super().next_request()

    def __len__(self):
        self.idle = False
        return super().__len__()

    def close(self, reason):
        result = super().close(reason)
        if self.idle and (directory := directory_of(self)):
            shutil.rmtree(directory, ignore_errors=True)
        return result
