"""Wrong classes that lose what is stored when a start is refused, or where nobody has made the job directory."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path

from mutants import mutant
from mutants.controls_refused_starts import CountsItsRequests, MakesItsDirectoryLate, WritesAtClose
from queue_reference.pqueues import PriorityQueue, SlotPriorityQueue
from queue_reference.scheduler import Scheduler
from queue_reference.state import SpiderState

STATE = "queue_reference.state.SpiderState"
FILTER = "queue_reference.dupefilter.DupeFilter"


@mutant(fails=("state.refused-start-keeps", "state.failed-save-keeps"))
class OpensTheFileFirst(SpiderState):
    """It opens its file for writing before it looks whether there is a state to write."""

    def spider_closed(self, spider):
        with self._path.open("wb") as file:
            pickle.dump(spider.state, file)


@mutant(fails="state.refused-start-keeps")
class SavesNothingAsNothing(SpiderState):
    """It saves an empty state for a spider that has none."""

    def spider_closed(self, spider):
        spider.state = getattr(spider, "state", {})
        super().spider_closed(spider)


@mutant(fails="state.created", control=STATE)
class MakesNoDirectory(MakesItsDirectoryLate):
    """It takes the job directory for one that is there."""

    def make_directory(self):
        pass


@mutant(fails="state.created", control=STATE)
class MakesOneLevel(MakesItsDirectoryLate):
    """It makes the job directory, and fails where the one above it is missing."""

    def make_directory(self):
        self._path.parent.mkdir(exist_ok=True)


@mutant(fails="dupefilter.persist.refused-start", control=FILTER, may_fail="dupefilter.format.unknown")
class WritesWhatItHasNotRead(WritesAtClose):
    """It writes an empty set where it was closed without being opened."""

    def close(self, reason):
        self.seen = self.seen or set()
        super().close(reason)


@mutant(
    fails="dupefilter.persist.refused-start", control=FILTER, may_fail=("dupefilter.format.unknown", "dupefilter.crash.keeps")
)
class RemovesWhatItReads(WritesAtClose):
    """It takes the file away when it is built, and writes it again when it is closed, if it was opened."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self.known = self.file.read_text() if self.job and self.file.exists() else ""
        if self.known:
            self.file.unlink()

    def open(self):
        self.seen = {*self.known.split()}


@mutant(fails="dupefilter.persist.created", control=FILTER, may_fail="dupefilter.format.unknown")
class FilterWithoutADirectory(WritesAtClose):
    """It takes the job directory for one that is there."""

    def make_directory(self):
        pass


@mutant(fails="scheduler.open.refused-keeps")
class EmptiesWhatItCannotOpen(Scheduler):
    """Where its filter cannot be opened, it takes all requests out of its queues, and leaves them there for nobody."""

    def open(self, spider):
        try:
            return super().open(spider)
        except BaseException:
            while self._disk:
                self._disk.pop()
            raise


@mutant(fails="scheduler.open.refused-keeps")
class ForgetsWhatWasSeen(Scheduler):
    """Where its filter cannot be opened, it removes the file of Scrapy's."""

    def open(self, spider):
        try:
            return super().open(spider)
        except BaseException:
            Path(self._job or ".", "requests.seen").unlink(missing_ok=True)
            raise


@mutant(fails="scheduler.open.refused-keeps", may_fail=("scheduler.close.twice", "scheduler.close.after-failed-open"))
class ClearsWhatItCannotCount(CountsItsRequests):
    """Where its count cannot be read, it clears its table before it says so."""

    def refuse(self):
        with self.db:
            self.db.execute("DELETE FROM requests")
        super().refuse()


@mutant(fails="scheduler.open.refused-keeps", may_fail=("scheduler.close.twice", "scheduler.close.after-failed-open"))
class ForgetsWhatItHasSeen(CountsItsRequests):
    """Where its count cannot be read, it forgets what it has seen before it says so."""

    def refuse(self):
        with self.db:
            self.db.execute("DELETE FROM seen")
        super().refuse()


@mutant(fails="scheduler.resume.seen", may_fail=("scheduler.close.twice", "scheduler.close.after-failed-open"))
class ForgetsAtEveryStart(CountsItsRequests):
    """It forgets what it has seen whenever it is opened, whether that is refused or not."""

    def open(self, spider):
        super().open(spider)
        with self.db:
            self.db.execute("DELETE FROM seen")


# --- Priority queues -------------------------------------------------------------------------------------------------


@mutant(fails="pq.resume.refused-keeps")
class EmptiesWhatItCannotRead(PriorityQueue):
    """It removes what is below its key before it refuses a state."""

    def _ranks_by_slot(self, startprios):
        try:
            return super()._ranks_by_slot(startprios)
        except ValueError:
            shutil.rmtree(self._key, ignore_errors=True)
            raise


@mutant(fails="pq.resume.refused-keeps")
class PutsItAside(SlotPriorityQueue):
    """It puts what it has aside, for nobody, where a priority in its state is none."""

    def _ranks(self, named):
        try:
            return super()._ranks(named)
        except ValueError:
            Path(self._key).rename(f"{self._key}.bad")
            raise
