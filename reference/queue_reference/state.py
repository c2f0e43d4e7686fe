"""An extension that keeps the state of a spider in a job directory, and loses none that was saved."""

from __future__ import annotations

import logging
import os
import pickle
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Spider, signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


class SpiderState:
    """Saves ``spider.state`` when the spider is closed, and restores it in the next run of the job.

    A file that cannot be read is kept under another name, and the spider begins with an empty state. To use it instead of
    Scrapy's::

        EXTENSIONS = {"scrapy.extensions.spiderstate.SpiderState": None, "queue_reference.state.SpiderState": 0}

    Args:
        directory: the job directory.
    """

    def __init__(self, directory: str) -> None:
        self._path = Path(directory, "state")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build the extension.

        Raises:
            NotConfigured: if there is no job directory.
        """
        directory = job_dir(crawler.settings)
        if not directory:
            raise NotConfigured
        extension = cls(directory)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(extension.spider_closed, signal=signals.spider_closed)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        """Give the spider its state."""
        spider.state = {}  # type: ignore[attr-defined]  # whatever happens next
        if self._path.exists():
            spider.state = self._loaded()  # type: ignore[attr-defined]

    def _loaded(self) -> dict[str, Any]:
        try:
            state = pickle.loads(self._path.read_bytes())
            if not isinstance(state, dict):
                raise TypeError(f"{type(state).__name__} instead of dict")
        except Exception:  # unpickling damaged data may raise anything
            aside = self._path.with_suffix(f".damaged-{time.time_ns()}")
            logger.exception("%s cannot be read: it is kept as %s, and the state is empty", self._path, aside)
            self._path.rename(aside)
            return {}
        return state

    def spider_closed(self, spider: Spider) -> None:
        """Save the state; if that fails, the one that was saved before is kept."""
        new = self._path.with_suffix(".new")
        try:
            data = pickle.dumps(spider.state)  # type: ignore[attr-defined]
            with new.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)  # at once, or not at all
        except Exception:
            logger.exception("The state of %s is not saved: the one of the run before is kept", spider)
            new.unlink(missing_ok=True)
