"""The hooks of a run: classes become nodes, checks become items, results become a report."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Generator
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from queue_conformance import specification
from queue_conformance.baseline import BaselineError
from queue_conformance.baseline.gate import Gate
from queue_conformance.compat.pytest import TerminalReporter, send_through, writer_of
from queue_conformance.config import run_config
from queue_conformance.config.run_config import Options
from queue_conformance.config.targets import Target
from queue_conformance.config.values import UsageError
from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.sequences import Known
from queue_conformance.frontends.cache import RunCache
from queue_conformance.frontends.ending import Finish, end_in_order
from queue_conformance.frontends.hosted import Hosted
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.frontends.items import RESULT, CheckItem, ImplementationNode, check_of, pack, unpack
from queue_conformance.frontends.joining import Suites, SuiteTarget
from queue_conformance.frontends.printing import WithoutSecrets, told
from queue_conformance.frontends.progress import DistributedProgress, Progress, display_of
from queue_conformance.frontends.runs import Run, author_hooks
from queue_conformance.frontends.summary import Summary, keep, result_of
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes.isolation import IsolatedError
from queue_conformance.reports import INTERRUPTED, Report, files, markdown, provenance
from queue_conformance.reports.terminal import wrapped
from queue_conformance.specification.suggestion import did_you_mean

INCONCLUSIVE = 16
"""The exit status of a run after which nothing is known of some implementation."""

_ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
"""What pytest returns after a run that was not interrupted."""

_FOUND = "queue_conformance_found"
"""The attribute of a worker's report that holds what it has found out about the classes by then."""

_SAID = 2000
"""Characters that are shown at most of what an implementation printed during a check."""

_NAME = "queue-conformance-session"
"""The name of the plugin with the hooks of a run."""


def start(config: pytest.Config) -> None:
    """Begin the run that an option asks for.

    Raises:
        pytest.UsageError: if an option is wrong.
    """
    try:
        session_of(config)
    except UsageError as error:
        raise pytest.UsageError(str(error)) from error
    end_in_order(config)
    specification.load()  # once, and not in the process of each class
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = []  # with no other argument, only the kit runs
    here = str(config.invocation_params.dir)
    if here not in sys.path:
        sys.path.append(here)  # the author's package need not be installed


def session_of(config: pytest.Config) -> Session:
    """Return the hooks of the run; the first call reads the options and registers them.

    Raises:
        UsageError: if an option is wrong.
    """
    found: Session | None = config.pluginmanager.get_plugin(_NAME)
    if found is None:
        asked = run_config.read(config)
        try:
            gate = Gate(asked, config.invocation_params.dir)
        except BaselineError as error:
            raise UsageError(str(error)) from error
        found = Session(config, asked, gate)
        config.pluginmanager.register(found, _NAME)
    return found


class Session:
    """The hooks of one process: the only one, a worker of a distributed run, or its controller.

    A worker tests, and sends what it discovers and its results to the controller, which only reports.

    Attributes:
        options: what is asked for.
        gate: what fails the run.
        suites: the suites in the author's own tests.
    """

    def __init__(self, config: pytest.Config, asked: Options, gate: Gate) -> None:
        self.config = config
        self.options = asked
        self.gate = gate
        self.is_worker = hasattr(config, "workerinput")
        self.is_controller = not self.is_worker and config.getoption("dist", "no") != "no"
        self._summary = Summary(config)
        self._untold: list[str] = []
        self._changes: list[str] = []
        self._interrupted = False
        self._ended = 0
        self._told = 0
        self._tested = False
        self._run = Run(asked)
        self._cache = RunCache(getattr(config, "cache", None), asked.database)
        self.suites = Suites(self._join, self._run)
        self._progress: Progress | None = None

    def pytest_sessionstart(self) -> None:
        """Show progress from now on, because pytest's reporter is there."""
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            send_through(reporter, lambda file: WithoutSecrets(file, lambda: self._run.secrets))
        display = display_of(self.config)
        if display is not None and not self.is_worker:
            names, limit = [target.name for target in self.options.targets], self.options.time_limit
            self._progress = DistributedProgress(display, limit, names) if self.is_controller else Progress(display, limit)
            self.config.pluginmanager.register(self._progress, "queue-conformance-progress")
            self._run.watch = self._progress.watch

    # --- Collection --------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Discover the classes and add the items of their checks, before anything is deselected."""
        if not items:  # or else tests of the author's, and Hypothesis in them, may ask the collector who holds what
            gc.freeze()  # what exists by now stays to the end, where pytest collects garbage ten times
        if self.is_controller:
            return
        for target in self.options.targets:
            where = f"--{target.option}" if target.name == target.path else target.name
            try:
                items += self._collect(session, target)
            except LoadError as error:
                self._run.errors.append(f"{where}: {error}")
            except UsageError as error:
                raise pytest.UsageError(str(error)) from error
            except IsolatedError as error:
                self._run.failed_before_checks(where, error)

    def _collect(self, session: pytest.Session, target: Target) -> list[pytest.Item]:
        implementation_run = self._begin(target, **author_hooks(self.config))
        node = ImplementationNode.from_parent(session, name=target.name, nodeid=target.name)
        how = {"implementation_run": implementation_run, "fails": self.fails(target.name)}
        items: list[pytest.Item] = [CheckItem.from_parent(node, check=check, **how) for check in implementation_run.checks]
        if not implementation_run.discovery.usable:  # then the first use says of each rule why it is not tested
            items[0].extra_keyword_matches.update(implementation_run.discovery.rules())
        collected = pytest.CollectReport(node.nodeid, "passed", None, [*items])
        session.config.hook.pytest_collectreport(report=collected)  # so that pytest counts them
        return items

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say which checks will be asked for, so that they can run side by side; a worker learns it one by one."""
        if self.is_worker or self.config.getoption("collectonly"):
            return
        names: dict[Hosted, list[str]] = {}
        for item in session.items:
            if isinstance(item, CheckItem) and isinstance(item.implementation_run, Hosted):
                names.setdefault(item.implementation_run, []).append(item.check.name)
        for implementation_run, asked in names.items():
            implementation_run.expect(asked)

    def _begin(self, target: Target, **how: Any) -> ImplementationRun | Hosted:
        with self._progress.during(f"{target.name}::finding out what it offers") if self._progress else nullcontext():
            implementation_run = self._run.begin(target, known=self._known_sequences(target.name), **how)
        self.gate.register_rules(target.name, implementation_run.discovery.rules())
        return implementation_run

    def _known_sequences(self, name: str) -> Known:
        """Return the sequences that an implementation failed before."""
        known = self.gate.sequences(name)
        return {**known, **{sequence: {} for sequence in self._cache.sequences(name) if sequence not in known}}

    # --- Suites in the author's own tests ----------------------------------------------------------------------------

    def expect_suite(self, name: str) -> None:
        """Register a suite that is being collected; it is tested when its first test runs."""
        if self._progress is None:  # this may be what began the session
            self.pytest_sessionstart()
        self.suites.expect(name)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Let ``-k`` find the tests of a suite by the rules that they test."""
        check = check_of(item)
        if check is not None:
            item.extra_keyword_matches.update(check.rules)

    def _join(self, described: SuiteTarget) -> ImplementationRun:
        self.gate.register(described.target)
        said = {"factory": described.factory, "prepare": described.prepare}
        functions = author_hooks(self.config) | {name: function for name, function in said.items() if function}
        implementation_run = self._begin(described.target, cls=described.cls, may_decline=described.factory is None, **functions)
        assert isinstance(implementation_run, ImplementationRun)  # it has a class
        return implementation_run

    def fails(self, name: str) -> Callable[[Violation], bool]:
        """Return a function that tells whether the run fails by a violation, of the implementation of that name."""
        return partial(self.gate.fails, name)

    # --- Results -----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Attach the result of a check to pytest's report on it."""
        report = yield
        if check_of(item) is not None:
            hide = self._run.secrets.text
            report.sections = [(title, _shortened(hide(text))) for title, text in report.sections]
            report.longrepr = told(report.longrepr, hide)
        if call.when == "call" and RESULT in item.stash:
            name, result = item.stash[RESULT]
            keep(report, name, result)
            if isinstance(report.longrepr, tuple):
                report.longrepr = name, None, report.longrepr[2]  # not the line of the kit that skips
            if self.is_worker and self._told < self._run.begun:
                self._told = self._run.begun
                setattr(report, _FOUND, self._shared())  # the controller needs it if this process does not come to its end
            known = {violation.rule: self.gate.why_known(name, violation) for violation in result.violations}
            report.queue_conformance_failed = bool(known)
            if known and all(known.values()) and not result.internal_error and not result.fault:
                report.outcome = "skipped"  # as pytest itself reports an expected failure
                report.wasxfail = "; ".join(f"{rule}: {reason}" for rule, reason in known.items())
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the result of a check, wherever it ran."""
        self._ended += report.when == "teardown"
        if not self.is_worker and (text := getattr(report, _FOUND, None)):
            self._take(text)
        if found := result_of(report):
            self._run.add(*found)
            self._tested = True

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Show a check whose failed rules are known, or do not fail the run, in a category of its own."""
        if report.when != "call" or not getattr(report, "queue_conformance_failed", False):
            return None
        if report.outcome not in ("passed", "skipped"):  # another plugin may have outcomes of its own
            return None
        if report.skipped:
            return "known", "k", ("KNOWN", {"yellow": True})
        return "tolerated", "t", ("FAILED", {"yellow": True})

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker found out about the classes."""
        if text := getattr(node, "workeroutput", {}).get("queue_conformance"):
            self._take(text)

    def _shared(self) -> str:
        return pack((self._run.share(), list(self.suites)))

    def _take(self, text: str) -> None:
        found, suites = unpack(text)
        self._run.merge(found)
        for name in suites:
            self.suites.expect(name)
        for target in self._run.targets.values():
            self.gate.register(target)

    # --- The end -----------------------------------------------------------------------------------------------------

    def report(self) -> Report:
        """Return the report on the run, with what the baseline says about it."""
        report = self.gate.attributed(self._found(), self._run.coverage)
        if not self._interrupted:
            return report
        return replace(report, errors=(*report.errors, INTERRUPTED), interrupted=True)

    @property
    def tested(self) -> dict[str, Target]:
        """What was tested, by name, in the order of the report."""
        targets, names = self._run.targets, self._run.coverage
        return {name: targets[name] for name in (*(one.name for one in self.options.targets), *self.suites) if name in names}

    def _found(self) -> Report:
        """Return the report on the run, in the order of the command line and of collection."""
        return self._run.report([*(target.name for target in self.options.targets), *self.suites])

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Remember failing sequences, write the files, and set the exit status."""
        if self.is_worker:
            self.config.workeroutput["queue_conformance"] = self._shared()  # type: ignore[attr-defined]
        if self.is_worker or self.config.getoption("collectonly"):
            return
        finish = Finish(session)
        self._run.clean()
        enough = bool(session.shouldfail) and self._ended < session.testscollected  # -x, or --maxfail
        self._interrupted = enough or exitstatus in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)
        if self.options.update_baseline:
            self._update(exitstatus)
        report = self.report()
        try:
            self._cache.remember(report, self._run.coverage)
        except UsageError as error:
            self._run.errors.append(str(error))
        provenance.remember(report)
        self._summary.kept = self._cache.keep(report)
        for name in self.options.reports:
            try:
                files.write(report, self.config.invocation_params.dir / name)
            except OSError as error:
                self._run.errors.append(f"--conformance-report: cannot write {name}: {error.strerror}")
        self._untold += self.suites.unasked(self.options.common.kept)
        self._summarize(report)
        session.exitstatus = pytest.ExitCode.INTERRUPTED if finish.interrupted else exit_status(self.report(), exitstatus)
        self._summary.place(report)

    def _summarize(self, report: Report) -> None:
        """Append the report to the summary of a step, where GitHub Actions asks for one."""
        if name := os.environ.get("GITHUB_STEP_SUMMARY"):
            try:
                markdown.append(report, Path(name))
            except OSError as error:
                self._untold.append(f"cannot append the report to GITHUB_STEP_SUMMARY ({name}): {error.strerror}")

    def _update(self, exitstatus: int) -> None:
        """Bring the baseline up to date, unless the run was interrupted."""
        if exitstatus not in _ENDED:
            self._changes = ["the baseline was not updated, because the run did not end"]
            return
        if not self._run.targets:
            self._changes = ["the baseline was not updated, because nothing was tested"]
            return
        try:
            self._changes = self.gate.update(self._run.coverage, self._found())
        except BaselineError as error:
            self._run.errors.append(str(error))

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter, exitstatus: int) -> None:
        """Print the report."""
        report = self.report()
        deselected = {item.name for item in terminalreporter.stats.get("deselected", []) if isinstance(item, CheckItem)}
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and (chosen := self.config.getoption("keyword")) and deselected:
            meant = did_you_mean(chosen, deselected, listed=0) or "; write part of a rule's id, such as queue.pop, or of a class"
            told = f"-k {chosen!r} matches no check{meant} (--co -q lists all)"
            for line in wrapped(told, writer_of(terminalreporter).fullwidth, "", whole=True):
                terminalreporter.write_line(line, yellow=True)
            return
        nothing = not report.implementations or self.config.getoption("collectonly") or self._deselected()
        if nothing and not report.errors and not report.internal_errors and not self._changes:
            return
        self._summary.show(report, self._run.internal_errors)
        for text in self._untold:
            terminalreporter.write_line(f"WARNING: {text}", yellow=True)
        for text in self._changes:
            for line in wrapped(f"baseline: {text}", writer_of(terminalreporter).fullwidth, "", whole=True):
                terminalreporter.write_line(line)

    def _deselected(self) -> bool:
        """Whether -k and the like left none of the kit's checks, so that the run is about other tests alone."""
        choosing = any(map(self.config.getoption, ("keyword", "markexpr", "deselect")))
        return choosing and not self._tested and not self._interrupted

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        self._run.close()


def exit_status(report: Report, of_pytest: int) -> int:
    """Return the exit status of a run: that of pytest, unless the kit knows worse."""
    if of_pytest not in _ENDED:
        return of_pytest
    if report.internal_errors:
        return pytest.ExitCode.INTERNAL_ERROR
    if any(error != INTERRUPTED for error in report.errors):
        return pytest.ExitCode.USAGE_ERROR
    if report.failed or of_pytest == pytest.ExitCode.TESTS_FAILED:
        return pytest.ExitCode.TESTS_FAILED
    return INCONCLUSIVE if report.inconclusive else of_pytest


def _shortened(text: str) -> str:
    """Return the beginning of what was printed."""
    return text if len(text) <= _SAID else f"{text[:_SAID]}\n... and {len(text) - _SAID} more characters, which -s shows\n"
