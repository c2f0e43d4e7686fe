"""``queue-conformance keep`` and ``kept``: what one version wrote, a later one is asked for."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from queue_conformance.config.values import argument, level, path

if TYPE_CHECKING:
    from queue_conformance.running.contexts import RunConfig

KEPT_CLASSES = ("queue-class", "scheduler-class", "dupefilter-class")
"""The options that name a class to keep."""


class UpgradeError(Exception):
    """Nothing can be kept or read; the message is one line."""


def add_keep_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``keep``."""
    classes = " | ".join(f"--{option}" for option in KEPT_CLASSES)  # argparse would break no line in such a group
    command.usage = f"%(prog)s [-h] [--queue-setting NAME=VALUE]\n         ({classes}) CLASS DIR"
    command.add_argument("directory", type=Path, metavar="DIR", help="where to: one that is empty, or not there")
    group = command.add_mutually_exclusive_group(required=True)
    for option in KEPT_CLASSES:
        what = option.removesuffix("-class")
        group.add_argument(f"--{option}", type=argument(path), metavar="CLASS", help=f"keep what this {what} stores")
    command.add_argument("--queue-setting", action="append", default=[], metavar="NAME=VALUE", help="as for pytest; repeats")


def add_kept_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``kept``."""
    command.add_argument("directories", type=Path, nargs="+", metavar="DIR", help="what queue-conformance keep has written")
    command.add_argument(
        "--level", type=argument(level), default="MUST", metavar="LEVEL", help="with SHOULD, refusing fails, too (default: MUST)"
    )


def keep(asked: argparse.Namespace) -> int:
    """Keep what a class stores, and say what was not kept.

    Raises:
        UpgradeError: if it cannot be kept.
    """
    from queue_conformance.config.targets import Target
    from queue_conformance.config.values import settings_of
    from queue_conformance.upgrades import store

    with _ready() as config:
        option = next(option for option in KEPT_CLASSES if getattr(asked, option.replace("-", "_")))
        name = getattr(asked, option.replace("-", "_"))
        target = Target(name, option, name, settings_of(asked.queue_setting, "--queue-setting"))
        for note in store.keep(target, asked.directory, config):
            print(f"not kept: {note}")
    print(f"{asked.directory} is written: put it under version control, and run queue-conformance kept {asked.directory}")
    return 0


def kept(asked: argparse.Namespace) -> int:
    """Ask the installed versions for what was kept, and print what became of it.

    Returns:
        1 if something is lost, misread or crawled again, or, at the level SHOULD, refused; else 0.

    Raises:
        UpgradeError: if a store cannot be read.
    """
    from queue_conformance.upgrades import store
    from queue_conformance.upgrades.comparison import Outcome

    worst = 0
    with _ready() as config:
        for directory in asked.directories:
            for place, found in enumerate(store.read(directory, config)):
                if not place:
                    print(f"{directory}: {found.name}, written by {found.written}")
                print(f"  {found.how}: {found.outcome}{found.detail and f': {found.detail}'}", flush=True)
                worst |= found.outcome.harms or (asked.level == "SHOULD" and found.outcome is Outcome.REFUSES)
    return int(worst)


@contextmanager
def _ready() -> Iterator[RunConfig]:
    """Give what runs classes in guarded processes, and make one line of what goes wrong."""
    from queue_conformance.config.values import UsageError
    from queue_conformance.discovery.loading import LoadError
    from queue_conformance.frontends.scratch import Scratch
    from queue_conformance.guard import Guard
    from queue_conformance.running.contexts import RunConfig
    from queue_conformance.upgrades.store import StoreError

    if (here := os.getcwd()) not in sys.path:
        sys.path.append(here)  # the author's package need not be installed
    scratch = Scratch()
    try:
        yield RunConfig(scratch.path, guard=Guard(scratch.path, ()))
    except (LoadError, UsageError, StoreError) as error:
        raise UpgradeError(str(error)) from error
    except OSError as error:
        raise UpgradeError(f"{error.filename}: {error.strerror}") from error
    finally:
        scratch.remove()
