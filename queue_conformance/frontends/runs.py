"""From a target to a report: what all entrances share."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sized
from contextlib import ExitStack, suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from queue_conformance.config.run_config import Options
from queue_conformance.config.targets import Target
from queue_conformance.config.values import is_address
from queue_conformance.discovery.record import Discovery
from queue_conformance.discovery.stages import discover
from queue_conformance.engine.outcomes import CheckResult
from queue_conformance.engine.registry import Check, checks_of, part_of
from queue_conformance.engine.sequences import USUAL, Known
from queue_conformance.faults import servers
from queue_conformance.faults.servers import Server, ServerError
from queue_conformance.faults.servers.running import Keys, held, keys_of, mark_of, note_on, remove_marked
from queue_conformance.frontends.hosted import Hosted
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.frontends.scratch import Scratch
from queue_conformance.guard import Guard
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes import process
from queue_conformance.processes.isolation import IsolatedError, Watchdog
from queue_conformance.processes.stopwatch import WITHOUT_END, RunTime
from queue_conformance.reports import ImplementationReport, Origin, Report, report_on
from queue_conformance.running.contexts import RunConfig
from queue_conformance.running.surroundings import trouble, unsupported
from queue_conformance.secrets import Secrets
from queue_conformance.specification import Level
from queue_conformance.specification.applicability import installed_releases
from queue_conformance.specification.kinds import Kind

_Shared = tuple[
    dict[str, Target], dict[str, Discovery], dict[str, dict[str, bool]], list[str], dict[str, str], dict[str, Keys], set[str]
]


def author_hooks(config: pytest.Config) -> dict[str, Callable[..., Any] | None]:
    """Return the functions of the author's conftest.py that implement hooks, as :meth:`Run.begin` takes them."""

    def found(name: str) -> Callable[..., Any] | None:
        implementations = getattr(config.hook, name).get_hookimpls()
        return implementations[-1].function if implementations else None

    return {"factory": found("pytest_open_queue"), "prepare": found("pytest_prepare_spider")}


ROUNDS = 20
"""How many times as many sequences a run may draw that updates a baseline: a later one must find nothing more."""


class Run:
    """The run of some implementations, and its results.

    Args:
        options: what the user asked for.
        directory: where scratch directories are made, if not in one that is removed at the end.

    Attributes:
        targets: what is tested, by name, in the order of the report.
        errors: one line per implementation that cannot be tested.
        internal_errors: the traceback of each time that the kit itself failed, by one line about it.
        watch: called from time to time with the progress of a running check, or ``None``.
    """

    def __init__(self, options: Options, directory: Path | None = None) -> None:
        self._at_end = ExitStack()
        if directory is None:
            scratch = Scratch()
            self._at_end.callback(scratch.remove)
            directory = scratch.path
        self._directory = directory
        self._hosted: list[Hosted] = []
        self.targets: dict[str, Target] = {target.name: target for target in options.targets}
        self.errors: list[str] = []
        self.internal_errors: dict[str, str] = {}
        self.watch: Callable[[Watchdog], None] | None = None
        self._discoveries: dict[str, Discovery] = {}
        self._planned: dict[str, dict[str, bool]] = {}
        self._keys: dict[str, Keys] = {}
        self._held: dict[str, str] = {}
        self._marks = {mark_of(directory)}
        self._lasting: dict[str, Server] = {}
        self._releases = installed_releases()
        self._results: dict[str, list[CheckResult]] = {}
        self._options = options
        self._run_time = RunTime.from_now(options.time)
        self._origin = Origin(options.seed, options.examples, self._releases)
        self._settings: dict[str, Mapping[str, str]] = {target.name: target.settings for target in options.targets}
        self._secrets = 0, Secrets()

    def begin(
        self,
        target: Target,
        cls: type[Any] | None = None,
        factory: Callable[..., Any] | None = None,
        *,
        prepare: Callable[[Any], object] | None = None,
        may_decline: bool = True,
        known: Known = MappingProxyType({}),
    ) -> ImplementationRun | Hosted:
        """Discover an implementation, and return its checks.

        Args:
            cls: its class, or ``None`` to import it.
            factory: the author's function that builds it, or ``None``.
            prepare: the author's function that gives spiders what the class looks for in them, or ``None``.
            may_decline: whether the function that builds it may leave the class to the kit.
            known: sequences that failed before.

        Raises:
            LoadError: if there is nothing to test; the message is one line.
        """
        self._expect_empty(target)
        config = self._config_for(target, factory=factory, prepare=prepare, may_decline=may_decline, known=dict(known))
        guard = Guard(self._directory, self._options.allow, lent=bool(target.server))
        self._look_at(target.server)
        self._settings[target.name] = target.settings
        try:
            implementation_run = self._started(target, replace(config, guard=guard), guard, cls)
        except (LoadError, IsolatedError) as error:
            said = self.secrets.text(str(error))
            if line := self._refused(target, guard):
                raise LoadError(line) from None
            if isinstance(error, LoadError):
                raise LoadError(said) from None
            if line := trouble(self._directory, said.strip().splitlines()[-1], target.server):
                raise LoadError(line) from None
            raise IsolatedError(said) from None
        found = implementation_run.discovery
        if line := self._refused(target, guard):
            raise LoadError(line)
        if line := _trouble_of(found, self._directory):
            raise LoadError(self.secrets.text(line))
        self._look_at(found.server)
        self.targets[target.name] = target
        self._discoveries[target.name] = found
        must = {name for name, rule in implementation_run.rules.items() if rule.level is Level.MUST and rule.counts}
        self._planned[target.name] = {check.name: not must.isdisjoint(check.rules) for check in implementation_run.checks}
        for result in found.smoke:
            self._note_errors(target.name, result)
        if isinstance(implementation_run, Hosted) and len(self._discoveries) < len(self._options.targets):
            _preload(found.kind)
        return implementation_run

    def _config_for(self, target: Target, **how: Any) -> RunConfig:
        """Return how the checks of an implementation are run."""
        options = self._options
        rounds = ROUNDS if options.update_baseline else 1
        return RunConfig(
            self._directory,
            seed=options.seed,
            examples=options.examples,
            crawls=options.crawls,
            drawing=replace(options.drawing or USUAL, rounds=rounds, compared=options.baseline is not None),
            time_limit=options.time_limit,
            run_time=self._run_time,
            in_process=options.in_process,
            server=target.server,
            watch=self.watch,
            of_project=target.of_project,
            kept=target.kept,
            lasting=self._lasting_for(target.server),
            **how,
        )

    def _started(self, target: Target, config: RunConfig, guard: Guard, cls: type[Any] | None) -> ImplementationRun | Hosted:
        """Discover an implementation in a process of its own, or here if its class is given or there can be none."""

        def run_here() -> ImplementationRun:
            found = self._discovered(target, config, cls)
            asked = self._options.jobs
            how = replace(config, jobs=asked or jobs(idle=found.idle), idle_jobs=asked or IDLE_JOBS)
            return ImplementationRun(found, how, self._releases, cls)

        if cls is not None or not process.AVAILABLE or self._options.in_process:
            return run_here()
        hosted = Hosted(target.path, run_here, self._options.time_limit, self.watch, guard)
        self._hosted.append(hosted)
        self._at_end.callback(hosted.close)
        return hosted

    def _discovered(self, target: Target, config: RunConfig, cls: type[Any] | None) -> Discovery:
        try:
            self._directory.stat()  # if it is gone by now, the class has not removed it
            unhurried = replace(config, run_time=WITHOUT_END)  # without it, there are no rules to leave out
            return discover(target.path, target.settings, target.claims, unhurried, target.option, cls)
        except OSError as error:  # the kit could not even begin
            line = trouble(self._directory, str(error), target.server) or f"the system refuses what the kit needs: {error}"
            raise LoadError(line) from None

    def _refused(self, target: Target, guard: Guard) -> str:
        return self.secrets.text(guard.refused(target.path, target.settings))

    def _lasting_for(self, server: str) -> Mapping[str, Server]:
        """Return the servers that serve the whole run, with this one if possible: checks that do no harm share it."""
        if server not in self._lasting and process.AVAILABLE:
            with suppress(ServerError):  # the discovery says it
                if started := servers.lasting(server, self._directory):
                    self._lasting[server] = started
                    self._at_end.callback(started.close)
        return self._lasting

    def _expect_empty(self, target: Target) -> None:
        """Complain of a running server with something in it, where a class would find that: nobody gave it to the kit.

        Crawls, and the classes of a project, use the keys that the settings name; of what the author allows, the kit knows
        nothing.

        Raises:
            LoadError: if there is such.
        """
        named = {one: "--conformance-allow" for one in self._options.allow if is_address(one)}
        if ":" in target.server and (target.claims.get("kind") == "crawl" or target.of_project):
            named[target.server] = "--queue-server"
        for server, option in named.items():
            if server not in self._held:  # later there may be what this run has put there
                self._held[server] = held(server)
            if what := self._held[server]:
                raise LoadError(f"{server} ({option}) holds {what}: nothing is tested there; name a server that is empty")

    def _look_at(self, server: str) -> None:
        """Remember what a running server holds before anything is done to it."""
        if server not in self._keys and (keys := keys_of(server)) is not None:
            self._keys[server] = keys

    def examine(
        self,
        target: Target,
        choose: Callable[[ImplementationRun | Hosted], Iterable[Check]] | None = None,
        *,
        progress: Callable[[str, str, int, int], object] = lambda *_: None,
        **how: Any,
    ) -> None:
        """Test an implementation here and now.

        Args:
            choose: returns the checks to run, of those that there are; without it, all are run.
            progress: called before each check; see :func:`queue_conformance.examine`.
            how: as for :meth:`begin`.

        Raises:
            LoadError: if there is nothing to test; the message is one line.
        """
        try:
            implementation_run = self.begin(target, **how)
        except IsolatedError as error:
            self.failed_before_checks(target.name, error)
            return
        checks = implementation_run.checks if choose is None else choose(implementation_run)
        count = len(checks if isinstance(checks, Sized) else implementation_run.checks)
        if isinstance(implementation_run, Hosted) and isinstance(checks, list):
            implementation_run.expect([check.name for check in checks])
        for done, check in enumerate(checks):  # which may depend on what came of those before
            progress(target.name, check.name, done, count)
            self.add(target.name, implementation_run.run(check))

    def add(self, name: str, result: CheckResult) -> None:
        """Add the result of a check of the implementation of that name."""
        self._results.setdefault(name, []).append(result)
        self._note_errors(name, result)

    def _note_errors(self, name: str, result: CheckResult) -> None:
        if result.fault:
            self._note_error(result.fault if result.fault.startswith(name) else f"{name}: {result.fault}")
        if result.internal_error:
            self._note_internal_error(name, f"in the check {result.check}: {result.internal_error}", result.traceback)

    def _note_error(self, line: str) -> None:
        if line not in self.errors:
            self.errors.append(line)

    def failed_before_checks(self, name: str, error: IsolatedError) -> str:
        """Note that the kit itself failed before it came to the checks of an implementation; return the line about it."""
        last = str(error).strip().splitlines()[-1]
        return self._note_internal_error(name, f"before any check: {last}", str(error))

    def _note_internal_error(self, name: str, what: str, traceback: str) -> str:
        if line := unsupported(traceback):
            self._note_error(line)
            return line
        hidden = self.secrets.text
        line = hidden(f"{name}: the kit itself failed {what}; report it, with the traceback that pytest -vv shows")
        self.internal_errors[line] = hidden(traceback)
        return line

    def clean(self) -> None:
        """Remove what this run, and those that were merged, have certainly left in running servers."""
        for server, before in self._keys.items():
            remove_marked(server, before, self._marks)

    def close(self) -> None:
        """End the processes in which classes were imported and the servers, and remove the scratch directories."""
        self._at_end.close()

    @property
    def secrets(self) -> Secrets:
        """The secrets in the settings of all implementations so far."""
        number, secrets = self._secrets
        if number != len(self._settings):
            secrets = Secrets(*self._settings.values(), said="\n".join(self._settings))
            self._secrets = len(self._settings), secrets
        return secrets

    @property
    def begun(self) -> int:
        """The number of implementations that were discovered by now."""
        return len(self._discoveries)

    @property
    def coverage(self) -> dict[str, bool]:
        """The implementations of which checks were run, by name; whether all of them were."""
        return {name: self._planned[name].keys() <= {one.check for one in results} for name, results in self._results.items()}

    def _whole(self, name: str) -> bool:
        """Whether all checks of MUST rules ran to their ends."""
        ran = {result.check for result in self._results.get(name, []) if not result.late}
        return {check for check, must in self._planned[name].items() if must} <= ran

    def share(self) -> _Shared:
        """Return what a worker of a distributed run knows besides results, for :meth:`merge`."""
        return self.targets, self._discoveries, self._planned, self.errors, self.internal_errors, self._keys, self._marks

    def merge(self, shared: _Shared) -> None:
        """Add what a worker knows."""
        targets, discoveries, planned, errors, internal_errors, keys, marks = shared
        self._marks |= marks
        self.internal_errors |= internal_errors
        for server, before in keys.items():  # one worker may have begun with what another one left
            self._keys[server] = self._keys.get(server, before) & before
        self.targets |= targets
        self._settings |= {name: target.settings for name, target in targets.items()}
        self._discoveries |= discoveries
        self._planned |= planned
        self.errors += [error for error in errors if error not in self.errors]

    def report(self, order: Iterable[str] | None = None) -> Report:
        """Return the results so far.

        Args:
            order: the names of the implementations as they come in the report, if not as they were begun.
        """

        def reported(name: str) -> ImplementationReport:
            level, results = Level(self.targets[name].level), self._results.get(name, [])
            return report_on(self._discoveries[name], results, self._releases, name, level, self._whole(name))

        found = [reported(name) for name in (self.targets if order is None else order) if name in self._discoveries]
        left = {server: self.secrets.text(note_on(server, before)) for server, before in self._keys.items()}
        found = [replace(one, notes=(*one.notes, left[one.server])) if left.get(one.server) else one for one in found]
        errors = [*self.errors, *(one.ended for one in self._hosted if one.ended)]
        return Report(
            tuple(found), tuple(map(self.secrets.text, errors)), self._origin, internal_errors=tuple(sorted(self.internal_errors))
        )


def _trouble_of(found: Discovery, directory: Path) -> str:
    """Return what is wrong around a class that failed before its checks, or ``""``."""
    violations = [one.violation for result in found.smoke for one in result.failed if one.violation]
    return trouble(directory, "\n".join(one.evidence for one in violations), found.server) if violations else ""


def _preload(kind: Kind) -> None:
    """Import what the next classes need if they are of this kind, once here and not in the process of each.

    It was imported in the process of one, without harm.
    """
    with suppress(Exception), warnings.catch_warnings(action="ignore"):
        checks_of(kind)
        part_of(kind, "smoke")
        import_module(kind.driver.partition(":")[0])


MOST_JOBS = 8
"""Checks that run at once, if nobody says how many: a class has less than a hundred, most of which take no time."""

IDLE_JOBS = 16
"""The same for a class that waits: it is the processes that take room, and not what they do, that ends it there."""


def jobs(*, idle: bool) -> int:
    """Return how many checks run at once, if nobody says how many: one for each processor that this process may use.

    Args:
        idle: whether the class leaves them idle most of the time.
    """
    if idle:
        return IDLE_JOBS
    return min(MOST_JOBS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
