"""The hooks of a run: classes become nodes, checks become items, results become a report."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import pytest

from queue_conformance import options
from queue_conformance.implementations.loading import LoadError
from queue_conformance.isolation import IsolatedError
from queue_conformance.items import RESULT, CheckItem, ImplementationNode, pack, unpack
from queue_conformance.options import Options, Target
from queue_conformance.reports import Report, files, terminal
from queue_conformance.reports.placement import place
from queue_conformance.runs import Run, mistake_of_kit, new_scratch
from queue_conformance.specification import Level
from queue_conformance.suites import Check
from queue_conformance.suites.examination import Examination

INCONCLUSIVE = 16
"""The exit status of a run after which nothing is known of some implementation."""

_CACHE = "queue-conformance/failing-programs"
_RESULT = "queue_conformance"
"""The attribute of pytest's report on a check that holds what came of it."""

_NAME = "queue-conformance-session"
"""The name of the plugin with the hooks of a run."""


def start(config: pytest.Config) -> None:
    """Begin the run that an option asks for.

    Raises:
        pytest.UsageError: if an option is wrong.
    """
    try:
        session_of(config)
    except options.UsageError as error:
        raise pytest.UsageError(str(error)) from error
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
        found = Session(config, options.read(config))
        config.pluginmanager.register(found, _NAME)
    return found


@dataclass(frozen=True, eq=False)
class Described:
    """One implementation that a suite of the author's tests describes.

    Attributes:
        target: the implementation; its name is the node id of the suite.
        cls: its class.
        opener: the author's function that builds it, or ``None``.
    """

    target: Target
    cls: type[Any]
    opener: Callable[..., Any] | None


class Session:
    """The hooks of one process: the only one, a worker of a distributed run, or its controller.

    A worker examines, and sends surveys and results to the controller; a controller only reports.
    """

    def __init__(self, config: pytest.Config, asked: Options) -> None:
        self.config = config
        self.options = asked
        self.is_worker = hasattr(config, "workerinput")
        self.is_controller = not self.is_worker and config.getoption("dist", "no") != "no"
        self._elsewhere: dict[str, str] = {}
        self._scratch = new_scratch()
        self._run = Run(asked, self._scratch)
        self._suites: dict[str, tuple[Described, Examination] | None] = {}
        self._refused: dict[str, str] = {}

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
            except (LoadError, IsolatedError) as error:
                self._run.errors.append(f"{where}: {_explained(error, target.path)}")

    def _collect(self, session: pytest.Session, target: Target) -> list[pytest.Item]:
        examination = self._run.begin(target, opener=self._hook(), known=self._cached().get(target.name, []))
        node = ImplementationNode.from_parent(session, name=target.name, nodeid=target.name)
        gate = Level(target.level)
        return [CheckItem.from_parent(node, check=check, examination=examination, gate=gate) for check in examination.checks]

    def _hook(self) -> Callable[..., Any] | None:
        """Return the function of the author's conftest.py that builds a queue, if there is one."""
        implementations = self.config.hook.pytest_open_queue.get_hookimpls()
        return implementations[-1].function if implementations else None

    # --- Suites in the author's own tests ------------------------------------------------------------------------------

    def expect_suite(self, name: str) -> None:
        """Take notice of a suite that was collected; it is examined when its first test runs."""
        self._suites.setdefault(name, None)

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        """Let ``-k`` find the tests of a suite by the rules that they examine."""
        check = getattr(getattr(item, "callspec", None), "params", {}).get("check")
        if isinstance(check, Check):
            item.extra_keyword_matches.update(check.rules)

    def examination_of(self, name: str, describe: Callable[[], Described]) -> tuple[Target, Examination]:
        """Return the examination of a suite; the first call surveys the class.

        Args:
            name: the node id of the suite.
            describe: describes the implementation as the current test sees it.

        Raises:
            pytest.fail.Exception: if it cannot be examined.
            pytest.skip.Exception: if this was told before: one mistake is told once.
        """
        __tracebackhide__ = True
        if name in self._refused:
            pytest.skip(f"not examined: {self._refused[name]}")
        path = name
        try:
            described = describe()
            path = described.target.path
            known = self._suites[name] or (described, self._examination(described))
            self._suites[name] = known
            if difference := _difference(known[0], described):
                raise options.UsageError(difference)
        except (LoadError, options.UsageError, IsolatedError) as error:
            line = _explained(error, path)
            self._refused[name] = line
            self._run.errors.append(f"{name}: {line}")
            pytest.fail(line, pytrace=False)
        except (Exception, pytest.fail.Exception):
            self._refused[name] = "its fixtures failed before, as the first of its tests shows"
            raise
        if described.opener is not None:
            known[1].open_by(described.opener)  # what it uses may end with the test
        return known[0].target, known[1]

    def _examination(self, described: Described) -> Examination:
        own = described.opener is not None
        opener = described.opener if own else self._hook()
        known = self._cached().get(described.target.name, [])
        return self._run.begin(described.target, described.cls, opener, may_decline=not own, known=known)

    # --- Results -----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
        """Attach what came of a check to pytest's report on it."""
        report = yield
        if call.when == "call" and RESULT in item.stash:
            setattr(report, _RESULT, pack(item.stash[RESULT]))
            report.queue_conformance_broken = bool(item.stash[RESULT][1].broken)
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what came of a check, wherever it ran."""
        if text := getattr(report, _RESULT, None):
            self._run.add(*unpack(text))

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Show a check whose broken rules do not fail the run in a category of its own."""
        if report.when == "call" and report.passed and getattr(report, "queue_conformance_broken", False):
            return "broken, not failing", "b", ("BROKEN", {"yellow": True})
        return None

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Take what a worker found out about the classes."""
        if text := getattr(node, "workeroutput", {}).get("queue_conformance"):
            targets, surveys, errors, suites = unpack(text)
            self._run.targets |= targets
            self._run.surveys |= surveys
            self._run.errors += [error for error in errors if error not in self._run.errors]
            for name in suites:
                self.expect_suite(name)

    # --- The end -----------------------------------------------------------------------------------------------------

    def report(self) -> Report:
        """Return what came of the run, in the order of the command line and of collection."""
        order = [*(target.name for target in self.options.targets), *self._suites]
        self._run.targets = {name: self._run.targets[name] for name in order if name in self._run.targets}
        return self._run.report()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Remember failing programs, write the files, and set the exit status."""
        if self.is_worker:
            found = (self._run.targets, self._run.surveys, self._run.errors, list(self._suites))
            self.config.workeroutput["queue_conformance"] = pack(found)  # type: ignore[attr-defined]
        if self.is_worker or self.config.getoption("collectonly"):
            return
        report = self.report()
        self._remember(report)
        for name in self.options.reports:
            try:
                files.write(report, self.config.invocation_params.dir / name)
            except OSError as error:
                self._run.errors.append(f"--conformance-report: cannot write {name}: {error.strerror}")
        session.exitstatus = exit_status(self.report(), exitstatus)
        self._show_each_once(report)

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
            remembered.pop(found.name, None)
            programs = [v.violation.program for v in found.verdicts if v.violation and v.violation.program]
            if programs:
                remembered[found.name] = programs
        if remembered != known and getattr(self.config, "cache", None):
            self.config.cache.set(_CACHE, remembered)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the report."""
        report = self.report()
        nothing = not report.implementations or self.config.getoption("collectonly")
        if nothing and not report.errors:
            return
        if self._elsewhere and self.config.getoption("tbstyle") != "no":
            terminalreporter.section("broken, not failing")
            for title, text in self._elsewhere.items():
                terminalreporter.write_sep("_", title, yellow=True, bold=True)
                terminalreporter.write_line(text)
        terminalreporter.section("queue conformance")
        verbose = self.config.get_verbosity() > 0
        for line in terminal.render(report, terminalreporter._tw.fullwidth, verbose):
            markup = {name: True for name in (line.colour, "bold" if line.bold else "") if name}
            terminalreporter.write_line(line.text, **markup)

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self._scratch, ignore_errors=True)


def _explained(error: Exception, path: str) -> str:
    return mistake_of_kit(path, error) if isinstance(error, IsolatedError) else str(error)


def _difference(known: Described, described: Described) -> str:
    """Tell what a suite says otherwise than it did for its first test, or return ``""``."""
    for name in ("path", "settings", "claims", "server", "level"):
        first, now = getattr(known.target, name), getattr(described.target, name)
        if first != now:
            return f"the suite describes another implementation for each test: {name} {first!r}, then {now!r}; {_FIXED}"
    if known.cls is not described.cls:
        return f"the suite makes another class {described.target.path} for each test; {_FIXED}"
    return ""


_FIXED = 'give the fixture that makes it scope="class", or write one suite for each'


def exit_status(report: Report, of_pytest: int) -> int:
    """Return the exit status of a run: that of pytest, unless the kit knows worse.

    Args:
        report: what came of the run.
        of_pytest: what pytest would return.
    """
    if of_pytest not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED):
        return of_pytest
    if report.errors:
        return pytest.ExitCode.USAGE_ERROR
    if report.failed or of_pytest == pytest.ExitCode.TESTS_FAILED:
        return pytest.ExitCode.TESTS_FAILED
    return INCONCLUSIVE if report.inconclusive else of_pytest
