"""What the drivers of components have in common that belong to one run of a crawl and may keep files in a job directory."""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

from twisted.internet.defer import Deferred

from queue_conformance.compat import scrapy
from queue_conformance.engine.recording import is_a
from queue_conformance.environments import engine, plain
from queue_conformance.environments import runs as running
from queue_conformance.environments.crawling import NEEDS_REACTOR, CrawlerDriver
from queue_conformance.faults.servers.running import marked
from queue_conformance.script_support import example, kills, processes

_JOB = re.compile(r"'JOBDIR': directory \+ '/(\w+)'")


class ComponentDriver(CrawlerDriver):
    """Builds components, each from a crawler of its own.

    Attributes:
        asynchronous: whether something had to be waited for, so that scripts need a reactor.
    """

    definitions: ClassVar[tuple[ModuleType, ...]] = (scrapy, engine, example, kills, processes, running)
    asynchronous = False
    gives_jobs = True

    def job(self, name: str = "job") -> Path:
        """Return the job directory of a name, which is there, as a scheduler would make it, unless it is ``"several/levels"``."""
        path = super().job(name)
        with contextlib.suppress(FileExistsError):  # what the implementation put there instead is its own affair
            if "/" not in name:
                path.mkdir()
        return path

    @property
    def spider_name(self) -> str:
        """The name of the spider; behind a server, another one in each scratch directory."""
        return marked(self.directory, *self.directory.parts[-2:]) if self.implementation.server else "example"

    def crawler_with(self, settings: Mapping[str, Any], name: str = "") -> Any:
        if not logging.root.handlers:  # what components log, logging would print on the standard error stream
            logging.root.addHandler(logging.NullHandler())
        return super().crawler_with(settings, name or self.spider_name)

    def name_source(self, other: str = "") -> str:
        """Return the arguments with the name of the spider in scripts, if it matters, and with what prepares it.

        Args:
            other: what is added to the name, for another spider.
        """
        if self.implementation.server:
            name = ", name='-'.join(Path(directory).parts[-2:])" + (f" + {other!r}" if other else "")
        else:
            name = f", name={self.spider_name + other!r}" if other else ""
        return name + (f", prepare={self.prepare_name}" if self.prepare_name else "")

    def waited(self, result: Any) -> Any:
        """Wait for the end of what an operation began."""
        self.asynchronous |= is_a(result, Deferred)
        return running.wait(result)

    def script(self, title: str, lines: Sequence[str], *definitions: ModuleType) -> str:
        odd = self.mentions_a_loop or self.asynchronous or self.crawler.asked or self.prepare_name or NEEDS_REACTOR
        return super().script(title, lines, *definitions, *(() if odd else (plain,)))

    def setup(self, body: str) -> list[str]:
        return [*self.scratch_source, *(f"os.mkdir({self.job_source(name)})" for name in sorted(set(_JOB.findall(body))))]


def files_in(directory: Path) -> dict[str, bytes]:
    """Return the contents of all files below a directory, by their paths relative to it."""
    return {os.path.relpath(path, directory): path.read_bytes() for path in running.files_below(directory)}
