"""``pytest --conformance-measure``: what the classes of a run cost as they grow, measured once they are tested."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from queue_conformance.compat.pytest import TerminalReporter, writer_of
from queue_conformance.config.targets import Target
from queue_conformance.frontends import session as sessions
from queue_conformance.frontends.progress import display_of
from queue_conformance.frontends.runs import author_hooks
from queue_conformance.frontends.scratch import Scratch
from queue_conformance.guard import Guard
from queue_conformance.implementation.loading import LoadError
from queue_conformance.measuring import files, sizes, terminal
from queue_conformance.measuring.hosted import HostedSubject
from queue_conformance.measuring.step import Measured
from queue_conformance.running.contexts import RunConfig

_BY_A_FUNCTION = "a fixture of the suite builds it; name its class on the command line, or in pyproject.toml"
_ELSEWHERE = "the worker that tested the suite has ended; run it without -n"


def start(config: pytest.Config) -> None:
    """Measure at the end of the run, unless this process is a worker of a distributed one."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Measurement(config, sessions.session_of(config)), "queue-conformance-measurement")


class Measurement:
    """The hooks that measure.

    Args:
        session: the hooks of the run.
    """

    def __init__(self, config: pytest.Config, session: sessions.Session) -> None:
        self._config = config
        self._session = session
        self._steps: list[Measured] = []
        self._notes: list[str] = []
        self._errors: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_sessionstart(self) -> None:
        """Refuse what cannot be measured beside the others, before these are tested."""
        scratch = Scratch()
        try:
            for target in self._session.options.measuring.against:
                HostedSubject(target, self._config_for(target, scratch.path, author_hooks(self._config))).close()
        except LoadError as error:
            raise pytest.UsageError(f"--conformance-measure-against: {error}") from error
        finally:
            scratch.remove()

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Measure, when all is tested and reported, and write the files."""
        ended = exitstatus not in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR, pytest.ExitCode.USAGE_ERROR)
        if not ended or self._config.getoption("collectonly") or not self._session.tested:
            return
        try:
            self._measure()
        except KeyboardInterrupt:
            self._notes.append("the rest: it was interrupted")
            session.exitstatus = pytest.ExitCode.INTERRUPTED
        for name in self._session.options.measuring.files:
            try:
                files.write(self._steps, self._notes, self._config.invocation_params.dir / name)
            except OSError as error:
                self._errors.append(f"--conformance-measure-output: cannot write {name}: {error.strerror}")
                session.exitstatus = pytest.ExitCode.USAGE_ERROR

    def _measure(self) -> None:
        how = self._session.options.measuring
        begun, display = time.monotonic(), display_of(self._config)
        with ExitStack() as at_end:
            if display is not None:
                at_end.callback(display.clear)
            scratch = Scratch()
            at_end.callback(scratch.remove)
            subjects = [at_end.enter_context(closing(one)) for one in self._subjects(scratch.path)]
            for found in sizes.measure(subjects, up_to=how.up_to, seconds=how.seconds, axes=how.axes):
                if isinstance(found, str):
                    self._notes.append(found)
                    continue
                self._steps.append(found)
                if display is not None and display.due(time.monotonic(), begun):
                    said = f"measured at {found.size:,} {found.axis}"
                    display.show([f"  {name}: {said}" for name in (found.name, found.name.rpartition(".")[2])])

    def _subjects(self, directory: Path) -> Iterator[HostedSubject]:
        """Yield what can be measured of what was tested, and what is measured beside it."""
        described = self._session.suites.described
        against = [one for one in self._session.options.measuring.against if one.name not in self._session.tested]
        for target in (*self._session.tested.values(), *against):
            hooks, cls = author_hooks(self._config), None
            if target.name in self._session.suites:
                suite = described.get(target.name)
                if suite is None or suite.factory is not None:
                    self._notes.append(f"{target.name}: {_BY_A_FUNCTION if suite else _ELSEWHERE}")
                    continue
                hooks, cls = {**hooks, "prepare": suite.prepare or hooks["prepare"]}, suite.cls
            try:
                yield HostedSubject(target, self._config_for(target, directory, hooks), cls)
            except LoadError as error:
                self._notes.append(str(error))

    def _config_for(self, target: Target, directory: Path, hooks: dict[str, Any]) -> RunConfig:
        return RunConfig(
            directory,
            server=target.server,
            factory=hooks["factory"],
            prepare=hooks["prepare"],
            of_project=target.of_project,
            guard=Guard(directory, self._session.options.allow, lent=bool(target.server)),
        )

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Print the table, and what it shows."""
        if not self._steps and not self._notes and not self._errors:
            return
        terminalreporter.write_sep("=", "cost of growth")
        for line in terminal.render(self._steps, writer_of(terminalreporter).fullwidth):
            terminalreporter.write_line(line)
        for note in self._notes:
            terminalreporter.write_line(f"not measured: {note}")
        for error in self._errors:
            terminalreporter.write_line(f"ERROR {error}", red=True)
