"""Right classes of designs that are easily wrong when a start is refused, or the first run makes the job directory."""

from __future__ import annotations

from pathlib import Path

from scrapy import signals
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import NotConfigured

from mutants.controls_schedulers import SQLiteScheduler
from queue_reference.state import SpiderState


class MakesItsDirectoryLate(SpiderState):
    """It makes the job directory when it saves."""

    @classmethod
    def from_crawler(cls, crawler):
        directory = crawler.settings["JOBDIR"]
        if not directory:
            raise NotConfigured
        extension = cls(directory)
        crawler.signals.connect(extension.spider_opened, signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_closed(self, spider):
        self.make_directory()
        super().spider_closed(spider)

    def make_directory(self):
        self._path.parent.mkdir(parents=True, exist_ok=True)


class SavesWhatItLoaded(SpiderState):
    """It loads the state when it is built, and saves it when the spider is closed, whether that was opened or not."""

    def __init__(self, directory):
        super().__init__(directory)
        self.state = self._loaded() if self._path.exists() else {}

    def spider_opened(self, spider):
        spider.state = self.state

    def spider_closed(self, spider):
        spider.state = getattr(spider, "state", self.state)
        super().spider_closed(spider)


class WritesAtClose(BaseDupeFilter):
    """It reads what was seen when it is opened, and writes all of it when it is closed."""

    def __init__(self, crawler):
        self.crawler, self.job, self.seen = crawler, crawler.settings["JOBDIR"], None

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    @property
    def file(self):
        return Path(self.job, "seen")

    def open(self):
        self.seen = {*self.file.read_text().split()} if self.job and self.file.exists() else set()

    def request_seen(self, request):
        new = self.crawler.request_fingerprinter.fingerprint(request).hex() + "."
        known = new in self.seen
        self.seen.add(new)
        return known

    def close(self, reason):
        if self.job and self.seen is not None:
            self.make_directory()
            new = self.file.with_suffix(".new")
            new.write_text("\n".join(self.seen))
            new.replace(self.file)

    def make_directory(self):
        Path(self.job).mkdir(parents=True, exist_ok=True)


class CountsItsRequests(SQLiteScheduler):
    """A second file holds how many requests it has; it refuses to be opened where that cannot be read."""

    def open(self, spider):
        super().open(spider)
        self.count = Path(self.job, "count") if self.job else None
        if self.count and self.count.exists() and len(self.count.read_text()) != 8:
            self.refuse()

    def refuse(self):
        self.count = None
        raise ValueError("the count cannot be read")

    def close(self, reason):
        if self.count:
            self.count.write_text(f"{len(self):08}")
        super().close(reason)
