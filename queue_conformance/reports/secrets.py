"""What a report must not tell of the settings of an implementation."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from queue_conformance.suites.outcomes import Violation
from queue_conformance.verdicts import RuleVerdict

HIDDEN = "***"
"""What stands for a secret."""

SHORTEST = 4
"""Characters that a secret has at least to be looked for in texts; a shorter one would hide half of them."""

_NAMES = re.compile(r"pass(word|wd|phrase)?$|pwd|secret|token|credential|(api|access|private)_?key|auth$|dsn$", re.IGNORECASE)
_IN_URL = re.compile(r"(?<=://)([^/\s:@]*):[^/\s@]*@")
_IN_QUERY = re.compile(r"(?i)\b(password|passwd|pwd|secret|token|api_?key)=(?!None\b)[^&;\s\"']+")


class Secrets:
    """The secrets in some settings: values whose names say so, and passwords in URLs.

    Args:
        settings: values by name.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._values = sorted({str(value) for name, value in settings.items() if _NAMES.search(name)}, key=len, reverse=True)
        self._values = [value for value in self._values if len(value) >= SHORTEST]

    def settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings without secrets; of values that JSON does not know, their text."""
        return {name: HIDDEN if _NAMES.search(name) else self._value(value) for name, value in settings.items()}

    def _value(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return self.settings({str(name): one for name, one in value.items()})
        if isinstance(value, (list, tuple)):
            return [self._value(one) for one in value]
        if value is None or isinstance(value, (bool, int, float)):
            return value
        return self.text(value if isinstance(value, str) else repr(value))

    def text(self, text: str) -> str:
        """Return a text without secrets."""
        for value in self._values:
            text = text.replace(value, HIDDEN)
        return _IN_QUERY.sub(rf"\1={HIDDEN}", _IN_URL.sub(rf"\1:{HIDDEN}@", text))

    def verdict(self, verdict: RuleVerdict) -> RuleVerdict:
        """Return a verdict whose evidence holds no secrets."""
        violation = verdict.violation
        if violation is None:
            return replace(verdict, reason=self.text(verdict.reason))
        return replace(verdict, violation=self.violation(violation))

    def violation(self, violation: Violation) -> Violation:
        """Return evidence without secrets."""
        return replace(
            violation,
            expected=self.text(violation.expected),
            actual=self.text(violation.actual),
            operations=tuple(map(self.text, violation.operations)),
            script=self.text(violation.script),
            others=tuple(map(self.violation, violation.others)),
        )
