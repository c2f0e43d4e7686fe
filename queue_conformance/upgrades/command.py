"""``queue-conformance keep`` and ``kept``: what one version wrote, a later one is asked for."""

from __future__ import annotations

import argparse
import textwrap
from pathlib import Path

from queue_conformance.config.values import UsageError, argument, level, path, settings_of

KEPT_CLASSES = ("queue-class", "priority-queue-class", "scheduler-class", "dupefilter-class", "spider-state-class")
"""The options that name a class to keep."""


def add_keep_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``keep``."""
    classes = f"({' | '.join(f'--{option}' for option in KEPT_CLASSES)}) CLASS DIR"  # argparse breaks no line in such a group
    lines = ["%(prog)s [-h] [--queue-setting NAME=VALUE]", *textwrap.wrap(classes, 70, break_on_hyphens=False)]
    command.usage = "\n         ".join(lines)
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
        UsageError: if it cannot be kept; the message is one line.
    """
    from queue_conformance.config.targets import Target
    from queue_conformance.frontends.guarded import guarded
    from queue_conformance.upgrades import store

    name, option = next((value, option) for option in KEPT_CLASSES if (value := getattr(asked, option.replace("-", "_"))))
    target = Target(name, option, name, settings_of(asked.queue_setting, "--queue-setting"))
    try:
        with guarded(store.FILES_ONLY) as config:
            notes = store.keep(target, asked.directory, config)
    except OSError as error:
        raise UsageError(f"{error.filename}: {error.strerror}") from error
    for note in notes:
        print(f"not kept: {note}")
    print(f"{asked.directory} is written: put it under version control, and run queue-conformance kept {asked.directory}")
    return 0


def kept(asked: argparse.Namespace) -> int:
    """Ask the installed versions for what was kept, and print what became of it.

    Returns:
        1 if something is lost, misread or crawled again, or, at the level SHOULD, refused; else 0.

    Raises:
        UsageError: if a store cannot be read; the message is one line.
    """
    from queue_conformance.engine.kept_outcome import Outcome
    from queue_conformance.frontends.guarded import guarded
    from queue_conformance.upgrades import store

    worst = False
    with guarded(store.FILES_ONLY) as config:
        for directory in asked.directories:
            for number, part in enumerate(store.read(directory, config)):
                if not number:
                    print(f"{directory}: {part.name}, written by {part.written}")
                print(f"  {part.how}: {part.outcome}{part.detail and f': {part.detail}'}", flush=True)
                worst |= part.outcome.harms or (asked.level == "SHOULD" and part.outcome is Outcome.REFUSES)
    return int(worst)
