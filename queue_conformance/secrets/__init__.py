"""Hides the secrets in the settings of an implementation from reports, and from what pytest prints.

A secret is looked for by its value, in every form, where text leaves the kit: in the result of a check, in a report, in what
pytest prints. One that is a word of what the kit says anyway, such as ``redis``, ``1`` or ``password``, is hidden only where
it stands as the value of its setting.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from queue_conformance.secrets.values import (
    MADE,
    SLASH,
    cut_off,
    encoded,
    is_ordinary,
    is_part,
    is_secret,
    pairs_of,
    secrets_in,
    structure,
    user_infos,
    whole,
    written,
)
from queue_conformance.specification.settings import PLACES, source_of_setting

if TYPE_CHECKING:
    from queue_conformance.engine.outcomes import CheckResult, Observation, Violation
    from queue_conformance.engine.verdicts import RuleVerdict

HIDDEN = "***"
"""What stands for a secret."""

_IN_URL = re.compile(r"(?<=://)([^\s/?#'\"<>\\:@]*)(:?)([^\s/?#'\"<>\\]*)@(?!example\.)")
_IN_QUERY = re.compile(r"([?&])([\w.-]+)=([^&;\s\"'\\<>]+)")
_NEEDED = re.compile(r'os\.environ\["([^"\n]+)"\]')


class Secrets:
    """The secrets in some settings: values whose names say so, and user information in URLs.

    Args:
        settings: values by name, of one implementation or several.
        said: what reports show in any case, such as the path of the class.
    """

    def __init__(self, *settings: Mapping[str, Any], said: str = "") -> None:
        both = [(name, value) for one in settings for name, value in one.items()]
        told = "\n".join([said, *(name for name, _ in both)])
        found: dict[str, int] = {}  # how long what a pattern stands for is
        self._sources = []
        for name, value in both:
            secrets = dict.fromkeys(secrets_in(name, value))
            self._sources += [_sources(name, value)] if secrets else []
            for secret in secrets:
                pattern = written(secret)
                if is_ordinary(secret, told):
                    found |= {_in_place(one, pattern): len(secret) for one in _names(name, value)}
                    continue
                found |= {re.escape(one): len(one) for one in encoded(secret)}
                if is_part(secret, told):
                    found[whole(pattern, secret)] = len(secret)
                else:
                    found |= {pattern: len(secret), cut_off(secret): 0}
        self._patterns = [re.compile(pattern) for pattern in sorted(found, key=lambda one: found[one], reverse=True)]

    def __bool__(self) -> bool:
        return bool(self._sources)

    def settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return settings without secrets; of values that JSON does not know, their text."""
        return {name: self._value(name, value) for name, value in settings.items()}

    def _value(self, name: str, value: Any) -> Any:
        if is_secret(name) and any(secrets_in(name, value)):
            return HIDDEN
        if isinstance(value, Mapping):
            return self.settings({str(key): one for key, one in value.items()})
        if isinstance(value, (list, tuple)):
            return [self._value(key, one) for key, one in pairs_of(name, value)]
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, (int, float)):
            return HIDDEN if self.values(str(value)) != str(value) else value
        text = value if isinstance(value, str) else repr(value)
        if (inner := structure(text)) is not None and any(secrets_in(name, text)):
            return self.text(json.dumps(self._value(name, inner), ensure_ascii=False))
        for user in user_infos(text):
            text = text.replace(f"{user}@", f"{user.partition(':')[0]}:{HIDDEN}@" if ":" in user else f"{HIDDEN}@")
        return self.text(text)

    def values(self, text: str) -> str:
        """Return a text without the values that are secret."""
        for pattern in self._patterns:
            text = pattern.sub(_hidden, text)
        return text

    def text(self, text: str) -> str:
        """Return a text without secrets, nor what looks like one in a URL; those of examples hold none."""
        return _IN_QUERY.sub(_without_secret, _IN_URL.sub(_without_user, self.values(text)))

    def script(self, text: str) -> str:
        """Return a script that reads each setting with a secret from the environment, under its own name."""
        script = self.text(self._read(text))
        return _importing(script) if needed(script) else script

    def _read(self, text: str) -> str:
        for pattern, source in self._sources:
            text = pattern.sub(lambda match, source=source: match[1] + source, text)  # type: ignore[misc]
        return text

    def result(self, result: CheckResult) -> CheckResult:
        """Return the result of a check, without secrets."""
        return replace(
            result,
            observations=tuple(map(self._observation, result.observations)),
            notes=tuple(map(self.text, result.notes)),
            internal_error=self.text(result.internal_error),
            traceback=self.text(result.traceback),
            trouble=self.text(result.trouble),
            second=None if result.second is None else tuple(map(self._observation, result.second)),
        )

    def _observation(self, found: Observation) -> Observation:
        return replace(found, reason=self.text(found.reason), violation=found.violation and self.violation(found.violation))

    def verdict(self, verdict: RuleVerdict) -> RuleVerdict:
        """Return a verdict whose evidence holds no secrets."""
        violation = verdict.violation
        return replace(verdict, reason=self.text(verdict.reason), violation=violation and self.violation(violation))

    def violation(self, violation: Violation) -> Violation:
        """Return evidence without secrets."""
        return replace(
            violation,
            expected=self.text(violation.expected),
            actual=self.text(violation.actual),
            operations=tuple(self.text(self._read(line)) for line in violation.operations),
            script=self.script(violation.script),
            stacks=self.text(violation.stacks),
            cause=self.text(violation.cause),
            way=self.text(violation.way),
            others=tuple(map(self.violation, violation.others)),
        )


def needed(script: str) -> list[str]:
    """Return the names of the variables of the environment from which a script reads settings with secrets."""
    return list(dict.fromkeys(_NEEDED.findall(script)))


# --- Places ----------------------------------------------------------------------------------------------------------


def _names(name: str, value: object) -> set[str]:
    """Return the names under which secrets stand in a setting."""
    value = structure(value) if isinstance(value, str) and structure(value) is not None else value
    names = {name}
    if isinstance(value, (Mapping, list, tuple)):
        for key, one in pairs_of(name, value):
            names |= _names(key, one)
    return {one for one in names if is_secret(one)} or {name}


def _hidden(match: re.Match[str]) -> str:
    return f"{match[1] or ''}{HIDDEN}" if match.re.groups else HIDDEN


def _in_place(name: str, pattern: str) -> str:
    """Return a pattern of a value that stands after the name of its setting, and of one before the host of a URL."""
    quotes, space = rf"(?:{SLASH}*(?:[\"']|%2[27]))?", r"(?:\s|\+|%20)*"
    after = rf"((?<![^\W_]){written(name)}{quotes}{space}(?:[:=]|%3[AaDd]){space}b?{quotes})"
    return rf"(?<=://){pattern}(?=@)|{after}{pattern}(?![^\W_])"


def _sources(name: str, value: object) -> tuple[re.Pattern[str], str]:
    """Return a pattern of a setting as scripts write it, and what they read it by instead."""
    pattern = rf"((?<![\w.])[\"']?{re.escape(name)}[\"']?(?:: |=)){re.escape(source_of_setting(value))}(?![\w.\"'])"
    key = json.dumps(name, ensure_ascii=False)
    source = f"os.environ[{key}]"
    if not isinstance(value, str):
        return re.compile(pattern), f"ast.literal_eval({source})"
    for place in PLACES:
        attribute = "str(backend.port)" if place == "port" else f"backend.{place}"
        source += f'.replace("{{{place}}}", {attribute})' if f"{{{place}}}" in value else ""
    return re.compile(pattern), source


def _importing(script: str) -> str:
    """Return a script that imports what it reads settings by."""
    lines = script.split("\n")
    first = next((number for number, line in enumerate(lines) if re.match(r"(?:import|from) (?!__future__)", line)), 0)
    for name in ("ast", "os"):
        wanted = f"import {name}"
        if re.search(rf"\b{name}\.\w", script) and wanted not in lines:
            after = (n for n, line in enumerate(lines) if n >= first and not ("import " <= line < wanted))
            lines.insert(next(after), wanted)
    return "\n".join(lines)


def _without_user(match: re.Match[str]) -> str:
    user, colon, password = match.groups()
    if password in _MADE:
        return match[0]
    if colon:
        return f"{user}:{HIDDEN}@" if password else match[0]
    return f"{HIDDEN}@" if user else match[0]


def _without_secret(match: re.Match[str]) -> str:
    return f"{match[1]}{match[2]}={HIDDEN}" if is_secret(match[2]) and match[3] not in ("None", *_MADE) else match[0]


_MADE = (MADE, "{backend.password}")
"""What stands for a password of the kit's own, in settings and in scripts."""
