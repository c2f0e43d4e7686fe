"""The driver of dupefilters."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import nullcontext, suppress
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from scrapy.crawler import Crawler
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.utils.misc import build_from_crawler

from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.stored_files import stored_files
from queue_conformance.engine.subject import Item, Subject
from queue_conformance.environments.component import ComponentDriver, files_in
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.expectations import hold
from queue_conformance.kinds.dupefilter.unreached import unreached
from queue_conformance.processes import process
from queue_conformance.script_support.interleaving import elsewhere, step, use_filter

_CLOSE = re.compile(r"(\w+\.close\('shutdown'\))")


RULES = {"request_seen": "dupefilter.seen.first", "close": "dupefilter.close.releases"}
"""The rule that fails if an operation raises, or does not return."""


class Filter(Subject):
    """A dupefilter; whoever closes it waits for the end.

    Attributes:
        spider: that of its run, called ``spider`` in scripts.
    """

    __slots__ = ("_wait", "spider")
    results: ClassVar[Mapping[str, str]] = {"request_seen": "seen"}

    def __init__(self, wait: Callable[[Any], Any], *arguments: Any, spider: Any = None) -> None:
        super().__init__(*arguments)
        self._wait = wait
        self.spider = spider
        if spider is not None:
            self.record.sources.give(spider, "spider")

    def close(self, reason: str = "shutdown") -> None:
        """Close, and wait for the end."""
        source = f"{self.name}.close({reason!r})"
        self.record.operate(source, self.rules["close"], lambda: self._wait(self.raw.close(reason)))


class DupeFilterDriver(ComponentDriver):
    """Builds dupefilters as Scrapy's scheduler does."""

    constructor_rule: ClassVar[str] = "dupefilter.iface"
    interface_rule: ClassVar[str] = "dupefilter.iface"
    lives_without_close: ClassVar[bool] = True
    leak_rule: ClassVar[str] = "dupefilter.close.releases"

    @property
    def log_rule(self) -> str:
        """The rule that fails if ``log`` raises."""
        return "dupefilter.log.first" if callable(getattr(self.implementation.cls, "log", None)) else self.constructor_rule

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        self._items = {}

    def _item(self, number: int) -> Item:
        return self.evaluate(f"Request('{self.site}/{number}')")

    @property
    def site(self) -> str:
        """The beginning of URLs: what one directory has seen, no other has, not even a class that forgets nothing."""
        return f"https://example.com/{self.directory.name}"

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        if self.asynchronous:
            lines = [_CLOSE.sub(r"wait(\1)", line) for line in lines]
        return super().script(title, lines, *definitions)

    def construction(
        self, name: str | None, mixin: type[Any] | None = None, spider: str | None = None, **options: Any
    ) -> tuple[str, Callable[[], Any]]:
        """Tell how a filter is built and opened.

        Args:
            name: the name of the job directory, ``""`` for none, or ``None`` to leave it unset.
            mixin: a class that scripts quote; then the filter is of a subclass of it and of the class that is tested.
            spider: what is added to the name of the spider, if not the name of another job than ``"job"``: ``""`` for a
                directory that the same job was moved to.
            options: settings.
        """
        values, source = self.settings_of(name, **options)
        # Some keep one store for each spider, wherever the job is, which is right too: so no two jobs are of one spider.
        other = (f"-{name}" if name not in (None, "", "job") else "") if spider is None else spider
        cls, called = self.implementation.cls, self.class_name
        if mixin:
            cls, called = type(mixin.__name__, (mixin, cls), {}), f"type('Subclass', ({mixin.__name__}, {called}), {{}})"

        def build() -> tuple[Any, Crawler]:
            crawler = self.crawler_with(values, self.spider_name + other)
            ignored = warnings.catch_warnings(action="ignore", category=ScrapyDeprecationWarning)
            with ignored if mixin else nullcontext():  # a mixin may override what is deprecated
                raw = self.building(crawler, called, cls)[1]()
            if raw is not None:  # the author's function may decline
                self.waited(raw.open())
            return raw, crawler

        return f"opened({called}, {source}{self.name_source(other)}{self._build_source})", build

    def building(self, crawler: Crawler, name: str, cls: type[Any] | None = None) -> tuple[str, Callable[[], Any]]:
        """Tell how a filter is built from a crawler, which scripts call ``crawler``.

        Args:
            name: what scripts call the class.
            cls: the class, if not the one that is tested.
        """
        cls = cls or self.implementation.cls
        if self.implementation.factory is None:
            return f"build_from_crawler({name}, crawler)", lambda: build_from_crawler(cls, crawler)
        return self.author_builds(cls=(name, cls), crawler=("crawler", crawler), key=("''", ""))

    @property
    def _build_source(self) -> str:
        """The argument with the author's function that builds a filter in scripts, if there is one."""
        if self.implementation.factory is None:
            return ""
        return f", build=lambda cls, crawler: {self.building(self.crawler, 'cls')[0]}"

    @property
    def rules(self) -> Mapping[str, str]:  # type: ignore[override]
        return {**RULES, "log": self.log_rule}

    def open(self, name: str = "job", variable: str = "dupefilter") -> Filter:  # type: ignore[override]
        """Build a filter in a job directory of that name, and open it; scripts call it by a variable."""
        source, build = self.construction(name)
        raw, crawler = self.recorder.call(f"{variable}, spider = {source}", self.constructor_rule, build)
        self.recorder.remark()
        return Filter(self.waited, raw, variable, self.operations(), self.rules, spider=crawler.spider)

    def store_one(self) -> Iterator[None]:
        dupefilter = self.open()
        yield
        dupefilter.request_seen(self.item(1))
        yield
        dupefilter.close()

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        """Find out whether it filters, and whether it remembers in the next run and where."""
        filters = persistent = filesystem = False
        left = ""
        remembers: list[str] = []
        stored: list[str] = []
        self.renew(workdir())
        self.recorder.restart()
        try:
            dupefilter = self.open()
            items = [self.item(number) for number in (1, 2, 3)]
            before = _sizes(dupefilter.raw)
            for item in items:
                dupefilter.request_seen(item)
            after = _sizes(dupefilter.raw)
            remembers += [f"its attribute {name} grows" for name, size in after.items() if size >= before.get(name, 0) + 3]
            filters = any(dupefilter.request_seen(item) for item in items)
            left = "" if filters or remembers else unreached(dupefilter.raw, [item.value.copy() for item in items])
            self._end(dupefilter)
            filesystem = bool(files_in(self.job()))
            fingerprinter = dupefilter.spider.crawler.request_fingerprinter
            seen = [fingerprinter.fingerprint(item.value).hex().encode() for item in items]
            if found_files := stored_files(self.directory, str(self.job()), seen):  # a log may name URLs
                in_job = any(path.is_relative_to(self.job()) for path in found_files)
                stored.append(f"it writes files in the {'job' if in_job else 'working'} directory")
            dupefilter = self.open()
            # What takes everything for seen remembers nothing.
            persistent = filters and any(dupefilter.request_seen(item) for item in items)
            persistent = persistent and not all(dupefilter.request_seen(self.item(number)) for number in (4, 5, 6))
            self._end(dupefilter)
            # What a class keeps in memory is nothing that survives.
            persistent &= filesystem or bool(self.implementation.server) or not self._known_elsewhere(items)
        except OperationRaised:
            pass
        except Exception:  # of an operation that is not recorded
            persistent = False
        untried = {"dupefilter.seen.first": (left, "filters")} if left else {}
        shared = persistent and process.AVAILABLE and self._shows_others(workdir())
        found = Capabilities(
            filters=filters, persistent=persistent, filesystem=filesystem, shared_storage=shared, untried=untried
        )
        traces = {"filters": [*stored, *remembers], "persistent": stored}
        return hold(found, self.implementation.cls, self.implementation.settings, traces)

    def _shows_others(self, directory: Path) -> bool:
        """Whether another process that had opened the filter before has seen what is seen here."""
        self.renew(directory)
        item, build = self.item(1), self.construction("job")[1]
        try:
            with elsewhere(use_filter, lambda: build()[0], item.value) as other:
                step(other)
                dupefilter = self.open()
                dupefilter.request_seen(item)
                known = step(other)
                self._end(dupefilter)
        except Exception:  # it may wait for the other one, or refuse to be opened twice
            return False
        return bool(known)

    def forgets(self, expire: Callable[[], int], directory: Path) -> bool:
        def tried() -> bool:
            dupefilter = self.open()
            dupefilter.request_seen(self.item(1))
            self._end(dupefilter)
            if not expire():
                return False
            dupefilter = self.open()
            seen = dupefilter.request_seen(self.item(1))
            self._end(dupefilter)
            return not seen

        return self.attempt(tried, directory)

    def _end(self, opened: Filter) -> None:
        """Close a filter that can be closed: one that cannot may be remembered from nevertheless."""
        if not self.without_close:
            opened.close()

    def _known_elsewhere(self, items: Sequence[Item]) -> bool:
        """Whether a filter of another spider and another job has seen the same requests; if it cannot be used, it may have."""
        try:
            other = self.open("elsewhere")
            known = any(other.request_seen(item) for item in items)
            self._end(other)
        except OperationRaised:
            return True
        return known


def _sizes(raw: Any) -> dict[str, int]:
    """Return the sizes of the attributes of an object that have one; a table in a database may refuse to be counted."""
    found: dict[str, int] = {}
    for name, value in getattr(raw, "__dict__", {}).items():
        with suppress(Exception):
            if isinstance(value, Sized):
                found[name] = len(value)
    return found
