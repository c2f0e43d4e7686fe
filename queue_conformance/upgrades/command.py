"""``queue-conformance keep``, ``kept`` and ``upgrade``: what one version wrote, another one is asked for."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from queue_conformance.config.options import CLASS_OPTIONS, CRAWL_OPTION, add_describing
from queue_conformance.config.values import UsageError, argument, claims_of, level, path, settings_of

if TYPE_CHECKING:
    from queue_conformance.config.targets import Target

FORMS = "an interpreter, a virtual environment, requirements such as scrapy==2.18.0, or git:REV"
"""What an environment may be."""

CLASSES = fill(" | ".join(f"--{option}" for option in CLASS_OPTIONS), 68, subsequent_indent=" " * 10, break_on_hyphens=False)
"""The options that name a class to keep, for a usage: argparse would break no line in such a group."""

WHAT = f"({CLASSES}) CLASS\n         | --{CRAWL_OPTION} [--spider NAME]"
"""What can be kept, for a usage."""


OF_CLASS = "[--queue-setting NAME=VALUE] [--conformance-claim NAME[=VALUE]]"
"""What may be said of it besides, for a usage."""


def add_keep_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``keep``."""
    command.usage = f"%(prog)s [-h]\n         {OF_CLASS}\n         ({WHAT}) DIR"
    command.add_argument("directory", type=Path, metavar="DIR", help="where to: one that is empty, or not there")
    add_class_options(command, "keep what this {} stores")


def add_upgrade_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``upgrade``."""
    lines = (
        "%(prog)s [-h] --from ENV [--to ENV] [--level LEVEL]",
        OF_CLASS,
        "[--keep-environments DIR] [--scripts DIR]",
        f"({WHAT})",
    )
    command.usage = "\n         ".join(lines)
    command.add_argument("--from", dest="old", required=True, metavar="ENV", help="the environment that one comes from")
    command.add_argument(
        "--to", dest="new", default=sys.executable, metavar="ENV", help="the one that one goes to (default: this)"
    )
    add_class_options(command, "ask for what this {} stores")
    _level(command)
    command.add_argument(
        "--keep-environments", type=Path, metavar="DIR", help="where what is installed stays, and is taken from the next time"
    )
    command.add_argument("--scripts", type=Path, metavar="DIR", help="where to write what shows each finding, from nothing")


def _level(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--level", type=argument(level), default="MUST", metavar="LEVEL", help="with SHOULD, refusing fails, too (default: MUST)"
    )


def add_class_options(command: argparse.ArgumentParser, text: str) -> None:
    """Add the options that name one class, and its settings.

    Args:
        text: the help of one, with ``{}`` for the kind of class.
    """
    group = command.add_mutually_exclusive_group(required=True)
    for option in CLASS_OPTIONS:
        help_ = text.format(option.removesuffix("-class").replace("-", " "))
        group.add_argument(f"--{option}", type=argument(path), metavar="CLASS", help=help_)
    help_ = text.format("crawl").replace("this crawl stores", "crawls with the Scrapy project here store")
    group.add_argument(f"--{CRAWL_OPTION}", action="store_true", help=help_)
    command.add_argument("--spider", default="", metavar="NAME", help="whose settings, where those of others differ")
    add_describing(command)


def target_of(asked: argparse.Namespace) -> Target:
    """Return the class that one of these options names, or the project, which ``upgrades.store`` finds.

    Raises:
        UsageError: if a setting or a claim is none, or an option is for a class or a project alone; the message is one line.
    """
    from queue_conformance.config.targets import Target

    settings = settings_of(asked.queue_setting, "--queue-setting")
    claims = claims_of(asked.conformance_claim, "--conformance-claim")
    if asked.spider and not asked.conformance_crawl:
        raise UsageError(f"--spider names one of a project; give --{CRAWL_OPTION} with it, or leave it out")
    if asked.conformance_crawl:
        if claims:
            raise UsageError(f"--conformance-claim is for a class, and --{CRAWL_OPTION} for a project, which says its own")
        return Target(asked.spider or "the project here", CRAWL_OPTION, asked.spider, settings)
    name, option = next(
        (value, option) for option in CLASS_OPTIONS if (value := getattr(asked, option.replace("-", "_"))) is not None
    )
    return Target(name, option, name, settings, claims)


def add_kept_options(command: argparse.ArgumentParser) -> None:
    """Add the options of ``kept``."""
    command.add_argument("directories", type=Path, nargs="+", metavar="DIR", help="what queue-conformance keep has written")
    _level(command)


def keep(asked: argparse.Namespace) -> int:
    """Keep what a class stores, and say what was not kept.

    Raises:
        UsageError: if it cannot be kept; the message is one line.
    """
    from queue_conformance.frontends.guarded import guarded
    from queue_conformance.upgrades import store

    target = target_of(asked)
    try:
        with guarded(store.FILES_ONLY) as config:
            notes = store.keep(store.found(target), asked.directory, config)
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


COMMANDS = (
    (
        "keep",
        "upgrades.command",
        "keep what a class stores, so that later versions can be asked for it",
        "It is written twice: closed, and killed; beside it stands, as data, what must come out.",
        add_keep_options,
    ),
    (
        "kept",
        "upgrades.command",
        "ask the installed versions for what earlier ones kept",
        "Copies are read. The exit status is 1 if something is lost, misread or crawled again, 0 if not.",
        add_kept_options,
    ),
    (
        "upgrade",
        "upgrades.upgrade",
        "ask each of two environments for what the other one keeps",
        f"ENV is {FORMS}. The exit status is 1 if something is lost, misread or crawled again, 0 if not.",
        add_upgrade_options,
    ),
)
"""The commands: name, module, what they do, what there is to say of it, and what adds their options."""
