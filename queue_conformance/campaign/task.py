"""A task of a campaign, which a worker runs: one implementation, one seed."""

from __future__ import annotations

import os
import platform
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis.errors import HypothesisSideeffectWarning

from queue_conformance import __version__
from queue_conformance.baseline import BaselineError
from queue_conformance.baseline.gate import Gate
from queue_conformance.compat.pytest import cache_of
from queue_conformance.config import run_config
from queue_conformance.config.options import TABLE
from queue_conformance.config.run_config import Options
from queue_conformance.config.values import NothingToTest, UsageError
from queue_conformance.engine.registry import Check
from queue_conformance.engine.sequences import USUAL, Drawing
from queue_conformance.engine.verdicts import Verdict
from queue_conformance.environments.crawls import preload
from queue_conformance.frontends.cache import RunCache
from queue_conformance.frontends.runs import Run, author_hooks
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes.isolation import IsolatedError
from queue_conformance.reports import ImplementationReport, Report
from queue_conformance.specification.applicability import installed_releases


class Part(StrEnum):
    """Which checks a task runs."""

    ALL = "all"
    SEQUENCES = "sequences"
    OTHERS = "others"

    def has(self, check: Check) -> bool:
        """Whether a check belongs to it."""
        return self is Part.ALL or check.is_machine == (self is Part.SEQUENCES)


@dataclass(frozen=True, slots=True)
class Task:
    """What to run.

    Attributes:
        implementation: its name in pyproject.toml.
        seed: seeds everything that is drawn.
        part: which checks to run.
        drawing: how long sequences are, and for how long they are generated.
        again: the checks to run once more, because they saw something new; empty to run all of the part.
    """

    implementation: str
    seed: int
    part: Part
    drawing: Drawing = USUAL
    again: frozenset[str] = frozenset()

    def has(self, check: Check) -> bool:
        """Whether it runs a check."""
        return self.part.has(check) and (not self.again or check.name in self.again)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a task.

    Attributes:
        environment: the releases on the worker.
        worker: the name of the machine, and the number of the process.
        error: why it could not be run, in one line, or ``""``.
        report: the results of the checks, or ``None``.
        passed: the ids of the rules that passed.
        once: the ids of failed rules that were seen once, and not once more alone, as those of sequences are; the check of each.
        operations: the names of the machine's commands; whether they were run.
        sequences: how many were drawn.
        drawing: seconds in the checks that drew them.
        checking: seconds in all checks.
        seconds: seconds in all.
    """

    environment: Mapping[str, str]
    worker: str
    error: str = ""
    report: Report | None = None
    passed: frozenset[str] = frozenset()
    once: Mapping[str, str] = field(default_factory=dict)
    operations: Mapping[str, bool] = field(default_factory=dict)
    sequences: int = 0
    drawing: float = 0.0
    checking: float = 0.0
    seconds: float = 0.0


def environment() -> dict[str, str]:
    """Return the releases that must be the same everywhere."""
    return {"pytest-queue-conformance": __version__, "Python": platform.python_version(), **installed_releases()}


class Project:
    """What pyproject.toml and conftest.py say, read as pytest reads them.

    Attributes:
        options: what the first says.
        hooks: the author's functions that the other implements, as :meth:`Run.begin` takes them.
        cache: what pytest's cache keeps.
    """

    options: Options
    hooks: Mapping[str, Any]
    cache: RunCache

    def gate(self, *, update: bool) -> Gate:
        """Return what is known to fail.

        Raises:
            BaselineError: if the baseline cannot be read.
        """
        return Gate(replace(self.options, update_baseline=update), Path.cwd())

    @pytest.hookimpl(tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> int:
        """Read them, and run nothing."""
        self.options = replace(run_config.read(config), in_process=False)
        self.hooks = author_hooks(config)
        self.cache = RunCache(cache_of(config), self.options.database)
        if (here := str(config.invocation_params.dir)) not in sys.path:
            sys.path.append(here)
        return 0


@cache
def read_project(names: Sequence[str] = ()) -> Project:
    """Return what the project in the current directory says.

    Args:
        names: the implementations to test, or none for all.

    Raises:
        UsageError: if it makes no sense; the message is one line.
    """
    project = Project()
    arguments = ["--conformance", "--capture=no", *(f"--conformance-only={name}" for name in names)]
    try:
        status = pytest.main(arguments, plugins=[project])
    except NothingToTest as error:
        raise UsageError(f"nothing to test: name queue-class in [{TABLE}] of pyproject.toml") from error
    if status != pytest.ExitCode.OK:
        raise UsageError("pytest cannot read this project: see what it says above")
    return project


def perform(task: Task, expected: Mapping[str, str]) -> Outcome:
    """Run a task, in the current directory.

    Args:
        expected: the releases on the client; a worker that has others runs nothing.
    """
    start = time.perf_counter()
    outcome = Outcome(environment(), f"{platform.node()} {os.getpid()}")
    if outcome.environment != expected:
        return outcome
    preload()  # once, and not in each process that checks run in
    # Its plugin mistakes the reading of the project for a whole run of pytest.
    warnings.simplefilter("ignore", HypothesisSideeffectWarning)
    try:
        project = read_project((task.implementation,))
        known = project.gate(update=True).sequences(task.implementation) if task.part is Part.ALL else {}
    except (UsageError, BaselineError) as error:
        return replace(outcome, error=str(error))
    asked = replace(project.options, seed=task.seed, drawing=task.drawing)
    (target,) = asked.targets
    results = []
    run = Run(asked)
    try:
        with redirect_stdout(StringIO()):  # so what the class prints goes nowhere
            implementation_run = run.begin(target, known=known, **project.hooks)
            checks = list(filter(task.has, implementation_run.checks))
            first = task.seed // 2 % len(checks) if checks and task.drawing.seconds else 0
            for check in checks[first:] + checks[:first]:
                results.append(implementation_run.run(check))
                run.add(target.name, results[-1])
                if results[-1].drawn and task.drawing.seconds:
                    break  # one machine has had all of the time; the next task is another one's
            run.clean()
            report = run.report()
    except LoadError as error:
        return replace(outcome, error=str(error))
    except IsolatedError as error:
        return replace(outcome, error=run.failed_before_checks(target.name, error))
    finally:
        run.close()
    alone = {one.rule for result in results if result.drawn for one in result.failed}
    passed = {v.rule.id for found in report.implementations for v in found.verdicts if v.verdict is Verdict.PASSED}
    if task.part is not Part.ALL:  # the rest is known of the first task
        report = replace(report, implementations=tuple(map(_broken, report.implementations)))
    return replace(
        outcome,
        report=report,
        passed=frozenset(passed),
        once={one.rule: result.check for result in results for one in result.failed if one.rule not in alone},
        operations={name: count > 0 for result in results for name, count in result.ran.items()},
        sequences=sum(result.drawn for result in results),
        drawing=sum(result.seconds for result in results if result.drawn),
        checking=sum(result.seconds for result in results),
        seconds=time.perf_counter() - start,
    )


def _broken(found: ImplementationReport) -> ImplementationReport:
    """Return a report with its failed rules alone."""
    return replace(found, verdicts=tuple(v for v in found.verdicts if v.violation), checks=(), also=None)
