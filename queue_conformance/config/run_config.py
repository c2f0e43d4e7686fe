"""What the user asked for, of one run: the command line, completed by ``[tool.queue_conformance]`` of pyproject.toml."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from queue_conformance.config.options import CLASS_OPTIONS, CRAWL_OPTION, DESCRIBED, OPTIONS, SERVERS, TABLE, asked
from queue_conformance.config.project import read_project
from queue_conformance.config.targets import (
    Common,
    Target,
    allowed,
    chosen,
    describe,
    expect_writers,
    kept_in,
    read_described,
    read_table,
)
from queue_conformance.config.values import NothingToTest, UsageError, claims_of, converted, settings_of

if TYPE_CHECKING:
    from queue_conformance.engine.sequences import Drawing


@dataclass(frozen=True, slots=True)
class Measuring:
    """How it is measured what classes cost as they grow.

    Attributes:
        against: what is measured beside the classes that are tested.
        up_to: the largest size.
        seconds: how long it may take.
        axes: what there is to be more and more of, or all of it.
        files: files to write.
    """

    against: tuple[Target, ...] = ()
    up_to: int = 1_000_000
    seconds: float = 120.0
    axes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()


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
        jobs: checks of a class that run at once; ``None`` for as many as there are processors.
        time: seconds that the run may take.
        time_limit: seconds that one operation may take.
        in_process: run without protection.
        common: what holds for every implementation that does not say otherwise.
        baseline: the file of the rules that are known to fail, or ``None``.
        update_baseline: bring that file up to date.
        database: a directory or the URL of a Redis server where failing sequences are kept, or ``""``.
        allow: what a class may connect to or change, though it is not lent to it.
        everything: whether all that pyproject.toml describes is tested, and nothing else.
        measuring: how it is measured what the classes cost, if that is asked for.
    """

    targets: tuple[Target, ...]
    reports: tuple[str, ...] = ()
    seed: int = 0
    examples: int = 100
    drawing: Drawing | None = None
    crawls: int = 3
    jobs: int | None = None
    time: float = math.inf
    time_limit: float = 10.0
    in_process: bool = False
    common: Common = field(default_factory=Common, compare=False)
    baseline: Path | None = None
    update_baseline: bool = False
    database: str = ""
    allow: tuple[str, ...] = ()
    everything: bool = False
    measuring: Measuring = field(default_factory=Measuring)


def read(config: pytest.Config) -> Options:
    """Combine the command line with ``[tool.queue_conformance]`` of the pyproject.toml in pytest's root directory.

    What the command line says of an option replaces what the table says of it. Where no option asks for a run, nothing is to
    be tested, and the rest holds for the suites in the author's own tests.

    Raises:
        UsageError: if an option is wrong.
    """
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
        kept_in(values["conformance-kept"], "--conformance-kept", _beside("conformance-kept", "", config, on_command_line)),
    )
    allow = allowed(values["conformance-allow"], _beside("conformance-allow", "", config, on_command_line))
    classes = {path: name for name in CLASS_OPTIONS for path in values[name]}
    targets = [describe(path, option, path, {}, common) for path, option in classes.items()]
    if values[CRAWL_OPTION]:
        targets += read_project(common, allow)
    if not on_command_line.intersection((CRAWL_OPTION, *CLASS_OPTIONS)):  # the command line names classes of its own
        targets += read_described(described, common)
    targets = chosen(targets, values["conformance-only"]) if asked(config) else []
    of_suites = on_command_line.isdisjoint(("conformance", "conformance-only")) and config.args_source is config.ArgsSource.ARGS
    if asked(config) and not targets and not of_suites:  # what is named may hold suites whose baseline is to be updated
        raise NothingToTest(f"nothing to test: give --queue-class, or name queue-class in [{TABLE}] of pyproject.toml")
    if asked(config) and not of_suites and ("conformance-kept" in on_command_line or values["conformance"]):
        expect_writers(common.kept, targets, "--conformance-kept")
    for writes in ("conformance-report", "conformance-measure-output"):
        for name in values[writes]:
            if not os.path.isdir((config.invocation_params.dir / name).parent):
                raise UsageError(f"--{writes}: there is no directory for {name!r}")
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
        jobs=values["conformance-jobs"],
        time=values["conformance-time"],
        time_limit=values["conformance-time-limit"],
        in_process=bool(values["conformance-in-process"] or config.getoption("usepdb", False)),
        common=common,
        baseline=baseline,
        update_baseline=bool(values["conformance-update-baseline"]),
        database=database,
        allow=allow,
        everything=asked(config) and not on_command_line.intersection(("conformance-only", CRAWL_OPTION, *CLASS_OPTIONS)),
        measuring=Measuring(
            tuple(describe(path, "", path, {}, common) for path in values["conformance-measure-against"]),
            values["conformance-measure-up-to"],
            values["conformance-measure-time"],
            tuple(values["conformance-measure-axis"]),
            tuple(values["conformance-measure-output"]),
        ),
    )


def _path(option: str, values: Mapping[str, Any], config: pytest.Config, on_command_line: Container[str]) -> Path | None:
    """Return the path that an option names: what pyproject.toml names lies beside it."""
    if not values[option]:
        return None
    return _beside(option, values[option], config, on_command_line)


def _beside(option: str, path: str, config: pytest.Config, on_command_line: Container[str]) -> Path:
    return Path(config.invocation_params.dir if option in on_command_line else config.rootpath, path)
