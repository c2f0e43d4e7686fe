"""The world around the components of Scrapy in a check: the reactor that Scrapy installs, and crawlers with real engines."""

from __future__ import annotations

import asyncio
import copy
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import takewhile
from typing import Any

from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import Crawler
from scrapy.extension import ExtensionManager
from twisted.internet.asyncioreactor import AsyncioSelectorReactor

from queue_conformance.compat import scrapy as compat
from queue_conformance.environments import engine
from queue_conformance.processes import role

REACTOR = "twisted.internet.reactor"
"""The module that a reactor takes the place of."""


def enter() -> None:
    """Let this process be one in which Scrapy crawls: its reactor is installed and runs.

    That takes 2 ms in the process of a check. In other ones, such as that of pytest, nothing finds a running event loop.
    """
    before = asyncio._get_running_loop()
    if REACTOR not in sys.modules:
        _Before.last = next(reversed(sys.modules))
    replace_default_reactor(compat.start_reactor)
    found: Any = sys.modules.get(REACTOR)
    if found is not None and found.running and before is not None:
        return
    compat.start_reactor()
    if not role.alone:
        asyncio._set_running_loop(before)


def replace_default_reactor(install: Callable[[], object] = compat.install) -> None:
    """Put the reactor that Scrapy installs in the place of one that is there because a module has imported it before."""
    if not isinstance(sys.modules.get(REACTOR), AsyncioSelectorReactor | None):
        replace_reactor(install)


def replace_reactor(install: Callable[[], object]) -> None:
    """Put the reactor that ``install`` installs in the place of the present one, also in modules that have imported that.

    In a crawl they are imported later.
    """
    reactor = sys.modules.pop(REACTOR)
    install()
    for module in tuple(sys.modules.values()):
        if getattr(module, "__dict__", {}).get("reactor") is reactor:
            module.reactor = sys.modules[REACTOR]  # type: ignore[attr-defined]


@contextmanager
def no_reactor() -> Iterator[None]:
    """Let no module be imported that would choose a reactor, as Twisted's for FTP does; a reactor that is there stays."""
    chosen = sys.modules.setdefault(REACTOR, None)  # type: ignore[arg-type]
    try:
        yield
    finally:
        if chosen is None:
            del sys.modules[REACTOR]


def packages_with(reactor: object) -> set[str]:
    """Return the packages of modules that have imported a reactor.

    What was there when this process had none has not: to look at it would copy the memory that processes share.
    """
    later = [*takewhile(lambda item: item[0] != _Before.last, reversed(sys.modules.items()))]
    return {name.partition(".")[0] for name, module in later if getattr(module, "__dict__", {}).get("reactor") is reactor}


class _Before:
    """What was there before this process had a reactor."""

    last: str = ""


class EngineError(Exception):
    """Scrapy can make no engine here, whatever the class under test does with it; the message says why."""


class WorldlyCrawler(Crawler):
    """A crawler whose engine and extensions are there when somebody asks for them: most components never do."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._patterns: list[ExecutionEngine] = []  # shared by all copies of this one
        super().__init__(*arguments, **keywords)
        _forget_parts(self)

    def copied(self) -> WorldlyCrawler:
        """Return a copy with an engine and extensions of its own."""
        other = copy.copy(self)
        _forget_parts(other)
        return other

    @property
    def asked(self) -> bool:
        """Whether somebody asked this one, or a copy, for the engine."""
        return bool(self._patterns)

    @cached_property
    def engine(self) -> Any:  # type: ignore[override]
        """The engine; about 0.05 ms, and some milliseconds for the first one of a process.

        Raises:
            EngineError: if there can be none, because of the settings, or of what is installed beside Scrapy.
        """
        enter()
        if not self._patterns:
            first = self.copied()
            try:
                engine.give_engine(first)
            except Exception as error:
                first_error = _first(error)
                raise EngineError(f"{type(first_error).__name__}: {first_error}") from None
            self._patterns.append(first.engine)
        return _engine_like(self._patterns[0], self)

    @cached_property
    def extensions(self) -> Any:  # type: ignore[override]
        """The extensions of the settings."""
        enter()
        return ExtensionManager.from_crawler(self)


def _forget_parts(crawler: WorldlyCrawler) -> None:
    for name in ("engine", "extensions"):
        vars(crawler).pop(name, None)


def _first(error: BaseException) -> BaseException:
    """Return the error that others followed."""
    return error if error.__context__ is None else _first(error.__context__)


def _engine_like(pattern: ExecutionEngine, crawler: Crawler) -> ExecutionEngine:
    """Return an engine like another one, in which nothing was downloaded yet; to build it anew would take 2 ms."""
    made = copy.copy(pattern)
    made.downloader, made.scraper = copy.copy(pattern.downloader), copy.copy(pattern.scraper)
    made.downloader.slots, made.downloader.active = {}, set()
    for part in (made, made.downloader, made.scraper):
        part.crawler, part.signals = crawler, crawler.signals
    made.settings = made.downloader.settings = crawler.settings
    compat.let_run(made, crawler)
    return made
