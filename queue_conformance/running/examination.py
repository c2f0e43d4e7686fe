"""All checks of one implementation, run one at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from queue_conformance.engine import process
from queue_conformance.engine.outcomes import CheckResult
from queue_conformance.engine.registry import Check, checks_of
from queue_conformance.running.execution import Conditions, blocked, execute
from queue_conformance.running.preflight import claims_of, preflight_of
from queue_conformance.running.spawning import execute_in_spawned
from queue_conformance.running.survey import Survey
from queue_conformance.secrets import Secrets
from queue_conformance.specification import Level, Rule
from queue_conformance.specification.applicability import why_not_applicable
from queue_conformance.specification.kinds import Kind, Profile

FATALITIES = 3
"""Hangs, exits and crashes that break a MUST rule, after which the other checks of an implementation are not tried any more."""


_OTHERWISE = ("queue.push.serialization-error", "queue.push.serialization-all-causes", "queue.push.callback-foreign")
"""Checks that two contracts judge otherwise: one of them knows an error of its own, the other one ``ValueError`` alone."""


def first_of(kind: Kind) -> tuple[Check, Check]:
    """Return what the survey of a kind examines."""
    return preflight_of(kind), claims_of(kind)


def all_checks_of(kind: Kind) -> list[Check]:
    """Return every check of a kind, in the order in which they are run."""
    return [*first_of(kind), *checks_of(kind)]


class Examination:
    """The checks of one implementation.

    Args:
        survey: what is known of it.
        conditions: how the checks are run.
        releases: the installed releases of libraries.
        cls: the class, or ``None`` to import it.

    Attributes:
        survey: what is known of the implementation.
        rules: the rules that its checks may speak of, by id.
        checks: the checks to run, in order; those of the survey itself come first, and only those if it is unusable.
    """

    def __init__(self, survey: Survey, conditions: Conditions, releases: Mapping[str, str], cls: type[Any] | None = None) -> None:
        self.survey = survey
        self._conditions = conditions
        self._releases = releases
        self._secrets = Secrets(survey.settings, said=survey.path)
        self._results = {result.check: self._secrets.result(result) for result in survey.preflight}
        self._fatal: list[str] = []
        self.rules = survey.rules()
        self.checks: list[Check] = [check for check in first_of(survey.kind) if check.name in self._results]
        self._second: dict[str, Rule] = {}
        if survey.usable:
            self._implementation = survey.implementation(cls)
            self.rules = self._applicable(survey.profile)
            if survey.also:
                self._second = self._applicable(survey.also)
            asked = self.rules.keys() | self._second.keys()
            self.checks += [check for check in checks_of(survey.kind) if asked & set(check.rules)]

    def _applicable(self, profile: Profile) -> dict[str, Rule]:
        offered = self._implementation.capabilities.names
        asked = self.survey.rules(profile)
        return {name: rule for name, rule in asked.items() if not why_not_applicable(rule, offered, self._releases)}

    def why_not(self, check: Check) -> str:
        """Tell why a check of the kind is not among those to run, or return ``""``."""
        if any(check.name == known.name for known in self.checks):
            return ""
        if self.survey.unusable:
            return self.survey.unusable
        asked = self.survey.rules()
        offered = self._implementation.capabilities.names
        reasons = (why_not_applicable(asked[name], offered, self._releases) for name in check.rules if name in asked)
        return "; ".join(dict.fromkeys(reasons)) or f"nothing that the profile {self.survey.profile} asks for"

    def _differs(self, check: Check) -> bool:
        """Whether the second contract asks a check for more than the first one, or for something else."""
        asked = self._second.keys() & set(check.rules)
        return bool(asked - self.rules.keys()) or (check.name in asked and check.name in _OTHERWISE)

    def open_by(self, opener: Callable[..., Any] | None) -> None:
        """Build queues by this function of the author's from now on: what it uses may not outlive the test that made it."""
        self._conditions = replace(self._conditions, opener=opener)

    def prepare_by(self, prepare: Callable[[Any], object] | None) -> None:
        """Prepare spiders by this function of the author's from now on."""
        self._conditions = replace(self._conditions, prepare=prepare)

    def run(self, check: Check) -> CheckResult:
        """Run a check; once. What comes of it holds no secrets of the settings."""
        if check.name not in self._results:
            if len(self._fatal) >= FATALITIES:
                by = f"{FATALITIES} checks that hung or died: {', '.join(self._fatal)}"
                return CheckResult(check.name, tuple(blocked(name, check, [by]) for name in check.rules if name in self.rules))
            run = execute if process.AVAILABLE or self._conditions.in_process else execute_in_spawned
            start = time.perf_counter()
            result = CheckResult(check.name, ())
            if self.rules.keys() & set(check.rules):
                result = run(check, self._implementation, self.rules, self._conditions)
            if self.survey.also and self._differs(check):
                measured = replace(self._implementation, profile=self.survey.also)
                second = run(check, measured, self._second, self._conditions)
                result = replace(result, second=second.observations, fatal=result.fatal or second.fatal)
                if second.mistake and not result.mistake:
                    result = replace(result, mistake=second.mistake, traceback=second.traceback)
            result = replace(result, seconds=time.perf_counter() - start)
            if result.fatal and any(self.rules[o.rule].level is Level.MUST for o in result.broken):
                self._fatal.append(check.name)
            self._results[check.name] = self._secrets.result(result)
        return self._results[check.name]
