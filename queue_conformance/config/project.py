"""The user's own project of Scrapy: what its settings and those of its spiders name, as implementations."""

from __future__ import annotations

import configparser
import os
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from queue_conformance.config.options import CRAWL_OPTION
from queue_conformance.config.targets import CRAWL, Common, Target, describe
from queue_conformance.config.values import UsageError, said_as_text
from queue_conformance.processes import endings

_OF_THE_QUEUE = re.compile(
    r"SCHEDULER\w*|DUPEFILTER_\w+|REQUEST_FINGERPRINTER_\w+|JOBDIR|DEPTH_PRIORITY|TWISTED_REACTOR|ASYNCIO_EVENT_LOOP"
)
"""The settings of Scrapy that are taken; others would let a crawl wait, leave this machine, or write what nobody asked for."""

_PARTS = {
    "SCHEDULER": "scheduler-class",
    "SCHEDULER_PRIORITY_QUEUE": "priority-queue-class",
    "SCHEDULER_DISK_QUEUE": "queue-class",
    "SCHEDULER_MEMORY_QUEUE": "queue-class",
    "SCHEDULER_START_DISK_QUEUE": "queue-class",
    "SCHEDULER_START_MEMORY_QUEUE": "queue-class",
    "DUPEFILTER_CLASS": "dupefilter-class",
}
"""The settings that name a class with rules of its own, and the option that would name it."""

_QUEUES = ("queue-class", "priority-queue-class")

_TIME_LIMIT = 60.0
"""Seconds that the settings, and the spiders, may take to be imported."""


@dataclass(frozen=True)
class _Crawl:
    """What some spiders crawl with.

    Attributes:
        spiders: their names; none of a project that has no spiders.
        settings: what is taken of the settings, as text.
        parts: the paths of classes that stand in the place of Scrapy's own, and the options that would name them.
    """

    spiders: tuple[str, ...]
    settings: Mapping[str, str]
    parts: Mapping[str, str]


def read_project(common: Common, allow: Sequence[str] = ()) -> list[Target]:
    """Return what the project around the working directory names: whole crawls, and the classes that take part in them.

    There is one implementation for all spiders that crawl with the same settings, and one for each class that takes the place
    of one of Scrapy's. What Scrapy itself ships is crawled with: a project cannot mend it.

    Args:
        allow: what its modules may connect to or change when they are imported.

    Raises:
        UsageError: if there is no project, or its settings cannot be used; the message is one line.
    """
    from scrapy.settings import default_settings

    module, named_by = _settings_module()
    crawls = _imported(module, named_by, allow)
    targets: dict[str, Target] = {}
    for crawl in crawls:
        settings = dict(crawl.settings)
        path = settings.pop("SCHEDULER", default_settings.SCHEDULER)
        name = f"{module}:{','.join(crawl.spiders)}" if len(crawls) > 1 else module
        targets[name] = describe(name, "scheduler-class", path, {"settings": settings, "kind": CRAWL}, common)
    for crawl in crawls:
        for path, option in crawl.parts.items():
            others = ("SCHEDULER", "DUPEFILTER_CLASS") if option in _QUEUES else ("SCHEDULER",)  # they are blamed for their own
            settings = {name: value for name, value in crawl.settings.items() if name not in others}
            targets.setdefault(path, replace(describe(path, option, path, {"settings": settings}, common), of_project=True))
    return [*targets.values()]


def _settings_module() -> tuple[str, str]:
    """Return the name of the module with the settings, and what names it; where that lies is on the path from here on."""
    from scrapy.utils.conf import closest_scrapy_cfg, get_sources

    where = f"--{CRAWL_OPTION}"
    file = closest_scrapy_cfg()
    if name := os.environ.get("SCRAPY_SETTINGS_MODULE"):
        named_by = "SCRAPY_SETTINGS_MODULE"
    else:
        named_by = file or "a scrapy.cfg of yours"
        parser = configparser.ConfigParser()
        try:
            parser.read(get_sources())
        except (configparser.Error, UnicodeDecodeError) as error:
            raise UsageError(f"{where}: {named_by}: {' '.join(str(error).split())}") from error
        project = os.environ.get("SCRAPY_PROJECT", "default")
        name = parser.get("settings", project, fallback="")
        if not name and not file:
            raise UsageError(f"{where}: there is no scrapy.cfg here or above; run this in the directory of a Scrapy project")
        if not name:
            raise UsageError(f"{where}: {file} names no settings; write {project} = my_project.settings below [settings]")
    if (directory := str(Path(file).parent) if file else os.getcwd()) not in sys.path:
        sys.path.append(directory)
    return name, named_by


def _imported(module: str, named_by: str, allow: Sequence[str]) -> list[_Crawl]:
    """Import the settings and the spiders, in a process of their own: they may hang, end it, or connect to what is not lent."""
    from queue_conformance.guard import Guard
    from queue_conformance.implementation.loading import LoadError
    from queue_conformance.processes import isolation
    from queue_conformance.processes.trees import temporary_directory

    where = f"--{CRAWL_OPTION}"

    def read(watchdog: isolation.Watchdog) -> list[_Crawl] | str:
        watchdog.enter(f"import {module}", "")
        try:
            return _grouped(_crawls(module, named_by))
        except (LoadError, UsageError) as error:
            return str(error)
        finally:
            watchdog.leave()

    with temporary_directory() as scratch:
        guard = Guard(scratch, allow)
        ended = isolation.run(read, time_limit=_TIME_LIMIT, guard=guard)
        if line := guard.refused(module, {}):
            raise UsageError(f"{where}: {line}")
    if isinstance(ended, endings.Abort):
        raise UsageError(f"{where}: importing {module} and its spiders {ended.how}")
    if isinstance(ended.value, str):
        raise UsageError(f"{where}: {ended.value}")
    return ended.value


def _crawls(module: str, named_by: str) -> Iterator[_Crawl]:
    """Yield what the project crawls with, or each of its spiders: settings of a spider's own win over those of the project."""
    from scrapy.settings import Settings
    from scrapy.utils.misc import load_object

    from queue_conformance.engine.recording import describe as described
    from queue_conformance.implementation.loading import LoadError, load_module

    settings = Settings()
    try:
        settings.setmodule(load_module(module), priority="project")
    except LoadError as error:
        raise LoadError(f"the settings that {named_by} names: {error}") from error
    spiders = {}
    try:
        with warnings.catch_warnings(action="ignore"):
            loader = load_object(settings["SPIDER_LOADER_CLASS"]).from_settings(settings.frozencopy())
            for name in sorted(loader.list()):
                spiders[name] = settings.copy()
                loader.load(name).update_settings(spiders[name])
    except Exception as error:  # of the spiders
        raise LoadError(f"the spiders of {module}: {described(error, 300)}") from error
    for name, own in spiders.items():
        taken = _taken(own, f"{module}, spider {name}")
        yield _Crawl((name,), taken, _parts(taken))
    if not spiders:
        taken = _taken(settings, module)
        yield _Crawl((), taken, _parts(taken))


def _taken(settings: Any, where: str) -> dict[str, str]:
    """Return what is taken of settings, as text."""
    from scrapy.settings import SETTINGS_PRIORITIES, default_settings

    taken = {}
    for name in settings:
        known = hasattr(default_settings, name)
        if settings.getpriority(name) < SETTINGS_PRIORITIES["project"] or (known and not _OF_THE_QUEUE.fullmatch(name)):
            continue
        value = settings[name]
        try:
            taken[name] = "" if value is None else said_as_text(name, value)
        except ValueError as error:
            if known:
                raise UsageError(f"{name} in {where}: {error}, not {value!r}") from error
    return taken


def _parts(taken: Mapping[str, str]) -> dict[str, str]:
    """Return the classes with rules of their own, by path, but none of Scrapy's, and no function that makes a queue."""
    from scrapy.utils.misc import load_object

    found = {}
    for setting, option in _PARTS.items():
        path = taken.get(setting, "")
        if path and not path.startswith("scrapy."):
            with suppress(Exception):  # the crawls say what is wrong with it
                if isinstance(load_object(path), type):
                    found[path] = option
    return found


def _grouped(crawls: Iterator[_Crawl]) -> list[_Crawl]:
    """Join those that differ in nothing but the directory of the job, which is the kit's own in each crawl."""
    groups: dict[object, _Crawl] = {}
    for crawl in crawls:
        key = frozenset((name, bool(value) if name == "JOBDIR" else value) for name, value in crawl.settings.items())
        known = groups.setdefault(key, crawl)
        groups[key] = known if known is crawl else replace(known, spiders=known.spiders + crawl.spiders)
    return [*groups.values()]
