"""Broken extensions that keep the state of spiders."""

from __future__ import annotations

import copy
import datetime
import io
import json
import logging
import marshal
import pickle
import sys
from types import FunctionType
from typing import ClassVar

from scrapy import signals
from scrapy.utils.job import job_dir

from mutants import mutant
from queue_reference.state import SpiderState

logger = logging.getLogger(__name__)


@mutant(fails="state.fresh")
class BeginsWithACounter(SpiderState):
    """A new state is not empty."""

    def spider_opened(self, spider):
        super().spider_opened(spider)
        spider.state.setdefault("runs", 0)


@mutant(fails="state.fresh")
class BeginsWithTheDefault(SpiderState):
    """All new jobs of a process begin with the same dictionary."""

    default: ClassVar = {}

    def spider_opened(self, spider):
        super().spider_opened(spider)
        if not self._path.exists():
            spider.state = self.default


@mutant(fails="state.restored")
class WritesJSON(SpiderState):
    """It stores text, so tuples come back as lists, and keys as text."""

    def spider_opened(self, spider):
        super().spider_opened(spider)
        spider.state = json.loads(spider.state.get("json", "{}"))

    def spider_closed(self, spider):
        kept = spider.state
        try:
            spider.state = {"json": json.dumps(kept, default=list)}
        except TypeError:
            spider.state = {"json": json.dumps({str(key): value for key, value in kept.items()}, default=list)}
        if any(callable(value) or hasattr(value, "locked") or hasattr(value, "send") for value in kept.values()):
            spider.state = kept  # fails as pickle does
        super().spider_closed(spider)


@mutant(fails="state.restored")
class ReadsNumbers(SpiderState):
    """Keys that look like numbers come back as such, as from a column of SQLite that is declared as STRING."""

    def spider_opened(self, spider):
        super().spider_opened(spider)
        kept = spider.state.items()
        spider.state = {int(key) if isinstance(key, str) and key.isdecimal() else key: value for key, value in kept}


@mutant(fails="state.restored")
class ForgetsTimezones(SpiderState):
    """It stores what clocks show, and not where they are."""

    def spider_closed(self, spider):
        moments = {name: value for name, value in spider.state.items() if isinstance(value, datetime.datetime)}
        spider.state |= {name: value.replace(tzinfo=None) for name, value in moments.items()}
        super().spider_closed(spider)


@mutant(fails="state.saved")
class SavesPausesOnly(SpiderState):
    """It saves only if the crawl was paused."""

    def __init__(self, directory):
        super().__init__(directory)
        self.reason = "shutdown"

    def spider_closed(self, spider, reason):
        if reason == "shutdown":
            super().spider_closed(spider)


@mutant(fails="state.saved")
class SavesItsOwnDictionary(SpiderState):
    """It saves the dictionary that it gave the spider, though a callback may have assigned another one."""

    def spider_opened(self, spider):
        super().spider_opened(spider)
        self.given = spider.state

    def spider_closed(self, spider):
        assigned, spider.state = spider.state, self.given
        super().spider_closed(spider)
        spider.state = assigned


@mutant(fails="state.restored")
class SavesSmallStates(SpiderState):
    """It saves no state of more than a megabyte."""

    def spider_closed(self, spider):
        if sum(map(sys.getsizeof, spider.state.values())) < 1_000_000:
            super().spider_closed(spider)


@mutant(fails="state.restored")
class SavesNoEmptyState(SpiderState):
    """It saves nothing where the state is empty, so that what was saved before comes back."""

    def spider_closed(self, spider):
        if spider.state:
            super().spider_closed(spider)


@mutant(fails="state.restored")
class AddsToWhatWasSaved(SpiderState):
    """It saves what is new and changed, so that what a callback has removed comes back."""

    def spider_opened(self, spider):
        super().spider_opened(spider)
        self._saved = dict(spider.state)

    def spider_closed(self, spider):
        spider.state = self._saved | spider.state
        super().spider_closed(spider)


@mutant(fails="state.disabled")
class AlwaysEnabled(SpiderState):
    """Without a job directory it keeps the state in the working directory."""

    @classmethod
    def from_crawler(cls, crawler):
        extension = cls(job_dir(crawler.settings) or ".")
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension


@mutant(fails="state.mutation")
class SavesWhatWasAssigned(SpiderState):
    """It saves only if a key was set, and so misses changes in place."""

    def spider_opened(self, spider):
        super().spider_opened(spider)
        self.begun = dict(spider.state)
        self.copy = copy.deepcopy(spider.state)

    def spider_closed(self, spider):
        state = spider.state
        same = {key for key, value in state.items() if key in self.begun and self.begun[key] is value}
        spider.state = {key: self.copy[key] if key in same else value for key, value in state.items()}
        super().spider_closed(spider)
        spider.state = state


@mutant(fails="state.pickle-only")
class SwallowsErrors(SpiderState):
    """It says nothing when it cannot save."""

    def spider_closed(self, spider):
        try:
            pickle.dumps(spider.state)
        except Exception:
            return
        super().spider_closed(spider)


@mutant(fails=("state.failed-save-keeps", "state.refused-start-keeps"))
class SavesInPlace(SpiderState):
    """It empties its file before it knows whether the new state can be stored."""

    def spider_closed(self, spider):
        try:
            with self._path.open("wb") as file:
                pickle.dump(spider.state, file)
        except Exception:
            logger.exception("The state is not saved")
            self._path.unlink()


@mutant(fails="state.torn")
class LeavesNoState(SpiderState):
    """If the file cannot be read, the spider has no state."""

    def spider_opened(self, spider):
        super().spider_opened(spider)
        if list(self._path.parent.glob("*.damaged-*")):
            del spider.state


@mutant(fails="state.torn")
class OverwritesWhatItCannotRead(SpiderState):
    """If the file cannot be read, it is overwritten at the close."""

    def spider_opened(self, spider):
        super().spider_opened(spider)
        for path in self._path.parent.glob("*.damaged-*"):
            path.unlink()


@mutant(fails=("claims.true", "state.restored"), claims={"filesystem": "yes"})
class KeepsInMemory(SpiderState):
    """It is said to keep the state in files, and keeps it in the memory of the process."""

    kept: ClassVar = {}

    def spider_opened(self, spider):
        spider.state = pickle.loads(self.kept.get(self._path, pickle.dumps({})))

    def spider_closed(self, spider):
        self.kept[self._path] = pickle.dumps(spider.state)


class LambdaPickler(pickle.Pickler):
    """Stores lambdas by their code."""

    def reducer_override(self, value):
        if getattr(value, "__name__", "") != "<lambda>":
            return NotImplemented
        return lambda_from, (marshal.dumps(value.__code__),)


def lambda_from(code):
    return FunctionType(marshal.loads(code), {})


class StoresLambdas(SpiderState):
    """It stores lambdas, which pickle cannot, and is right."""

    def spider_closed(self, spider):
        file = io.BytesIO()
        LambdaPickler(file).dump(spider.state)
        self._path.write_bytes(file.getvalue())


class NeedsNoJob(SpiderState):
    """It can be built without a job directory, as Scrapy's can, and is right."""

    def __init__(self, directory=None):
        super().__init__(directory or "")
        self.saves = directory is not None

    def spider_opened(self, spider):
        spider.state = {}
        if self.saves:
            super().spider_opened(spider)

    def spider_closed(self, spider):
        if self.saves:
            super().spider_closed(spider)


class TakesAReason(NeedsNoJob):
    """It is told why the spider is closed, as a handler of that signal may be, and is right."""

    def spider_closed(self, spider, reason):
        super().spider_closed(spider)


class IsMadeForACrawler(SpiderState):
    """Its constructor takes nothing, as only ``from_crawler`` calls it, which gives it its job, and is right."""

    def __init__(self):
        pass

    @classmethod
    def from_crawler(cls, crawler):
        made = SpiderState.from_crawler(crawler)
        crawler.signals.disconnect_all(signals.spider_opened)
        crawler.signals.disconnect_all(signals.spider_closed)
        own = cls()
        own.__dict__ |= made.__dict__
        crawler.signals.connect(own.spider_opened, signals.spider_opened)
        crawler.signals.connect(own.spider_closed, signals.spider_closed)
        return own


@mutant(fails="state.no-jobdir")
class GivesNoStateWithoutAJob(NeedsNoJob):
    """It gives the spider a state only if there is a job directory."""

    def spider_opened(self, spider):
        if self.saves:
            super().spider_opened(spider)


@mutant(fails="state.no-jobdir")
class SavesInTheWorkingDirectory(NeedsNoJob):
    """Without a job directory it saves the state in the working directory."""

    def spider_closed(self, spider):
        self.saves = True
        super().spider_closed(spider)
