"""The driver of extensions that keep the state of spiders."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from scrapy import Spider, signals
from scrapy.utils.misc import build_from_crawler

from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.stored_files import stored_files
from queue_conformance.environments import runs
from queue_conformance.environments.component import ComponentDriver, files_in
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.expectations import hold


class Run:
    """One run of a spider with an extension; every operation goes through the recorder.

    Attributes:
        spider: the spider, called ``spider`` in scripts.
        raw: always ``None``, as no function of the author's builds extensions.
    """

    raw = None

    def __init__(self, spider: Spider, driver: SpiderStateDriver) -> None:
        self.spider: Any = spider
        self._driver = driver

    def do(self, source: str) -> None:
        """Run statements of Python about ``spider``, as a callback would."""
        names = {**self._driver.names, "spider": self.spider}
        self._driver.recorder.call(source, "state.fresh", lambda: exec(source, names))

    def finish(self, reason: str = "finished") -> None:
        """End the run cleanly."""
        argument = "" if reason == "finished" else f", {reason!r}"
        self._driver.recorder.call(f"finish(spider{argument})", "state.saved", lambda: runs.finish(self.spider, reason))


class SpiderStateDriver(ComponentDriver):
    """Builds extensions as Scrapy does, and sends them the signals of the engine."""

    constructor_rule: ClassVar[str] = "state.fresh"
    interface_rule: ClassVar[str] = "state.fresh"

    def construction(self, name: str | None, *, opened: bool = True, **options: Any) -> tuple[str, Callable[[], Any]]:
        """Tell how a run is begun.

        Args:
            name: the name of the job directory, ``""`` for none, or ``None`` to leave it unset.
            opened: whether the spider is opened, or the run refused before.
            options: settings.
        """
        values, source = self.settings_of(name, **options)

        def start() -> Spider:
            crawler: Any = self.crawler_with(values)
            crawler.extension = build_from_crawler(self.implementation.cls, crawler)
            if opened:
                runs.send(crawler, signals.spider_opened, spider=crawler.spider)
                runs.send(crawler, signals.engine_started)
            spider: Spider = crawler.spider
            return spider

        return f"{'started' if opened else 'unopened'}({self.class_name}, {source}{self.name_source()})", start

    def open(self, rule: str | None = None) -> Run:  # type: ignore[override]
        """Begin a run of the job; if this raises, ``rule`` fails, or the one on a new job."""
        source, start = self.construction("job")
        spider = self.recorder.call(f"spider = {source}", rule or self.constructor_rule, start)
        self.recorder.remark()
        return Run(spider, self)

    def store_one(self) -> Iterator[None]:
        run = self.open()
        yield
        run.do("spider.state['count'] = 1")
        run.finish()
        yield

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        """Find out whether it keeps anything, and where."""
        persistent = filesystem = False
        stored: list[str] = []
        self.renew(workdir())
        self.recorder.restart()
        try:
            run = self.open()
            run.do("spider.state['count'] = 1")
            run.finish()
            filesystem = bool(files_in(self.job()))
            stored += ["it writes files in the job directory"] if stored_files(self.job()) else []
            run = self.open()
            persistent = runs.state_of(run.spider) == {"count": 1}
            run.finish()
        except OperationRaised:
            pass
        found = Capabilities(persistent=persistent, filesystem=filesystem)
        return hold(found, self.implementation.cls, self.implementation.settings, {"persistent": stored})
