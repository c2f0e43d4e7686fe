"""What the user asked for: the command line, completed by ``[tool.queue_conformance]`` of pyproject.toml."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

from queue_conformance.config import values as of
from queue_conformance.config.values import Option

if TYPE_CHECKING:
    import argparse

    import pytest


GROUP = "pytest-queue-conformance"

TABLE = "tool.queue_conformance"
"""The table of pyproject.toml."""

DESCRIBED = "implementations"
"""The table in it that describes implementations by name."""

SERVERS = "servers"
"""The table in it that describes programs as servers, by name."""


CRAWL_OPTION = "conformance-crawl"
"""The option that tests what the user's own project names."""

CLASS_OPTIONS = ("queue-class", "priority-queue-class", "scheduler-class", "dupefilter-class", "spider-state-class")
"""The options that name classes to test."""

OPTIONS = (
    Option(
        "queue-class",
        "test this queue: my_package.MyQueue, or path/to/file.py::MyQueue",
        "PATH",
        repeats=True,
        convert=of.path,
    ),
    Option("priority-queue-class", "test this priority queue or round-robin queue", "PATH", repeats=True, convert=of.path),
    Option("scheduler-class", "test this scheduler", "PATH", repeats=True, convert=of.path),
    Option("dupefilter-class", "test this dupefilter", "PATH", repeats=True, convert=of.path),
    Option("spider-state-class", "test this extension that keeps the state of spiders", "PATH", repeats=True, convert=of.path),
    Option(
        "queue-setting",
        "a crawler setting, or an argument of the constructor where there is no crawler; NAME:=VALUE takes a value in JSON",
        "NAME=VALUE",
        repeats=True,
        typed=True,
    ),
    Option(
        "queue-server",
        "the server behind the queue: the name of one that the kit starts, such as redis, or HOST:PORT of a running one",
        "SERVER",
        convert=of.server,
    ),
    Option(
        "conformance-allow",
        "what is no server lent for tests, and the class may connect to or change nevertheless: an address, a file or a socket",
        "HOST:PORT|PATH",
        repeats=True,
        convert=of.touched,
    ),
    Option("conformance", "test what [tool.queue_conformance] of pyproject.toml names"),
    Option(
        CRAWL_OPTION,
        "crawl with the scheduler, the queues and the dupefilter that the settings of the Scrapy project here name",
    ),
    Option("conformance-only", "of these, only the one of this name", "NAME", repeats=True),
    Option(
        "conformance-claim",
        "what the class promises: order=FIFO, persistent, peek=no, crash-safe, ...",
        "NAME[=VALUE]",
        repeats=True,
    ),
    Option(
        "conformance-level",
        "the level whose failed rules fail the run: MUST (default) or SHOULD",
        "LEVEL",
        convert=of.level,
        default="MUST",
    ),
    Option(
        "conformance-kept",
        "ask the class for what an earlier version of it has stored: a directory that queue-conformance keep has written",
        "DIR",
        repeats=True,
        convert=of.directory,
    ),
    Option("conformance-baseline", "the rules that are known to fail, each with a reason", "FILE.toml", convert=of.file),
    Option(
        "conformance-database",
        "where failed command sequences are kept for later runs: a directory, or redis://HOST:PORT (default: pytest's cache)",
        "WHERE",
        convert=of.database,
        default="",
    ),
    Option("conformance-update-baseline", "write what fails now to the baseline, and remove what is fixed"),
    Option(
        "conformance-report",
        "write the results to this file; its ending says in which form: .jsonl, .html, .xml (JUnit), .md, .svg or .json (badges)",
        "FILE",
        repeats=True,
        convert=of.report,
    ),
    Option("conformance-seed", "seeds everything that is drawn (default: 0)", "N", convert=of.natural, default=0),
    Option(
        "conformance-examples", "command sequences and requests to draw (default: 100)", "N", convert=of.positive, default=100
    ),
    Option("conformance-crawls", "graphs of pages to crawl for one rule (default: 3)", "N", convert=of.positive, default=3),
    Option(
        "conformance-jobs",
        "checks of a class that run at once (default: one for each processor, 8 at most, 16 where the class waits)",
        "N",
        convert=of.positive,
    ),
    Option(
        "conformance-time",
        "how long the run may take: 90s, 5m, 8h (default: as long as it takes); what it did not come to is not covered then",
        "TIME",
        convert=of.length_of,
        default=math.inf,
    ),
    Option(
        "conformance-time-limit",
        "seconds that one operation of the class may take (default: 10); the time of the whole run is --conformance-time",
        "SECONDS",
        convert=of.seconds_of,
        default=10.0,
    ),
    Option(
        "conformance-campaign",
        "test what [tool.queue_conformance] of pyproject.toml names, and nothing that is named here, with seed after seed, "
        "for so long: 90s, 30m, 8h",
        "TIME",
        convert=of.length_of,
    ),
    Option("conformance-campaign-workers", "processes of a campaign (default: one for each processor)", "N", convert=of.positive),
    Option("conformance-campaign-cluster", "a scheduler of dask.distributed that runs", "tcp://HOST:PORT", convert=of.cluster),
    Option(
        "conformance-campaign-directory",
        "where what is known of a campaign is kept (default: queue-conformance-campaign)",
        "DIR",
        convert=of.directory,
        default="queue-conformance-campaign",
    ),
    Option("conformance-measure", "measure what each class costs as it grows, too, once it is tested"),
    Option("conformance-measure-against", "measure this one beside them", "CLASS", repeats=True, convert=of.path),
    Option("conformance-measure-up-to", "the largest size (default: 1000000)", "N", convert=of.positive, default=1_000_000),
    Option(
        "conformance-measure-time",
        "how long it may take: 90s, 30m (default: 2m)",
        "TIME",
        convert=of.length_of,
        default=120.0,
    ),
    Option("conformance-measure-axis", f"only this: {', '.join(of.AXES)}", "WHAT", repeats=True, convert=of.axis),
    Option(
        "conformance-measure-output",
        "write what was measured to this file: .jsonl, .html or .svg",
        "FILE",
        repeats=True,
        convert=of.measurements,
    ),
    Option("conformance-in-process", "run in pytest's own process, unprotected against hangs and exits (for debuggers, --cov)"),
)

BY_NAME = {option.name: option for option in OPTIONS}

DESCRIBING = {"settings": "queue-setting", "claims": "conformance-claim", "server": "queue-server", "level": "conformance-level"}
"""The keys that describe one implementation, besides its class and its profile, and the options that they stand for."""

OF_A_CAMPAIGN = tuple(option.name for option in OPTIONS if option.name.startswith("conformance-campaign"))
"""The options that ask for a campaign instead of a run; the first says for how long."""

MEASURE_OPTION = "conformance-measure"
"""The option that measures, too; those of how begin with it."""

OF_A_RUN = ("conformance", CRAWL_OPTION, "conformance-only", "conformance-update-baseline", MEASURE_OPTION, *OF_A_CAMPAIGN)
"""The options that ask for a run; they are for the command line only."""


def add_options(parser: pytest.Parser) -> None:
    """Declare the options, in a group of their own."""
    group = parser.getgroup(GROUP, "conformance of crawl queues and schedulers (pytest-queue-conformance)")
    for option in OPTIONS:
        settings: dict[str, Any] = {"help": option.help + _further(option.name), "default": None}
        if option.metavar:
            settings |= {"action": "append" if option.repeats else "store", "metavar": option.metavar}
        else:
            settings |= {"action": "store_true"}
        group.addoption(f"--{option.name}", **settings)


def add_describing(command: argparse.ArgumentParser) -> None:
    """Add the options that say to a command how a class is built, and what it promises."""
    command.add_argument("--queue-setting", action="append", default=[], metavar="NAME=VALUE", help="as for pytest; repeats")
    promised = "what a class promises, as for pytest; repeats"
    command.add_argument("--conformance-claim", action="append", default=[], metavar="NAME[=VALUE]", help=promised)


def _further(option: str) -> str:
    """Return what else an option names, by other installed distributions; only who asks for help waits for a look at them all."""
    if option not in CLASS_OPTIONS or {"-h", "--help"}.isdisjoint(sys.argv):
        return ""
    from queue_conformance.specification.kinds import all_kinds

    return "".join(f"; {kind.plural} too" for kind in all_kinds() if kind.option == option and not kind.of_the_kit)


def asked(config: pytest.Config) -> bool:
    """Whether an option asks for a run; nothing else is read or imported before."""
    return any(config.getoption(f"--{name}") for name in (*OF_A_RUN, *CLASS_OPTIONS))
