"""All checks of one implementation, run one at a time."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace

from queue_conformance.specification.applicability import why_not_applicable
from queue_conformance.suites import Check, checks_of
from queue_conformance.suites.execution import Conditions, blocked, execute
from queue_conformance.suites.outcomes import CheckResult
from queue_conformance.suites.preflight import claims_of, preflight_of
from queue_conformance.suites.survey import Survey

FATALITIES = 3
"""Hangs, exits and crashes after which the other checks of an implementation are not tried any more."""


class Examination:
    """The checks of one implementation.

    Args:
        survey: what is known of it.
        conditions: how the checks are run.
        releases: the installed releases of libraries.

    Attributes:
        rules: the rules that its checks may speak of, by id.
        checks: the checks to run, in order; those of the survey itself come first, and only those if it is unusable.
    """

    def __init__(self, survey: Survey, conditions: Conditions, releases: Mapping[str, str]) -> None:
        self._conditions = conditions
        self._results = {result.check: result for result in survey.preflight}
        self._fatal: list[str] = []
        self.rules = survey.rules()
        first = (preflight_of(survey.kind), claims_of(survey.kind))
        self.checks: list[Check] = [check for check in first if check.name in self._results]
        if survey.usable:
            self._implementation = survey.implementation()
            offered = self._implementation.capabilities.names
            self.rules = {name: rule for name, rule in self.rules.items() if not why_not_applicable(rule, offered, releases)}
            self.checks += [check for check in checks_of(survey.kind) if self.rules.keys() & set(check.rules)]

    def run(self, check: Check) -> CheckResult:
        """Run a check; once.

        Raises:
            IsolatedError: if the check itself has an error.
        """
        if check.name not in self._results:
            if len(self._fatal) >= FATALITIES:
                by = f"{FATALITIES} checks that hung or died: {', '.join(self._fatal)}"
                return CheckResult(check.name, tuple(blocked(name, check, [by]) for name in check.rules if name in self.rules))
            start = time.perf_counter()
            result = execute(check, self._implementation, self.rules, self._conditions)
            result = replace(result, seconds=time.perf_counter() - start)
            if result.fatal:
                self._fatal.append(check.name)
                self._conditions = self._conditions.impatient()
            self._results[check.name] = result
        return self._results[check.name]
