"""What whole crawls are asked for after an upgrade: what waits of a job, what was seen, and the state of the spider."""

from __future__ import annotations

import json
import linecache
import re
import signal
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import ClassVar

from scrapy.settings import Settings

from queue_conformance.engine import kept
from queue_conformance.engine.kept import Data, EndedElsewhere, Found, packages_of
from queue_conformance.engine.upgrade import asks_later_versions
from queue_conformance.environments import crawls, stored_crawl
from queue_conformance.environments.site import Crawl, argument
from queue_conformance.environments.stored_crawl import LINKS, NEW, SAID, SEEN, STARTED, STARTS
from queue_conformance.environments.tracebacks import BEGINNING, CHAINED, unframed
from queue_conformance.implementation.loading import path_of
from queue_conformance.kinds.crawl.fixtures import named_in_settings


@asks_later_versions
class Kept(kept.Kept):
    """A job that was stopped in the middle, or killed."""

    as_written = False  # the settings are those of the project, which are part of what is asked
    pending = STARTS + LINKS + 1
    asks: ClassVar[Mapping[str, Sequence[Data]]] = {
        "seen": [{"url": stored_crawl.url(number)} for number in range(SEEN + STARTS)],
        "new": [{"url": NEW}],
    }

    def open(self) -> None:
        """Begin nothing: a crawl opens what it needs."""

    def close(self) -> None:
        """End nothing."""

    def write(self) -> None:
        self._crawl(signal.SIGINT)

    def be_killed(self) -> None:
        self._crawl(signal.SIGKILL)

    def packages(self) -> set[str]:
        settings = map(str, self.driver.implementation.values.values())
        named = [getattr(sys.modules.get(path.rpartition(".")[0]), path.rpartition(".")[2], None) for path in settings]
        own = (packages_of(cls) for cls in named if isinstance(cls, type))
        return super().packages().union(*own)

    def read(self, asks: Mapping[str, Sequence[Data]], found: Found) -> None:
        run, received = self._crawl()
        started = {each["url"] for each in received if each.get("meta") == STARTED}
        found["pending"] += [each for each in received if each.get("meta") != STARTED]
        found["again"] += [each for each in asks["seen"] if each["url"] in started]
        if not run.finished or not received:
            raise EndedElsewhere(*error_of(run))
        found["dropped"] += [each for each in asks["new"] if each["url"] not in started]

    def _crawl(self, ends: signal.Signals | None = None) -> tuple[Crawl, list[Data]]:
        """Crawl until it ends; return what came of it, and what it said that it found."""
        self.go_on()
        own, prepare = self.driver.implementation.values, self.driver.implementation.prepare
        given = {**own, "SCHEDULER": named_in_settings(self.driver), "JOBDIR": "job"}
        given |= {"PREPARE": path_of(prepare)} if prepare else {}
        words = [f"-s{name}={argument(value)}" for name, value in given.items()]
        words += ["-a", f"ends={ends.name}"] if ends else []
        hung, lines, received = Event(), list[str](), list[Data]()

        def end() -> None:
            hung.set()
            process.kill()

        directory = Path(self.driver.directory)
        directory.mkdir(parents=True, exist_ok=True)
        process = crawls.Process(
            directory,
            ["runspider", str(stored_crawl.__file__), *words],
            Settings(given),
            crawls.TIMEOUT,
            end,
            lambda: len(received),
        )
        for line in process.stdout:
            self.go_on()
            lines.append(line.rstrip())
            if line.startswith(SAID):
                received.append(json.loads(line.removeprefix(SAID)))
        process.wait()
        return Crawl([], [], [], lines, process.returncode, hung.is_set()), received


_PLACE = re.compile(r'  File "(.+)", line (\d+)')
_ENGINE = str(Path("scrapy", "core", "engine.py"))


def error_of(run: Crawl) -> tuple[str, str]:
    """Return what a crawl was ended by, and the package with the ``raise`` that this comes from, or ``""``."""
    said, places = _raised(run.log)
    if not places:
        return said or run.ending, ""
    file, line = places[-1]
    raised = linecache.getline(file, line).strip().startswith("raise ")
    modules = (name for name, module in [*sys.modules.items()] if getattr(module, "__file__", None) == file)
    name, colon, message = said.partition(": ")
    return f"{name.rpartition('.')[2]}{colon}{message}", next(modules, "").partition(".")[0] if raised else ""


def _raised(log: Iterable[str]) -> tuple[str, list[tuple[str, int]]]:
    """Return the first error that a log tells of, and the places that it went through.

    Of a chain it is the last one, but none of the engine, which complains that it closes what was never open.
    """
    found, chained = ("", list[tuple[str, int]]()), False
    places: list[tuple[str, int]] | None = None
    for line in unframed(log):
        if BEGINNING.match(line):
            places = []
        elif line.startswith(CHAINED):
            chained = True
        elif places is None or not line or line.startswith("---"):
            continue
        elif place := _PLACE.match(line):
            places.append((place[1], int(place[2])))
        elif not line.startswith(" "):
            if not found[1] or (chained and not places[-1][0].endswith(_ENGINE)):
                found = line, places
            places, chained = None, False
    return found
