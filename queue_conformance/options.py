"""What the user asked for: the command line, completed by ``[tool.queue_conformance]`` of pyproject.toml."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queue_conformance import option_values as of
from queue_conformance.option_values import UsageError, claims_of, converted, settings_of

if TYPE_CHECKING:
    import pytest

    from queue_conformance.engine.sequences import Drawing

GROUP = "pytest-queue-conformance"

TABLE = "tool.queue_conformance"
"""The table of pyproject.toml."""

DESCRIBED = "implementations"
"""The table in it that describes implementations by name."""

SERVERS = "servers"
"""The table in it that describes programs as servers, by name."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of the command line.

    Attributes:
        name: without the dashes; the same in pyproject.toml.
        help: one sentence.
        metavar: what the value is called, or ``""`` for a switch.
        repeats: whether it may be given more than once.
        convert: turns the text into a value, or raises ``ValueError``.
        default: what it is when nobody says anything.
        typed: whether the values of a table keep their types.
    """

    name: str
    help: str
    metavar: str = ""
    repeats: bool = False
    convert: Callable[[str], Any] = str
    default: Any = None
    typed: bool = False


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
        "test what [tool.queue_conformance] of pyproject.toml names with seed after seed, for so long: 90s, 30m, 8h",
        "TIME",
        convert=of.length_of,
    ),
    Option("conformance-campaign-workers", "processes of a campaign (default: one for each processor)", "N", convert=of.positive),
    Option("conformance-campaign-cluster", "a scheduler of dask.distributed that runs", "tcp://HOST:PORT", default=""),
    Option(
        "conformance-campaign-directory",
        "where what is known of a campaign is kept (default: queue-conformance-campaign)",
        "DIR",
        convert=of.file,
        default="queue-conformance-campaign",
    ),
    Option("conformance-in-process", "run in pytest's own process, unprotected against hangs and exits (for debuggers)"),
)

BY_NAME = {option.name: option for option in OPTIONS}

DESCRIBING = {"settings": "queue-setting", "claims": "conformance-claim", "server": "queue-server", "level": "conformance-level"}
"""The keys that describe one implementation, besides its class and its profile, and the options that they stand for."""

OF_A_CAMPAIGN = tuple(option.name for option in OPTIONS if option.name.startswith("conformance-campaign"))
"""The options that ask for a campaign instead of a run; the first says for how long."""

OF_A_RUN = ("conformance", CRAWL_OPTION, "conformance-only", "conformance-update-baseline", *OF_A_CAMPAIGN)
"""The options that ask for a run; they are for the command line only."""


@dataclass(frozen=True, slots=True)
class Target:
    """One implementation to test.

    Attributes:
        name: what reports call it: its name in pyproject.toml, or else the dotted path of its class.
        option: the option that names its class, without dashes.
        path: the dotted path of its class.
        settings: settings by name.
        claims: what its author claims, by name.
        server: the server behind it, or ``""``.
        level: the level whose failed rules fail the run.
        of_project: whether a project names it, whose settings and claims are also for others.
    """

    name: str
    option: str
    path: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    server: str = ""
    level: str = "MUST"
    of_project: bool = False


@dataclass(frozen=True, slots=True)
class Common:
    """What holds for every implementation that does not say otherwise: attributes of :class:`Target`, and one more.

    Attributes:
        on_command_line: the options that the command line gives; these win over what is said of one implementation.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    claims: Mapping[str, str] = field(default_factory=dict)
    server: str = ""
    level: str = "MUST"
    on_command_line: frozenset[str] = frozenset()

    def over(self, option: str, own: Mapping[str, Any], common: Mapping[str, Any]) -> dict[str, Any]:
        """Return what an implementation says, and what is common; where both speak, the command line wins."""
        return {**own, **common} if option in self.on_command_line else {**common, **own}


@dataclass(frozen=True, slots=True)
class Options:
    """What the user asked for.

    Attributes:
        targets: what to test, in order; each name once.
        reports: files to write.
        seed: seeds everything that is drawn.
        examples: command sequences and requests to draw.
        drawing: how long sequences are, and for how long they are generated, if not as usual.
        crawls: graphs of pages to crawl for one rule.
        time: seconds that the run may take.
        time_limit: seconds that one operation may take.
        in_process: run without protection.
        common: what holds for every implementation that does not say otherwise.
        baseline: the file of the rules that are known to fail, or ``None``.
        update_baseline: bring that file up to date.
        database: a directory or the URL of a Redis server where failing sequences are kept, or ``""``.
        allow: what a class may connect to or change, though it is not lent to it.
        everything: whether all that pyproject.toml describes is tested, and nothing else.
    """

    targets: tuple[Target, ...]
    reports: tuple[str, ...] = ()
    seed: int = 0
    examples: int = 100
    drawing: Drawing | None = None
    crawls: int = 3
    time: float = math.inf
    time_limit: float = 10.0
    in_process: bool = False
    common: Common = field(default_factory=Common, compare=False)
    baseline: Path | None = None
    update_baseline: bool = False
    database: str = ""
    allow: tuple[str, ...] = ()
    everything: bool = False


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


def _further(option: str) -> str:
    """Return what else an option names, by other installed distributions; only who asks for help waits for a look at them all."""
    if option not in CLASS_OPTIONS or {"-h", "--help"}.isdisjoint(sys.argv):
        return ""
    from queue_conformance.specification.kinds import all_kinds

    return "".join(f"; {kind.plural} too" for kind in all_kinds() if kind.option == option and not kind.of_the_kit)


def asked(config: pytest.Config) -> bool:
    """Whether an option asks for a run; nothing else is read or imported before."""
    return any(config.getoption(f"--{name}") for name in (*OF_A_RUN, *CLASS_OPTIONS))


def read(config: pytest.Config) -> Options:
    """Combine the command line with ``[tool.queue_conformance]`` of the pyproject.toml in pytest's root directory.

    What the command line says of an option replaces what the table says of it. Where no option asks for a run, nothing is to
    be tested, and the rest holds for the suites in the author's own tests.

    Raises:
        UsageError: if an option is wrong.
    """
    from queue_conformance.targets import chosen, read_described, read_table

    table = read_table(config)
    described = table.pop(DESCRIBED, {})
    programs = table.pop(SERVERS, {})
    if programs or "queue_conformance.faults.servers" in sys.modules:  # what an earlier run described there is gone
        from queue_conformance.faults import servers

        try:
            servers.describe(programs)
        except ValueError as error:
            raise UsageError(f"{SERVERS} in [{TABLE}]: {error}") from error
    given = {option.name: config.getoption(f"--{option.name}") for option in OPTIONS}
    on_command_line = {name for name, value in given.items() if value not in (None, False, [])}
    values: dict[str, Any] = {}
    for option in OPTIONS:
        if option.name not in on_command_line and option.name in table:
            values[option.name] = converted(option, table[option.name], f"{option.name} in [{TABLE}]")
        else:
            values[option.name] = converted(option, given[option.name], f"--{option.name}")
    common = Common(
        settings_of(values["queue-setting"], "--queue-setting"),
        claims_of(values["conformance-claim"], "--conformance-claim"),
        values["queue-server"] or "",
        values["conformance-level"],
        frozenset(on_command_line),
    )
    allow = allowed(values["conformance-allow"], _beside("conformance-allow", "", config, on_command_line))
    classes = {path: name for name in CLASS_OPTIONS for path in values[name]}
    targets = [
        Target(path, option, path, common.settings, common.claims, common.server, common.level)
        for path, option in classes.items()
    ]
    if values[CRAWL_OPTION]:
        from queue_conformance.project import read_project

        targets += read_project(common, allow)
    if not on_command_line.intersection((CRAWL_OPTION, *CLASS_OPTIONS)):  # the command line names classes of its own
        targets += read_described(described, common)
    targets = chosen(targets, values["conformance-only"]) if asked(config) else []
    of_suites = on_command_line.isdisjoint(("conformance", "conformance-only")) and config.args_source is config.ArgsSource.ARGS
    if asked(config) and not targets and not of_suites:  # what is named may hold suites whose baseline is to be updated
        raise UsageError(f"nothing to test: give --queue-class, or name queue-class in [{TABLE}] of pyproject.toml")
    for name in values["conformance-report"]:
        if not os.path.isdir((config.invocation_params.dir / name).parent):
            raise UsageError(f"--conformance-report: there is no directory for {name!r}")
    if values["conformance-update-baseline"] and not values["conformance-baseline"]:
        raise UsageError("--conformance-update-baseline: name the file to write, by --conformance-baseline=FILE.toml")
    baseline = _path("conformance-baseline", values, config, on_command_line)
    database = values["conformance-database"]
    if database and "://" not in database:
        database = str(_path("conformance-database", values, config, on_command_line))
    if baseline and not os.path.isdir(baseline.parent):
        raise UsageError(f"--conformance-baseline: there is no directory for {values['conformance-baseline']!r}")
    return Options(
        targets=tuple(targets),
        reports=tuple(values["conformance-report"]),
        seed=values["conformance-seed"],
        examples=values["conformance-examples"],
        crawls=values["conformance-crawls"],
        time=values["conformance-time"],
        time_limit=values["conformance-time-limit"],
        in_process=bool(values["conformance-in-process"] or config.getoption("usepdb", False)),
        common=common,
        baseline=baseline,
        update_baseline=bool(values["conformance-update-baseline"]),
        database=database,
        allow=allow,
        everything=asked(config) and not on_command_line.intersection(("conformance-only", CRAWL_OPTION, *CLASS_OPTIONS)),
    )


def allowed(given: Iterable[str], directory: Path | str = "") -> tuple[str, ...]:
    """Return what a class may touch besides: addresses, and paths from the root.

    Args:
        given: what ``--conformance-allow`` says.
        directory: from where paths lead, if not from the working directory.

    Raises:
        UsageError: if one is neither.
    """
    found = converted(BY_NAME["conformance-allow"], given, "allow")
    return tuple(one if of.is_address(one) else os.path.abspath(os.path.join(directory, one)) for one in found)


def _path(option: str, values: Mapping[str, Any], config: pytest.Config, on_command_line: Container[str]) -> Path | None:
    """Return the path that an option names: what pyproject.toml names lies beside it."""
    if not values[option]:
        return None
    return _beside(option, values[option], config, on_command_line)


def _beside(option: str, path: str, config: pytest.Config, on_command_line: Container[str]) -> Path:
    return Path(config.invocation_params.dir if option in on_command_line else config.rootpath, path)
