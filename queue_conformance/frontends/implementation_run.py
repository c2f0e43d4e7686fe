"""All checks of one implementation."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from queue_conformance.discovery.record import Discovery
from queue_conformance.discovery.smoke import claims_of, smoke_check_of
from queue_conformance.engine.budget import Budget
from queue_conformance.engine.outcomes import CheckResult, Outcome, blocked, operation_of
from queue_conformance.engine.registry import Check, checks_of, preload
from queue_conformance.engine.shown import NOTHING_SHOWN, Shown
from queue_conformance.implementation import Implementation
from queue_conformance.implementation.loading import LoadError
from queue_conformance.processes import process
from queue_conformance.processes.endings import SILENCE, Abort
from queue_conformance.processes.host import HostEnded
from queue_conformance.processes.isolation import IsolatedError
from queue_conformance.processes.stopwatch import IdleTime
from queue_conformance.running.ahead import Ahead
from queue_conformance.running.confirmation import fails_again
from queue_conformance.running.contexts import RunConfig
from queue_conformance.running.execution import execute, faulty, left_out
from queue_conformance.running.sharing import Sharing
from queue_conformance.running.spawning import execute_in_spawned
from queue_conformance.secrets import Secrets
from queue_conformance.specification import Level, Rule
from queue_conformance.specification.applicability import why_not_applicable
from queue_conformance.specification.kinds import Kind, Profile

ABORTS = 3
"""Hangs, exits and crashes that break a MUST rule, after which the other checks do without the operations that ended so."""

MORE = 3
"""Further ones, of other operations, after which no other check is tried."""


QUICK = 0.5
"""Seconds of checks from which on others are worth the processes that run them beside."""

WAITED = 10.0
"""Seconds of checks that wait most of the time, from which on others run beside each other, with servers of their own."""

DIFFERENT = 3
"""Checks of which something else comes alone than beside others, after which none runs beside another any more."""

FEW = 8
"""Checks that are left at most where that costs more than it brings, as what fails first is run once more alone."""

_Known = tuple[Shown, frozenset[str]]
"""What lets a check go on otherwise: what was shown, and the operations that it is to do without."""


def first_of(kind: Kind) -> tuple[Check, Check]:
    """Return what the discovery of a kind tests."""
    return smoke_check_of(kind), claims_of(kind)


def all_checks_of(kind: Kind) -> list[Check]:
    """Return every check of a kind, in the order in which they are run."""
    return [*first_of(kind), *checks_of(kind)]


class ImplementationRun:
    """The checks of one implementation.

    Args:
        discovery: what is known of it.
        config: how the checks are run.
        releases: the installed releases of libraries.
        cls: the class, or ``None`` to import it.

    Attributes:
        discovery: what is known of the implementation.
        rules: the rules that its checks may speak of, by id.
        checks: the checks to run, in order; those of the discovery itself come first, and only those if it is unusable.
    """

    def __init__(
        self, discovery: Discovery, config: RunConfig, releases: Mapping[str, str], cls: type[Any] | None = None
    ) -> None:
        self.discovery = discovery
        self._config = config
        self._releases = releases
        self._secrets = Secrets(discovery.settings, said=discovery.path)
        self._results = {result.check: self._secrets.result(result) for result in discovery.smoke}
        self._fatal: list[str] = []
        self._still = ""
        self._ended: set[str] = set()
        self._expected: tuple[str, ...] = ()
        self._spent = self._waited = 0.0
        self._ahead: Ahead | None = None
        self._confirmed = False
        self._differed = 0
        self._preloaded = False
        self.rules = discovery.rules()
        self.checks: list[Check] = [check for check in first_of(discovery.kind) if check.name in self._results]
        self._second: dict[str, Rule] = {}
        if discovery.usable:
            self._implementation = discovery.implementation(cls)
            self.rules = self._applicable(discovery.profile)
            if discovery.also:
                self._second = self._applicable(discovery.also)
            asked = self.rules.keys() | self._second.keys()
            self.checks += [check for check in checks_of(discovery.kind) if asked & set(check.rules)]
            self._sharing = Sharing(self._implementation, self.rules, self._config)

    def _applicable(self, profile: Profile) -> dict[str, Rule]:
        offered = self._implementation.capabilities.names
        asked = self.discovery.rules(profile)
        return {name: rule for name, rule in asked.items() if not why_not_applicable(rule, offered, self._releases)}

    def why_not(self, check: Check) -> str:
        """Tell why a check of the kind is not among those to run, or return ``""``."""
        if any(check.name == known.name for known in self.checks):
            return ""
        if self.discovery.unusable:
            return self.discovery.unusable
        asked = self.discovery.rules()
        offered = self._implementation.capabilities.names
        reasons = (why_not_applicable(asked[name], offered, self._releases) for name in check.rules if name in asked)
        return "; ".join(dict.fromkeys(reasons)) or f"nothing that the profile {self.discovery.profile} asks for"

    def _differs(self, check: Check) -> bool:
        """Whether the second contract asks a check for more than the first one, or for something else."""
        asked = self._second.keys() & set(check.rules)
        return bool(asked - self.rules.keys()) or (check.name in asked and check.name in self.discovery.kind.by_profile)

    def _asks_more(self, check: Check) -> bool:
        """Whether the second contract asks a check for all that the first one does, and for more: then one run tells both."""
        first, second = (rules.keys() & set(check.rules) for rules in (self.rules, self._second))
        return check.name not in self.discovery.kind.by_profile and bool(first) and first < second

    def hand_in(self, factory: Callable[..., Any] | None, prepare: Callable[[Any], object] | None) -> None:
        """Call these functions of the author's from now on: what the others use may have ended with the test that made it."""
        now = self._config
        self._config = replace(now, factory=factory or now.factory, prepare=prepare or now.prepare)

    def run(self, check: Check) -> CheckResult:
        """Run a check; once. What comes of it holds no secrets of the settings."""
        if check.name not in self._results:
            if line := self._refused():
                return faulty(check, self.rules, line)
            if self._config.run_time.over:
                return left_out(check, self.rules, str(self._config.run_time))
            self._preload(self.checks)
            if by := self._given_up:
                return CheckResult(
                    check.name, tuple(blocked(name, check.name, [by]) for name in check.rules if name in self.rules)
                )
            result = self._ran_ahead(check) or self._measured(check)
            self._spent += result.seconds
            self._config = replace(self._config, shown=self._shown_with(result))
            if line := self._refused():
                result = faulty(check, self.rules, line)
            self._still = self._still or check.name * result.still
            if result.fatal and any(self.rules[o.rule].level is Level.MUST for o in result.failed):
                self._fatal.append(check.name)
                ends = (o.violation.operations[-1:] for o in result.failed if o.violation)
                self._ended |= {operation_of(line) for lines in ends for line in lines}
                if len(self._fatal) >= ABORTS:
                    self._config = replace(self._config, without=frozenset(self._ended))
            self._results[check.name] = self._secrets.result(result)
        return self._results[check.name]

    @property
    def _given_up(self) -> str:
        """After what no other check is tried, or ``""``."""
        if self._still:
            return f"{self._still}, in which nothing went on for minutes"
        if len(self._fatal) >= ABORTS + MORE:
            return f"{len(self._fatal)} checks that hung or died: {', '.join(self._fatal)}"
        return ""

    def _preload(self, checks: Iterable[Check]) -> None:
        """Import what checks need before the first one runs; once here, and not in each process that is forked for one."""
        if not self._preloaded and self.discovery.usable and process.AVAILABLE and not self._config.in_process:
            self._preloaded = True
            preload(checks, self._implementation)

    def expect(self, names: Iterable[str]) -> None:
        """Run checks side by side from now on, unless all are quick.

        Args:
            names: those that will be asked for, in order.
        """
        names = list(names)
        self._preload([check for check in self.checks if check.name in names])
        config = self._config
        alone = config.in_process or config.factory or config.prepare or ":" in config.server
        if process.AVAILABLE and not alone:
            self._expected = tuple(names)

    @property
    def _jobs(self) -> int:
        """How many checks run at once from here on; those that can share a server do not, unless they wait most of the time."""
        if self._waits:
            return self._config.idle_jobs
        return 1 if self._config.server in self._config.lasting else self._config.jobs

    @property
    def _waits(self) -> bool:
        """Whether checks wait most of the time, as they do where a client tries for seconds to reach a server that is away."""
        return self._waited > WAITED

    def _known(self, name: str, result: CheckResult | None = None) -> _Known:
        """Return what is known by now, or with a result, that lets a check go on otherwise: what was shown, crawls alone."""
        shown = self._shown_with(result) if result else self._config.shown
        return shown if self._named(name).crawls else NOTHING_SHOWN, self._config.without

    def _shown_with(self, result: CheckResult) -> Shown:
        """Return what is shown once a result is."""
        shown = result.shown if result.failed else replace(result.shown, in_vain=False, loses=False)
        return shown | Shown(raised=self._raised(result)) | self._config.shown

    def _named(self, name: str) -> Check:
        return next(check for check in self.checks if check.name == name)

    def _in_turn(self, names: list[str]) -> list[str]:
        """Return the order in which checks begin that run beside each other, so that each processor has something to do.

        First come machines, which take longest, and then crawls, which wait now and then, among all others.
        """
        checks = {name: self._named(name) for name in names}
        machines = [name for name in names if checks[name].is_machine]
        crawls = [name for name in names if checks[name].crawls]
        others = [name for name in names if name not in machines and name not in crawls]
        places: dict[str, float] = {name: number for number, name in enumerate(others)}
        places |= {name: len(others) * number / len(crawls) for number, name in enumerate(crawls)}
        return [*machines, *sorted(places, key=places.__getitem__)]

    def _beside(self, asked: tuple[str, _Known]) -> CheckResult:
        """Run a check in a process that was forked from this one."""
        name, (shown, without) = asked
        self._config = replace(self._config, shown=shown, without=without)
        if self._ahead is not None:
            self._ahead, self._expected = None, ()
            self._config = replace(self._config, lasting={})
            self._sharing = Sharing(self._implementation, self.rules, self._config)
        return self._measured(self._named(name))

    def _ran_ahead(self, check: Check) -> CheckResult | None:
        """Return what came of a check that ran beside others, if it ran so and that says enough.

        What is unusual is tried once more alone, and so are failures until one came of the class, by their scripts where these
        show them; if any came of the others, all are, and where that goes on, no check runs beside another any more.
        """
        if self._ahead is None and self._expected and self._spent > QUICK and self._jobs > 1:
            left = [name for name in self._expected if name not in self._results]
            if len(left) <= FEW:
                self._expected = ()
                return None
            begins = self._in_turn(left)
            timeout = 2 * SILENCE + 6 * self._config.time_limit
            idle = {name for name in left if self._named(name).crawls}
            self._ahead = Ahead(self._beside, begins, self._known, self._jobs, timeout, idle, _stands)
        if self._ahead is None:
            return None
        alone: CheckResult | None = None
        with suppress(HostEnded, IsolatedError, LoadError):
            result = self._ahead.result(check.name)
            odd = result is None or result.slow or result.trouble or result.internal_error
            if result and not odd and (not result.failed or (self._confirmed and not self._differed)):
                return result
            if not self._waits:  # where they do, the others disturb nobody, and need not wait for this one
                self._ahead.rest(lambda name: self._known(name, result))
            if result and not odd and fails_again(result, self._config):
                alone = result
            else:
                alone = self._ahead.again(check.name) if self._waits else self._measured(check)
            if result and alone and {one.rule for one in result.failed} == {one.rule for one in alone.failed}:
                self._confirmed |= bool(alone.failed)
            else:
                self._differed += 1
            if self._differed < DIFFERENT:
                return alone
        self._ahead.stop()
        self._ahead, self._expected = None, ()
        return alone

    def _measured(self, check: Check) -> CheckResult:
        """Run a check by each contract that asks for it."""
        start = time.perf_counter()
        result = CheckResult(check.name, ())
        if self._asks_more(check):
            measured = replace(self._implementation, profile=self.discovery.also or self.discovery.profile)
            result = self._alone(check, measured, self._second)
            observations = tuple(one for one in result.observations if one.rule in self.rules)
            result = replace(result, observations=observations, second=result.observations)
        elif self.rules.keys() & set(check.rules):
            result = self._run(check)
        if self.discovery.also and self._differs(check) and not result.second:
            measured = replace(self._implementation, profile=self.discovery.also)
            second = self._alone(check, measured, self._second)
            fatal, trouble = result.fatal or second.fatal, result.trouble or second.trouble
            result = replace(result, second=second.observations, fatal=fatal, trouble=trouble)
            if second.internal_error and not result.internal_error:
                result = replace(result, internal_error=second.internal_error, traceback=second.traceback)
        return replace(result, seconds=time.perf_counter() - start)

    def _raised(self, result: CheckResult) -> frozenset[str]:
        """Return what the class raised where, in what failed MUST rules."""
        failed = [o.violation for o in result.failed if o.violation and self.rules[o.rule].level is Level.MUST]
        return frozenset(one.raised_at for violation in failed for one in violation.findings if one.raised_at)

    def _refused(self) -> str:
        """Return a line on what the class must not touch, and tried to, or ``""``: then no check says anything of it."""
        guard = self._config.guard
        return guard.refused(self.discovery.path, self.discovery.settings) if guard else ""

    def _run(self, check: Check) -> CheckResult:
        config = self._config
        # Some may have come after the shared process began; and what is slow takes longer to run again than a process to begin.
        slow = self._waits or Budget(self._implementation.cost).short
        alone = config.in_process or config.factory or config.prepare or config.without or slow
        shared = None if alone else self._sharing.run(check)
        return shared if isinstance(shared, CheckResult) else self._alone(check, self._implementation, self.rules, shared)

    def _alone(
        self, check: Check, implementation: Implementation, rules: Mapping[str, Rule], before: Abort | None = None
    ) -> CheckResult:
        if process.AVAILABLE or self._config.in_process:
            began, idle = time.perf_counter(), IdleTime()
            result = execute(check, implementation, rules, self._config, before)
            self._waited += time.perf_counter() - began if idle.prevails else 0.0
            return result
        return execute_in_spawned(check, implementation, rules, self._config)


def _stands(result: CheckResult | None, before: _Known, now: _Known) -> bool:
    """Whether what came of a check stands where more is known by now: what the class raised elsewhere explains failures alone."""
    told = (*result.observations, *(result.second or ())) if result else ()
    failed = any(observation.outcome is Outcome.FAILED for observation in told)
    shown = before[0] if failed else replace(before[0], raised=now[0].raised)
    return (shown, before[1]) == now
