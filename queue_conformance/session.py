"""The hooks of a run: classes become nodes, checks become items, results become a report."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from queue_conformance import options
from queue_conformance.baseline import BaselineError
from queue_conformance.gate import Gate
from queue_conformance.implementations.loading import LoadError
from queue_conformance.isolation import IsolatedError
from queue_conformance.items import CheckItem, ImplementationNode, pack, unpack
from queue_conformance.options import Options, Target
from queue_conformance.progress import DistributedProgress, Progress, display_of
from queue_conformance.reports import Origin, Report, files, markdown, report_on, terminal
from queue_conformance.reports.placement import place
from queue_conformance.specification import Level
from queue_conformance.specification.applicability import installed_releases
from queue_conformance.suites.examination import Examination
from queue_conformance.suites.execution import Conditions
from queue_conformance.suites.outcomes import CheckResult
from queue_conformance.suites.programs import Operation
from queue_conformance.suites.survey import Survey, survey

INCONCLUSIVE = 16
"""The exit status of a run after which nothing is known of some implementation."""

_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
"""What pytest returns after a run that came to its end."""

_CACHE = "queue-conformance/failing-programs"
_RESULT = "queue_conformance"
"""The attribute of pytest's report on a check that holds what came of it."""


def start(config: pytest.Config) -> None:
    """Read the options, and register the hooks of a run.

    Raises:
        pytest.UsageError: if an option is wrong.
    """
    try:
        asked = options.read(config)
        gate = Gate(asked, config.invocation_params.dir)
    except (options.UsageError, BaselineError) as error:
        raise pytest.UsageError(str(error)) from error
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []  # with no other argument, only the kit runs
    here = str(config.invocation_params.dir)
    if here not in sys.path:
        sys.path.append(here)  # the author's package need not be installed
    config.pluginmanager.register(Session(config, asked, gate), "queue-conformance-session")


class Session:
    """The hooks of one process: the only one, a worker of a distributed run, or its controller.

    A worker examines, and sends surveys and results to the controller; a controller only reports.
    """

    def __init__(self, config: pytest.Config, asked: Options, gate: Gate) -> None:
        self.config = config
        self.options = asked
        self.gate = gate
        self.is_worker = hasattr(config, "workerinput")
        self.is_controller = not self.is_worker and config.getoption("dist", "no") != "no"
        self.errors: list[str] = []
        self.surveys: dict[str, Survey] = {}
        self.planned: dict[str, set[str]] = {}
        self.results: dict[str, list[CheckResult]] = {}
        self.releases = installed_releases()
        self._started = Origin().created
        self._elsewhere: dict[str, str] = {}
        self._untold = ""
        self._changes: list[str] = []
        self._scratch = _new_scratch(_scratch_root())
        self._progress: Progress | None = None

    def pytest_sessionstart(self) -> None:
        """Show progress, now that there is something to show it on."""
        display = display_of(self.config)
        if display is not None and not self.is_worker:
            names = [target.name for target in self.options.targets]
            self._progress = DistributedProgress(display, names) if self.is_controller else Progress(display)
            self.config.pluginmanager.register(self._progress, "queue-conformance-progress")

    # --- Collection --------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Survey the classes and add the items of their checks, before anything is deselected."""
        if self.is_controller:
            return
        for target in self.options.targets:
            where = f"--{target.option}" if target.name == target.path else target.name
            try:
                items += self._collect(session, target)
            except LoadError as error:
                self.errors.append(f"{where}: {error}")
            except IsolatedError as error:
                last = str(error).strip().splitlines()[-1]
                self.errors.append(f"{where}: the kit failed on {target.path}, which is a mistake of the kit: {last}")
        if self.is_worker:
            self.config.workeroutput["queue_conformance"] = pack((self.surveys, self.planned, self.errors))  # type: ignore[attr-defined]

    def _collect(self, session: pytest.Session, target: Target) -> list[pytest.Item]:
        conditions = self._conditions(target)
        with self._progress.during(f"{target.name}::finding out what it offers") if self._progress else nullcontext():
            found = survey(target.path, target.settings, target.claims, conditions, target.option)
        examination = Examination(found, conditions, self.releases)
        self.surveys[target.name] = found
        self.planned[target.name] = {check.name for check in examination.checks}
        node = ImplementationNode.from_parent(session, name=target.name, nodeid=target.name)
        fails = partial(self.gate.fails, target.name)
        return [CheckItem.from_parent(node, check=check, examination=examination, fails=fails) for check in examination.checks]

    def _conditions(self, target: Target) -> Conditions:
        cached = [tuple(Operation(*operation) for operation in program) for program in self._cached().get(target.name, [])]
        return Conditions(
            self._scratch,
            seed=self.options.seed,
            examples=self.options.examples,
            time_limit=self.options.time_limit,
            in_process=self.options.in_process,
            server=target.server,
            opener=self._opener(),
            watch=self._progress.watch if self._progress else None,
            known=list(dict.fromkeys([*self.gate.programs(target.name), *cached])),
        )

    def _opener(self) -> Callable[..., Any] | None:
        """Return the function of the author's conftest.py that builds a queue, if there is one."""
        implementations = self.config.hook.pytest_open_queue.get_hookimpls()
        return implementations[-1].function if implementations else None

    # --- Results -----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Attach what came of a check to pytest's report on it."""
        report = yield
        if isinstance(item, CheckItem) and call.when == "call" and item.result is not None:
            name = item.parent.name if item.parent else ""
            setattr(report, _RESULT, pack((name, item.result)))
            known = {observation.rule: self.gate.why_known(name, observation.rule) for observation in item.result.broken}
            report.queue_conformance_broken = bool(known)
            if known and all(known.values()):  # as pytest itself reports an expected failure
                report.outcome = "skipped"
                report.wasxfail = "; ".join(f"{rule}: {reason}" for rule, reason in known.items())
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what came of a check, wherever it ran."""
        if text := getattr(report, _RESULT, None):
            name, result = unpack(text)
            self.results.setdefault(name, []).append(result)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Show a check whose broken rules are known, or do not fail the run, in a category of its own."""
        if report.when != "call" or report.failed or not getattr(report, "queue_conformance_broken", False):
            return None
        if report.skipped:
            return "known", "k", ("KNOWN", {"yellow": True})
        return "broken, not failing", "b", ("BROKEN", {"yellow": True})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker found out about the classes."""
        if text := getattr(node, "workeroutput", {}).get("queue_conformance"):
            surveys, planned, errors = unpack(text)
            self.surveys |= surveys
            self.planned |= planned
            self.errors += [error for error in errors if error not in self.errors]

    # --- The end -----------------------------------------------------------------------------------------------------

    def report(self) -> Report:
        """Return what came of the run, and what the baseline says about it."""
        return self.gate.judged(self._found(), self._run)

    @property
    def _run(self) -> dict[str, bool]:
        """The implementations of which checks were run, by name; whether all of them were."""
        return {name: self.planned[name] <= {result.check for result in results} for name, results in self.results.items()}

    def _found(self) -> Report:
        found = [
            report_on(
                self.surveys[target.name], self.results.get(target.name, []), self.releases, target.name, Level(target.level)
            )
            for target in self.options.targets
            if target.name in self.surveys
        ]
        origin = Origin(self.options.seed, self.options.examples, self.releases, created=self._started)
        return Report(tuple(found), tuple(self.errors), origin)

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Remember failing programs, write the files, and set the exit status."""
        if self.is_worker or self.config.getoption("collectonly"):
            return
        if self.options.update_baseline:
            self._update(exitstatus)
        report = self.report()
        self._remember(report)
        for name in self.options.reports:
            try:
                files.write(report, self.config.invocation_params.dir / name)
            except OSError as error:
                self.errors.append(f"--conformance-report: cannot write {name}: {error.strerror}")
        self._summarize(report)
        session.exitstatus = exit_status(self.report(), exitstatus)
        self._show_each_once(report)

    def _summarize(self, report: Report) -> None:
        """Append the report to the summary of a step, where GitHub Actions asks for one."""
        if name := os.environ.get("GITHUB_STEP_SUMMARY"):
            try:
                markdown.append(report, Path(name))
            except OSError as error:
                self._untold = f"cannot append the report to GITHUB_STEP_SUMMARY ({name}): {error.strerror}"

    def _update(self, exitstatus: int) -> None:
        """Bring the baseline up to date, unless the run was interrupted."""
        if exitstatus not in _ENDED:
            self._changes = ["the baseline was not updated, because the run did not end"]
            return
        try:
            self._changes = self.gate.update(self._found(), self._run)
        except BaselineError as error:
            self.errors.append(str(error))

    def _show_each_once(self, report: Report) -> None:
        """Let pytest's list of failures show each broken rule once, now that the shortest counterexample is known."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        failed = [report for report in reporter.stats.get("failed", []) if hasattr(report, _RESULT)] if reporter else []
        texts, self._elsewhere = place(report, [unpack(getattr(report, _RESULT)) for report in failed])
        for one, text in zip(failed, texts, strict=True):
            one.longrepr = text

    def _cached(self) -> dict[str, Any]:
        """Return the programs that failed in earlier runs, by implementation."""
        cache = getattr(self.config, "cache", None)
        return dict(cache.get(_CACHE, {})) if cache else {}

    def _remember(self, report: Report) -> None:
        """Keep the programs that fail, so that the next run plays them first, and forget those that do not any more."""
        known = self._cached()
        remembered = dict(known)
        for found in report.implementations:
            programs = [list(map(list, v.violation.program)) for v in found.verdicts if v.violation and v.violation.program]
            if not self._run.get(found.name):  # what was not played may still fail
                programs += [program for program in known.get(found.name, []) if program not in programs]
            remembered.pop(found.name, None)
            if programs:
                remembered[found.name] = programs
        if remembered != known and getattr(self.config, "cache", None):
            self.config.cache.set(_CACHE, remembered)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the report."""
        if self.config.getoption("collectonly") and not self.errors:
            return
        if self._elsewhere and self.config.getoption("tbstyle") != "no":
            terminalreporter.section("broken, not failing")
            for title, text in self._elsewhere.items():
                terminalreporter.write_sep("_", title, yellow=True, bold=True)
                terminalreporter.write_line(text)
        terminalreporter.section("queue conformance")
        verbose = self.config.get_verbosity() > 0
        for line in terminal.render(self.report(), terminalreporter._tw.fullwidth, verbose):
            markup = {name: True for name in (line.colour, "bold" if line.bold else "") if name}
            terminalreporter.write_line(line.text, **markup)
        if self._untold:
            terminalreporter.write_line(f"WARNING: {self._untold}", yellow=True)
        for text in self._changes:
            terminalreporter.write_line(f"baseline: {text}")

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self._scratch, ignore_errors=True)


def exit_status(report: Report, of_pytest: int) -> int:
    """Return the exit status of a run: that of pytest, unless the kit knows worse.

    Args:
        report: what came of the run.
        of_pytest: what pytest would return.
    """
    if of_pytest not in _ENDED:
        return of_pytest
    if report.errors:
        return pytest.ExitCode.USAGE_ERROR
    if report.failed or of_pytest == pytest.ExitCode.TESTS_FAILED:
        return pytest.ExitCode.TESTS_FAILED
    return INCONCLUSIVE if report.inconclusive else of_pytest


_SCRATCH = "queue-conformance-"


def _new_scratch(root: str | None) -> Path:
    """Make a scratch directory that bears the number of this process, and remove those of processes that were killed."""
    scratch = Path(tempfile.mkdtemp(prefix=f"{_SCRATCH}{os.getpid()}-", dir=root))
    for other in scratch.parent.glob(f"{_SCRATCH}*-*"):
        number = other.name.removeprefix(_SCRATCH).partition("-")[0]
        if number.isdigit() and not _alive(int(number)):
            shutil.rmtree(other, ignore_errors=True)
    return scratch


def _alive(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _scratch_root() -> str | None:
    """Return a directory in memory if there is one with enough room: queues on disk are up to 75 times faster there."""
    shared = Path("/dev/shm")
    try:
        return str(shared) if shutil.disk_usage(shared).free >= 512 << 20 else None
    except OSError:
        return None
