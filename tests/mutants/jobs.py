"""Wrong schedulers whose mistakes show in whole crawls, or in what is left of a job directory."""

from __future__ import annotations

import copy
import os
import shutil
import signal
import sqlite3
from pathlib import Path

from scrapy import signals
from scrapy.settings import Settings

from mutants import mutant
from mutants.controls_worlds import WorksInAJob
from queue_reference.dupefilter import DupeFilter, record
from queue_reference.scheduler import Scheduler

SETTINGS = {
    "DUPEFILTER_CLASS": "queue_reference.dupefilter.DupeFilter",
    "SCHEDULER_DISK_QUEUE": "queue_reference.disk.LifoDiskQueue",
    "SCHEDULER_START_DISK_QUEUE": "queue_reference.disk.FifoDiskQueue",
}


# --- The directory ---------------------------------------------------------------------------------------------------


@mutant(fails="job.created", settings=SETTINGS)
class MakesNoParents(Scheduler):
    """It creates the job directory, but not the parents of it."""

    @classmethod
    def from_crawler(cls, crawler):
        directory = crawler.settings["JOBDIR"]
        if directory and not os.path.exists(directory):
            os.mkdir(directory)
        return super().from_crawler(crawler)


@mutant(fails=("job.empty-setting", "scheduler.open.disk-iff-jobdir"), settings=SETTINGS)
class TakesEmptyForHere(Scheduler):
    """It takes an empty job directory for the working directory."""

    def __init__(self, crawler):
        super().__init__(crawler)
        if crawler.settings["JOBDIR"] is not None:
            self._job = str(Path(crawler.settings["JOBDIR"]))


@mutant(fails="job.contained", settings=SETTINGS)
class WritesItsNumberBeside(Scheduler):
    """It writes the number of its process beside the job directory."""

    def open(self, spider):
        if self._job:
            Path(f"{self._job}.pid").write_text(str(os.getpid()))
        return super().open(spider)


@mutant(fails="job.path-types", settings=SETTINGS)
class WantsText(Scheduler):
    """It takes the job directory as text only."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._place = (crawler.settings["JOBDIR"] or "") + "/requests.queue"


@mutant(fails="job.unwritable", settings=SETTINGS)
class GoesOnInMemory(Scheduler):
    """It goes on in memory where the job directory cannot be used."""

    @classmethod
    def from_crawler(cls, crawler):
        try:
            return super().from_crawler(crawler)
        except OSError:
            crawler = copy.copy(crawler)
            crawler.settings = Settings(dict(crawler.settings) | {"JOBDIR": None})
            return super().from_crawler(crawler)


# --- Pause and resume ------------------------------------------------------------------------------------------------


@mutant(fails="job.resume.command", settings=SETTINGS)
class LateRequestsGetLost(Scheduler):
    """It takes requests that come while the spider is being closed, and forgets them."""

    def enqueue_request(self, request):
        engine = self._crawler.engine
        slot = getattr(engine, "_slot", None) or getattr(engine, "slot", None)  # its name until Scrapy 2.13
        return True if slot and slot.closing else super().enqueue_request(request)


@mutant(fails="job.resume.command", may_fail="scheduler.resume.all", settings=SETTINGS, hint="Store what was seen")
class RepeatsTheLastOne(Scheduler):
    """It stores the request of the last response once more when it is closed."""

    _last = None

    def __init__(self, crawler):
        super().__init__(crawler)
        crawler.signals.connect(self._remember, signals.response_received)

    def _remember(self, request):
        self._last = request

    def close(self, reason):
        if self._last and reason != "finished":
            self.enqueue_request(self._last.replace(dont_filter=True))
        return super().close(reason)


@mutant(fails="job.resume.signal", settings=SETTINGS)
class EndsAtOnce(Scheduler):
    """It handles SIGTERM itself: it closes, and ends the process."""

    def open(self, spider):
        signal.signal(signal.SIGTERM, self._end)
        return super().open(spider)

    def _end(self, number, frame):
        self.close("shutdown")
        os._exit(1)


@mutant(fails="job.resume.state", settings=SETTINGS)
class TidiesUp(Scheduler):
    """Its open removes the state of the spider, which it does not know."""

    def open(self, spider):
        if self._job:
            Path(self._job, "spider.state").unlink(missing_ok=True)
        return super().open(spider)


@mutant(fails="job.resume.finished", settings=SETTINGS)
class RemovesWhatIsFinished(Scheduler):
    """It removes the job directory when the crawl is finished."""

    def __init__(self, crawler):
        super().__init__(crawler)
        crawler.signals.connect(self._remove, signals.spider_closed)

    def _remove(self, reason):
        if self._job and reason == "finished":
            shutil.rmtree(self._job)


@mutant(fails="job.second-signal", settings=SETTINGS)
class LocksForGood(Scheduler):
    """It refuses a job directory with a lock, and only a clean stop removes that."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._lock = Path(self._job, "lock") if self._job else None
        crawler.signals.connect(self._acquire, signals.engine_started)
        crawler.signals.connect(self._release, signals.spider_closed)

    def open(self, spider):
        if self._lock and self._lock.exists():
            raise RuntimeError(f"{self._job} is in use")
        return super().open(spider)

    def _acquire(self):
        if self._lock:
            self._lock.touch()

    def _release(self):
        if self._lock:
            self._lock.unlink()


# --- A start that is refused -----------------------------------------------------------------------------------------


class NotesThatItsSpiderIsOpened(Scheduler):
    """It notes whether the spider was opened before it is closed; that it does nothing where it was not is right."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._began = False
        crawler.signals.connect(self._begin, signals.spider_opened)
        crawler.signals.connect(self._end, signals.spider_closed)

    def _begin(self):
        self._began = True

    def _end(self):
        if self._disk is not None and not self._began:
            self._leave()

    def _leave(self): ...


@mutant(fails="job.resume.refused-keeps", settings=SETTINGS)
class TakesItForAJobThatNeverBegan(NotesThatItsSpiderIsOpened):
    """It removes its queues when the spider is closed that was never opened."""

    def _leave(self):
        shutil.rmtree(Path(self._job, "requests.queue"))


@mutant(fails="job.resume.refused-keeps", settings=SETTINGS)
class ForgetsWhatItSaw(NotesThatItsSpiderIsOpened):
    """It removes what was seen when the spider is closed that was never opened."""

    def _leave(self):
        Path(self._job, "fingerprints").unlink()


@mutant(fails="job.resume.refused-keeps", settings=SETTINGS)
class StaysLocked(NotesThatItsSpiderIsOpened):
    """It refuses a job with a lock, which stays where the spider was never opened."""

    def open(self, spider):
        if self._job and Path(self._job, "lock").exists():
            raise RuntimeError(f"{self._job} is in use")
        return super().open(spider)

    def _leave(self):
        Path(self._job, "lock").touch()


class SavesAtTheEnd(DupeFilter):
    """It writes what was seen when it is closed."""

    def request_seen(self, request):
        file, self._file = self._file, None
        try:
            return super().request_seen(request)
        finally:
            self._file = file

    def close(self, reason):
        if self._file is not None:
            os.write(self._file, b"".join(map(record, self._seen)))
        return super().close(reason)


@mutant(fails="job.sigkill", settings=SETTINGS, claims={"crash-safe": "yes"})
class ForgetsWhatWasSeen(Scheduler):
    """It writes what was seen when it is closed, so that a crash makes it forget."""

    def __init__(self, crawler):
        super().__init__(crawler)
        if type(self._filter) is DupeFilter:
            self._filter.close("")
            self._filter = SavesAtTheEnd(crawler)


# --- Damage ----------------------------------------------------------------------------------------------------------


@mutant(fails="job.torn-metadata", settings=SETTINGS)
class BeginsAnew(Scheduler):
    """It takes a job directory without an index for an empty one."""

    def open(self, spider):
        directory = Path(self._job or "", "requests.queue")
        if self._job and directory.exists() and not (directory / "index.json").exists():
            shutil.rmtree(directory)
        return super().open(spider)


@mutant(fails="job.atomic-metadata", settings=SETTINGS)
class WritesInPlace(Scheduler):
    """Its close writes the index in place."""

    def close(self, reason):
        if self._disk is not None and not self._closed:
            index = Path(self._job, "requests.queue", "index.json")
            index.write_text(index.read_text())
        return super().close(reason)


@mutant(fails="job.disk-full", settings=SETTINGS)
class ClearsItsStore(Scheduler):
    """It begins with an empty store where a database cannot be written."""

    def _store(self, request):
        try:
            return super()._store(request)
        except sqlite3.Error:
            self._disk.close()
            shutil.rmtree(Path(self._job, "requests.queue"))
            self.open(self._spider)
            raise


# --- Without a job directory it does nothing -------------------------------------------------------------------------


@mutant(fails="scheduler.open.dupefilter", settings={**SETTINGS, "JOBDIR": "job"})
class WaitsForNoFilter(WorksInAJob):
    """It refuses to crawl without a job directory, and does not return what the filter returns when it is opened."""

    def open(self, spider):
        super().open(spider)
