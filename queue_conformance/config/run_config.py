"""What the user asked for, of one run: the command line, completed by ``[tool.queue_conformance]`` of pyproject.toml."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from queue_conformance.config.options import (
    CLASS_OPTIONS,
    CRAWL_OPTION,
    DESCRIBED,
    MEASURE_OPTION,
    OPTIONS,
    SERVERS,
    TABLE,
    asked,
)
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
from queue_conformance.config.values import NothingToTest, UsageError, claims_of, converted, expect_place, settings_of

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


@dataclass(frozen=True)
class _Given:
    """What is said of each option: by the command line, or else by the table of pyproject.toml.

    Attributes:
        here: the options that the command line names.
    """

    config: pytest.Config
    values: Mapping[str, Any]
    here: frozenset[str]

    def __getitem__(self, option: str) -> Any:
        return self.values[option]

    def beside(self, option: str, path: str = "") -> Path:
        """Return a path that an option names: what pyproject.toml names lies beside it."""
        return Path(self.config.invocation_params.dir if option in self.here else self.config.rootpath, path)


def read(config: pytest.Config) -> Options:
    """Combine the command line with ``[tool.queue_conformance]`` of the pyproject.toml in pytest's root directory.

    What the command line says of an option replaces what the table says of it. Where no option asks for a run, nothing is to
    be tested, and the rest holds for the suites in the author's own tests.

    Raises:
        UsageError: if an option is wrong.
    """
    table = read_table(config)
    described = table.pop(DESCRIBED, {})
    _describe_servers(table.pop(SERVERS, {}))
    given = _given(config, table)
    common = Common(
        settings_of(given["queue-setting"], "--queue-setting"),
        claims_of(given["conformance-claim"], "--conformance-claim"),
        given["queue-server"] or "",
        given["conformance-level"],
        given.here,
        kept_in(given["conformance-kept"], "--conformance-kept", given.beside("conformance-kept")),
    )
    allow = allowed(given["conformance-allow"], given.beside("conformance-allow"))
    targets = _targets(given, described, common, allow)
    _expect_measured(given)
    _expect_writable(given)
    baseline, database = given["conformance-baseline"], given["conformance-database"]
    if database and "://" not in database:
        database = str(given.beside("conformance-database", database))
    return Options(
        targets=tuple(targets),
        reports=tuple(given["conformance-report"]),
        seed=given["conformance-seed"],
        examples=given["conformance-examples"],
        crawls=given["conformance-crawls"],
        jobs=given["conformance-jobs"],
        time=given["conformance-time"],
        time_limit=given["conformance-time-limit"],
        in_process=bool(given["conformance-in-process"] or config.getoption("usepdb", False)),
        common=common,
        baseline=given.beside("conformance-baseline", baseline) if baseline else None,
        update_baseline=bool(given["conformance-update-baseline"]),
        database=database,
        allow=allow,
        everything=asked(config) and not given.here.intersection(("conformance-only", CRAWL_OPTION, *CLASS_OPTIONS)),
        measuring=Measuring(
            tuple(describe(path, "", path, {}, common) for path in given["conformance-measure-against"]),
            given["conformance-measure-up-to"],
            given["conformance-measure-time"],
            tuple(given["conformance-measure-axis"]),
            tuple(given["conformance-measure-output"]),
        ),
    )


def _describe_servers(programs: Mapping[str, Any]) -> None:
    if programs or "queue_conformance.faults.servers" in sys.modules:  # what an earlier run described there is gone
        from queue_conformance.faults import servers

        try:
            servers.describe(programs)
        except ValueError as error:
            raise UsageError(f"{SERVERS} in [{TABLE}]: {error}") from error


def _given(config: pytest.Config, table: Mapping[str, Any]) -> _Given:
    said = {option.name: config.getoption(f"--{option.name}") for option in OPTIONS}
    here = frozenset(name for name, value in said.items() if value not in (None, False, []))
    values = {}
    for option in OPTIONS:
        name = option.name
        if name not in here and name in table:
            values[name] = converted(option, table[name], f"{name} in [{TABLE}]")
        else:
            values[name] = converted(option, said[name], f"--{name}")
    return _Given(config, values, here)


def _targets(given: _Given, described: Any, common: Common, allow: tuple[str, ...]) -> list[Target]:
    """Return what is to be tested, if a run is asked for; what is described must make sense in any case."""
    classes = {path: name for name in CLASS_OPTIONS for path in given[name]}
    targets = [describe(path, option, path, {}, common) for path, option in classes.items()]
    if given[CRAWL_OPTION]:
        targets += read_project(common, allow)
    if not given.here.intersection((CRAWL_OPTION, *CLASS_OPTIONS)):  # the command line names classes of its own
        targets += read_described(described, common)
    if not asked(given.config):
        return []
    targets = chosen(targets, given["conformance-only"])
    names_files = given.config.args_source is given.config.ArgsSource.ARGS
    if names_files and given.here.isdisjoint(("conformance", "conformance-only")):
        return targets  # these may hold suites whose baseline is to be updated, or that read what was kept
    if not targets:
        raise NothingToTest(f"nothing to test: give --queue-class, or name queue-class in [{TABLE}] of pyproject.toml")
    if "conformance-kept" in given.here or given["conformance"]:
        expect_writers(common.kept, targets, "--conformance-kept")
    return targets


def _expect_measured(given: _Given) -> None:
    for name in sorted(given.here):
        if name.startswith(f"{MEASURE_OPTION}-") and not given[MEASURE_OPTION]:
            raise UsageError(f"--{name} says how --{MEASURE_OPTION} measures; give that with it, or leave it out")


def _expect_writable(given: _Given) -> None:
    for writes in ("conformance-report", "conformance-measure-output"):
        for name in given[writes]:
            expect_place(f"--{writes}", name, given.config.invocation_params.dir / name)
    baseline = given["conformance-baseline"]
    if given["conformance-update-baseline"] and not baseline:
        raise UsageError("--conformance-update-baseline: name the file to write, by --conformance-baseline=FILE.toml")
    if baseline:
        place = given.beside("conformance-baseline", baseline)
        expect_place("--conformance-baseline", baseline, place, written=given["conformance-update-baseline"])
    database = given["conformance-database"]
    if os.path.isfile(given.beside("conformance-database", database)):
        raise UsageError(f"--conformance-database: write a directory, or redis://HOST:PORT, and not the file {database!r}")
