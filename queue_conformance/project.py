"""The user's own project of Scrapy: what its settings name, as one implementation."""

from __future__ import annotations

import configparser
import os
import re
import sys
from pathlib import Path
from typing import Any

from queue_conformance.option_values import UsageError, said_as_text
from queue_conformance.options import CRAWL_OPTION, Common, Target
from queue_conformance.targets import describe

_OF_THE_QUEUE = re.compile(
    r"SCHEDULER\w*|DUPEFILTER_\w+|REQUEST_FINGERPRINTER_\w+|JOBDIR|DEPTH_PRIORITY|TWISTED_REACTOR|ASYNCIO_EVENT_LOOP"
)
"""The settings of Scrapy that are taken; others would let a crawl wait, leave this machine, or write what nobody asked for."""


def read_project(common: Common) -> Target:
    """Return whole crawls with what the project around the working directory names.

    Raises:
        UsageError: if there is no project, or its settings cannot be used; the message is one line.
    """
    from scrapy.settings import default_settings

    name, settings = _settings()
    taken: dict[str, Any] = {}
    for setting, value in settings.items():
        known = hasattr(default_settings, setting)
        if known and not _OF_THE_QUEUE.fullmatch(setting):
            continue
        try:
            taken[setting] = "" if value is None else said_as_text(setting, value)
        except ValueError as error:
            if known:
                raise UsageError(f"--{CRAWL_OPTION}: {setting} in {name}: {error}, not {value!r}") from error
    path = taken.pop("SCHEDULER", default_settings.SCHEDULER)
    return describe(name, "scheduler-class", path, {"settings": taken, "kind": "crawl"}, common)


def _settings() -> tuple[str, dict[str, Any]]:
    """Import the settings that ``scrapy.cfg`` names; return the name of the module, and what Scrapy would read of it."""
    from scrapy.utils.conf import closest_scrapy_cfg

    from queue_conformance.discovery.loading import LoadError, load_module

    where = f"--{CRAWL_OPTION}"
    file = closest_scrapy_cfg()
    if not file:
        raise UsageError(f"{where}: there is no scrapy.cfg here or above; run pytest in the directory of a Scrapy project")
    parser = configparser.ConfigParser()
    try:
        parser.read(file)
    except (configparser.Error, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: {file}: {' '.join(str(error).split())}") from error
    project = os.environ.get("SCRAPY_PROJECT", "default")
    name = os.environ.get("SCRAPY_SETTINGS_MODULE") or parser.get("settings", project, fallback="")
    if not name:
        raise UsageError(f"{where}: {file} names no settings; write {project} = my_project.settings below [settings]")
    if (directory := str(Path(file).parent)) not in sys.path:
        sys.path.append(directory)
    try:
        return name, {setting: value for setting, value in vars(load_module(name)).items() if setting.isupper()}
    except LoadError as error:
        raise UsageError(f"{where}: the settings that {file} names: {error}") from error
