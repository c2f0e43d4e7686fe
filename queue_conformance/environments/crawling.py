"""The crawler that the components of Scrapy are built from, and what all their drivers share."""

from __future__ import annotations

import copy
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache, cached_property, lru_cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, TypeVar

from scrapy import Request, Spider, version_info
from scrapy.crawler import Crawler
from scrapy.settings import SETTINGS_PRIORITIES, Settings, SettingsAttribute, default_settings
from scrapy.signalmanager import SignalManager
from scrapy.utils.misc import build_from_crawler, load_object

from queue_conformance.compat import scrapy
from queue_conformance.engine.driver import TYPE, Driver
from queue_conformance.engine.recording import Recorder
from queue_conformance.engine.scripts import SCRATCH, namespace, source_of_backend
from queue_conformance.engine.subject import Item
from queue_conformance.environments import engine, world
from queue_conformance.environments.items import request_source
from queue_conformance.environments.lively import is_lively
from queue_conformance.environments.world import WorldlyCrawler
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import path_of
from queue_conformance.script_support import example, kills, processes
from queue_conformance.specification.settings import source_of_setting, source_of_settings
from queue_conformance.specification.suggestion import did_you_mean

_URL = re.compile(r"https://[^/]*/(\d+)(?:\?page=1)?")
"""The URL of an item, and its number."""

_compiled = lru_cache(4096)(partial(compile, filename="<item>", mode="eval"))

_CRAWLS = {
    name: f"from queue_conformance.environments.{module} import {name}"
    for name, module in {"GraphSite": "graph", "SharedGraph": "together", "out_of_order": "judge"}.items()
}
"""What scripts of whole crawls import."""

INSTALL = "install_reactor('twisted.internet.asyncioreactor.AsyncioSelectorReactor')"
"""The line of a script that installs the reactor that Scrapy has."""

NEEDS_REACTOR = version_info < (2, 15)
"""Whether ``get_crawler`` of this release wants a reactor to be there."""


def make_crawler(settings: Mapping[str, Any]) -> WorldlyCrawler:
    """Return a crawler as it is when Scrapy builds a scheduler. That takes 3 ms; its engine is built when somebody asks for it.

    Args:
        settings: what differs from Scrapy's defaults.
    """
    crawler = WorldlyCrawler(example.ExampleSpider, {"REMOTE_CONTROL_ENABLED": False, "TELNETCONSOLE_ENABLED": False, **settings})
    crawler.addons.load_settings(crawler.settings)
    crawler.stats = load_object(crawler.settings["STATS_CLASS"])(crawler)
    fingerprinter = load_object(crawler.settings["REQUEST_FINGERPRINTER_CLASS"])
    crawler.request_fingerprinter = build_from_crawler(fingerprinter, crawler)
    crawler.logformatter = build_from_crawler(load_object(crawler.settings["LOG_FORMATTER"]), crawler)
    crawler.spider = example.ExampleSpider.from_crawler(crawler)
    return crawler


_CRAWLERS: dict[str, WorldlyCrawler] = {}
"""Crawlers by their settings; every check runs in a process that inherits them."""


def _shared_crawler(settings: Mapping[str, Any]) -> WorldlyCrawler:
    """Return a crawler with these settings, the same each time."""
    written = repr(settings)
    if written not in _CRAWLERS:
        _CRAWLERS[written] = make_crawler(settings)
    return _CRAWLERS[written]


@cache
def _names() -> dict[str, object]:
    return namespace(example)


_Value = TypeVar("_Value", int, float, list[Any], dict[Any, Any])


class SettingsReader:
    """Knows which settings of its crawlers were read.

    Attributes:
        unset: those without a value and without a default, which Scrapy does not know either, in the order of reading.
        empty: those of them that are read as a number, a list or a table, for which Scrapy gives 0 or an empty one.
        off: those of them that are read as a switch, which is off then.
        instead: what is found in some of the first two; 1 in a number.
    """

    def __init__(self) -> None:
        self._read: set[str] = set()
        self._read_all = False
        self.unset: dict[str, None] = {}
        self.empty: dict[str, None] = {}
        self.off: dict[str, None] = {}
        self.instead: Mapping[str, str] = {}

    def _value(self, name: Any, value: Any) -> Any:
        if value is None and not hasattr(default_settings, str(name)):
            self.unset[str(name)] = None
            return self.instead.get(str(name))
        return value

    def _filled(self, name: Any, value: _Value, is_set: bool, filled: Callable[[str], _Value]) -> _Value:
        if value or is_set or hasattr(default_settings, str(name)):
            return value
        self.empty[str(name)] = None
        return filled(self.instead[str(name)]) if str(name) in self.instead else value

    def watch(self, crawler: Crawler) -> None:
        """Replace the settings of a crawler by ones that note what is read."""
        reader = self

        class Watched(Settings):
            def __getitem__(self, name: Any) -> Any:
                reader._read.add(name)
                return reader._value(name, super().__getitem__(name))

            def get(self, name: Any, default: Any = None) -> Any:
                reader._read.add(name)
                value = super().__getitem__(name)
                return reader._value(name, default if value is None else value)

            def getint(self, name: Any, default: int = 0) -> int:
                return reader._filled(name, super().getint(name, default), name in self, lambda _: 1)

            def getfloat(self, name: Any, default: float = 0.0) -> float:
                return reader._filled(name, super().getfloat(name, default), name in self, lambda _: 1.0)

            def getlist(self, name: Any, default: list[Any] | None = None) -> list[Any]:
                return reader._filled(name, super().getlist(name, default), name in self, lambda value: [value])

            def getdict(self, name: Any, default: dict[Any, Any] | None = None) -> dict[Any, Any]:
                return reader._filled(name, super().getdict(name, default), name in self, lambda one: defaultdict(lambda: one))

            def getbool(self, name: Any, default: bool = False) -> bool:
                if not (name in self or default or hasattr(default_settings, name)):
                    reader.off[name] = None
                return super().getbool(name, default)

            def __iter__(self) -> Iterator[Any]:
                reader._read_all = True
                return super().__iter__()

        watched = Watched()
        watched.attributes = crawler.settings.attributes
        self._read.clear()
        for known in (self.unset, self.empty, self.off):
            known.clear()
        self._read_all = False
        crawler.settings = watched
        if crawler.spider is not None:
            crawler.spider.settings = watched

    def may_lack(self, key: object) -> bool:
        """Whether a key that is missing somewhere may name a setting: all of them were copied, and it looks like one."""
        return self._read_all and isinstance(key, str) and key.isupper()

    def unknown(self, settings: Mapping[str, str], path: str) -> str:
        """Return a line on the first setting that neither Scrapy knows nor the implementation read."""
        if self._read_all:
            return ""
        for name in settings:
            if name not in self._read and not hasattr(default_settings, name):
                own = sorted(n for n in self._read if not hasattr(default_settings, n))
                hint = did_you_mean(name, [*own, *dir(default_settings)]) or (f"; it reads {', '.join(own)}" if own else "")
                return f"the setting {name}: Scrapy has no such setting, and {path} does not read it{hint}"
        return ""


class CrawlerDriver(Driver):
    """What the drivers of Scrapy's components share: a crawler of the kit's own, and requests as items.

    Attributes:
        crawler: the crawler.
        names: what the sources of items may use.
        has_job: whether the author sets a job directory. The kit gives another one to each sequence: what is in the author's
            belongs to the author, and what one sequence leaves must not reach the next one.
    """

    definitions: ClassVar[tuple[ModuleType, ...]] = (scrapy, engine, example, kills, processes)
    gives_jobs: ClassVar[bool] = False
    """Whether a job directory is an argument of what builds."""

    def __init__(self, implementation: Implementation, directory: Path, recorder: Recorder) -> None:
        self.has_job = bool(implementation.settings.get("JOBDIR"))
        settings = {name: value for name, value in implementation.settings.items() if name != "JOBDIR"}
        implementation = replace(implementation, settings=settings)
        super().__init__(implementation, directory, recorder)
        self.crawler = _shared_crawler(implementation.values)
        self.names = dict(_names())
        self._first_spider = self.prepared(self.crawler.spidercls.from_crawler(self.crawler))
        self.use_spider(self._first_spider)

    def renew(self, directory: Path) -> None:
        super().renew(directory)
        if self.has_job and not self.gives_jobs:
            self.crawler.settings.set("JOBDIR", f"{directory}/job", "cmdline")
        self.use_spider(self._first_spider)

    def job(self, name: str = "job") -> Path:
        """Return the job directory of a name, below the scratch directory."""
        return self.directory / name

    def job_source(self, name: str = "job") -> str:
        """Return a Python expression for the path of the job directory of a name."""
        return f"directory + {'/' + name!r}"

    def settings_of(self, job: str | None, **settings: Any) -> tuple[dict[str, Any], str]:
        """Return the settings of one run besides those of the author, and a Python expression of all of them.

        Args:
            job: the name of the job directory, ``""`` for none, or ``None`` to leave it unset.
        """
        values = dict(settings)
        sources = {name: source_of_setting(value) for name, value in self.implementation.settings.items()}
        if job is not None and "JOBDIR" not in settings:
            values["JOBDIR"] = str(self.job(job)) if job else ""
            sources["JOBDIR"] = self.job_source(job) if job else repr("")
        sources |= {name: self._source_of(value) for name, value in settings.items()}
        return values, f"{{{', '.join(f'{name!r}: {source}' for name, source in sources.items())}}}"

    def _source_of(self, value: Any) -> str:
        """Return the value of a setting as Python; a class of the kit's own by the name under which scripts know it."""
        if isinstance(value, Path):
            return f"Path(directory, {str(value.relative_to(self.directory))!r})"
        if isinstance(value, type):
            return value.__qualname__ if value.__module__.startswith("queue_conformance.") else f"load_object({path_of(value)!r})"
        return repr(value)

    def crawler_with(self, settings: Mapping[str, Any], name: str) -> Any:
        """Return the crawler of one run, with settings besides those of the author, and a spider of that name; about 0.1 ms."""
        world.enter()
        crawler = self.crawler.copied()
        crawler.settings = copy.copy(self.crawler.settings)  # a deep copy would take longer than most checks
        added = {setting: SettingsAttribute(value, SETTINGS_PRIORITIES["project"]) for setting, value in settings.items()}
        crawler.settings.attributes = {**self.crawler.settings.attributes, **added}
        crawler.signals = SignalManager(crawler)
        crawler.stats = load_object(crawler.settings["STATS_CLASS"])(crawler)
        if "REQUEST_FINGERPRINTER_CLASS" in settings:
            fingerprinter = load_object(settings["REQUEST_FINGERPRINTER_CLASS"])
            crawler.request_fingerprinter = build_from_crawler(fingerprinter, crawler)
        crawler.spider = self.prepared(crawler.spidercls.from_crawler(crawler, name))
        return crawler

    def prepared(self, spider: Spider) -> Spider:
        """Give a spider what the author says that the class looks for in it."""
        if self.implementation.prepare is not None:
            self.implementation.prepare(spider)
        return spider

    def use_spider(self, spider: Spider) -> None:
        """Make a spider the current one of the crawler."""
        self.crawler.spider = spider
        if self.names.get("spider") is not spider:
            self._items.clear()  # their callbacks are methods of the one before
        self.names["spider"] = spider

    def watch_settings(self) -> SettingsReader | None:
        """Note from now on which settings are read."""
        reader = SettingsReader()
        reader.watch(self.crawler)
        return reader

    def _item(self, number: int) -> Item:
        large = number % 7 == 6
        fields = {} if large else self.fields_of(number)
        body = [f"body=b'{number % 10}' * 5000"] if large else []
        return self.evaluate(request_source(f"https://example.com/{number}", fields, body))

    def evaluate(self, source: str) -> Item:
        return Item(eval(_compiled(source), self.names), source)

    def identify(self, value: Any) -> int | None:
        match = _URL.fullmatch(value.url) if isinstance(value, Request) else None
        return int(match[1]) if match else None

    def same(self, value: Any, item: Item) -> bool:
        expected = item.value
        kept = type(value) in (type(expected), Request)  # that a class is lost is a matter of the rule on them
        return kept and value.url == expected.url and value.body == expected.body

    def altered(self, value: Any, item: Item) -> tuple[str, object, object]:
        if value.body != item.value.body:
            return "{}.body", value.body, item.value.body
        return TYPE, type(value), type(item.value)

    def key(self, value: Any) -> tuple[Any, str] | None:
        return (value.url, "{}.url") if isinstance(value, Request) else None

    def imports(self, body: str) -> list[str]:
        return [line for name, line in _CRAWLS.items() if f"{name}(" in body]

    def setup(self, body: str) -> list[str]:
        if self.imports(body) or "read_kept(" in body:  # which make the crawler
            return [*self.scratch_source, *self.name_of_spider_source]
        return [
            *self.scratch_source,
            *self.crawler_source("ExampleSpider" if "spider." in body else "Spider", engine=self.needs_engine(body)),
        ]

    def needs_engine(self, body: str) -> bool:
        """Whether a script gives its crawler an engine."""
        return self.crawler.asked

    @property
    def scratch_source(self) -> list[str]:
        """The lines of a script that make a directory, and start the server if there is one."""
        return [*SCRATCH, *source_of_backend(self.implementation.server)]

    @property
    def name_of_spider_source(self) -> list[str]:
        """The line of a script that names the spider, where a server finds by that name what it stores."""
        return ["name = 'example-' + uuid.uuid4().hex"] if self.implementation.server else []

    def crawler_source(self, spider: str, *, engine: bool) -> list[str]:
        """Return the lines of a script that make the crawler; a class that may notice finds the reactor and the engine running.

        Args:
            spider: the class of its spider.
            engine: whether it has an engine.
        """
        runs = self.mentions_a_loop
        settings = source_of_settings(self.implementation.settings)
        if self.has_job and not self.gives_jobs:
            settings = f"{settings[:-1]}{', ' if settings != '{}' else ''}'JOBDIR': {self.job_source()}}}"
        install = "start_reactor()" if runs else INSTALL
        give = "give_engine(crawler)" if runs else "crawler.engine = ExecutionEngine(crawler, lambda spider: None)"
        return [
            *([install] if runs or ((engine or NEEDS_REACTOR) and not self._imports_the_reactor) else []),
            f"crawler = get_crawler({spider}{f', {settings}' if settings != '{}' else ''})",
            f"crawler.spider = spider = {spider}.from_crawler(crawler, 'example')",
            *([f"{self.prepare_name}(spider)"] if self.prepare_name else []),
            *([give] if engine else []),
        ]

    def under_test(self) -> tuple[list[str], list[str]]:
        imports, quoted = super().under_test()
        return ([], [INSTALL, *imports, *quoted]) if self._imports_the_reactor else (imports, quoted)

    @cached_property
    def _imports_the_reactor(self) -> bool:
        """Whether a module of somebody else has imported the reactor: one that it imported first would be the default one."""
        reactor = sys.modules.get(world.REACTOR)
        return reactor is not None and not world.packages_with(reactor) <= {"queue_conformance", "scrapy", "twisted"}

    @property
    def mentions_a_loop(self) -> bool:
        """Whether the class, or one that its settings name, has to do with what happens around it."""
        named = (str(value).rpartition(".") for value in self.implementation.settings.values())
        found = (getattr(sys.modules.get(module), name, None) for module, _, name in named)
        classes = [self.implementation.cls, *(cls for cls in found if isinstance(cls, type))]
        return any(is_lively(base) for cls in classes for base in cls.__mro__)
