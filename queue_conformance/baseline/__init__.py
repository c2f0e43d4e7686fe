"""The baseline: a file of the findings that an author knows, each with a reason, and of what implementations offer.

A finding is a rule that fails, how (the operation that fails, and the exception or the kind of difference), and what it
takes: the case of a check, or what the shortest sequence of operations consists of. What is in the file does not fail a run;
what is in it and not so any more does, unless the file is of another release of the kit, or of another form. See
:mod:`queue_conformance.baseline.comparison` for what becomes of its entries, and :mod:`queue_conformance.baseline.writing` for
how the kit keeps it.
"""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from queue_conformance import __version__
from queue_conformance.baseline.values import READERS, a_number, a_text, some_text, some_texts
from queue_conformance.engine.difference import ANOTHER
from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.recording import describe
from queue_conformance.engine.sequences import Commands, Known
from queue_conformance.engine.ways import BY_CHANCE, covers, explains, is_plainer, raise_alike
from queue_conformance.processes.files import text_of
from queue_conformance.reports.reading import visible
from queue_conformance.specification import load
from queue_conformance.specification.suggestion import did_you_mean
from queue_conformance.specification.words import shortened

PLACEHOLDER = "TODO: say why this is acceptable"
"""The reason that the kit writes; the author must replace it."""

FORM = 7
"""The form in which findings are told. Whoever changes their causes or ways adds one, so that no file of before fails a run."""

OF_AUTHORS = ("reason", "issue", "expires", "versions")
"""The keys of an entry that are its author's."""

OF_FINDINGS = ("rule", "cause", "ways", "sequence", "seed", "examples")
"""The keys of each further finding of an entry."""

LINE = 1000
"""Characters of a message at most: what it quotes may be of any length."""


class BaselineError(ValueError):
    """A baseline cannot be read or written; the message is one line that names the file and the entry."""

    def __init__(self, message: str) -> None:
        super().__init__(visible(message).replace("\n", "\\n"))  # names are whatever the file says


@dataclass(frozen=True, slots=True)
class Entry:
    """One finding that is known.

    Attributes:
        implementation: its name, as reports have it.
        rule: the id of the rule.
        reason: why that is acceptable.
        cause: the operation that fails, and how; ``""`` stands for all ways in which the rule failed.
        ways: what it takes, one text for each case or sequence; none stands for all with this cause.
        issue: where it is tracked, or ``""``.
        expires: the first day on which it is not acceptable any more, or ``None``.
        versions: conditions on installed releases, such as ``scrapy<2.20``, all of which must hold.
        expected: what the rule asks for.
        actual: what happens instead.
        operations: the shortest operations that show it.
        sequence: the sequence of a machine that shows it, which is run in every run, or ``None``.
        seed: what seeded the run that showed it; where there is no sequence, only a run like it tells that it is fixed.
        examples: how many examples that run drew.
        also: further findings of the same mistake, for the same reason.
    """

    implementation: str
    rule: str
    reason: str
    cause: str = ""
    ways: tuple[str, ...] = ()
    issue: str = ""
    expires: date | None = None
    versions: tuple[str, ...] = ()
    expected: str = ""
    actual: str = ""
    operations: tuple[str, ...] = ()
    sequence: Commands | None = None
    seed: int = 0
    examples: int = 100
    also: tuple[Entry, ...] = ()

    @property
    def findings(self) -> tuple[Entry, ...]:
        """All that it is about, one finding each."""
        return self, *self.also

    @property
    def finding(self) -> str:
        """What it is about, as messages have it."""
        return f"{self.rule} of {self.implementation}{self.cause and f' ({self.cause})'}"

    def is_seen_in(self, violation: Violation) -> bool:
        """Whether one of the findings of a rule is exactly this one, or explains it, so that nothing says that it is mended."""
        return any(map(self.covers, violation.findings)) if self.is_any else bool(self.ways_in(violation))

    def ways_in(self, violation: Violation) -> set[str]:
        """Return those of its ways that the findings of a rule have; a sequence that one of them explains fails as well."""
        alike = [found for found in violation.findings if self.covers(found)]
        sequences = [found.way for found in alike if self.sequence and found.sequence]
        shown = {way for way in self.ways for found in alike if covers(way, found.way)}
        return shown | {way for way in self.ways if any(explains(one, way) for one in sequences)}

    @property
    def is_any(self) -> bool:
        """Whether it is about all that has its cause, whatever that takes."""
        return not self.ways or BY_CHANCE in self.ways

    def has(self, way: str) -> bool:
        """Whether one of its ways is this one, or stands for it."""
        return any(covers(known, way) for known in self.ways)

    def accepts(self, violation: Violation) -> bool:
        """Whether it is about a violation of its implementation, others of the same rule aside.

        A sequence that has all that its own one consists of may show the same; what fails by chance may show anywhere.
        """
        alike = self.is_any or self.has(violation.way) or self.explains(violation) or self._raises_in(violation)
        return self.covers(violation) and alike

    def explains(self, violation: Violation) -> bool:
        """Whether a violation may be this one although it has another rule: to which one a sequence belongs is concluded.

        It does so if its sequence fails alike, and has all that this one consists of.
        """
        alike = self.sequence and violation.sequence and self.cause == violation.cause
        return bool(alike) and any(explains(way, violation.way) for way in self.ways)

    def covers(self, violation: Violation) -> bool:
        """Whether it is about the rule and the cause of a violation, whatever that takes."""
        return self.rule == violation.rule and (self.cause in ("", violation.cause) or self._raises_in(violation))

    def _raises_in(self, violation: Violation) -> bool:
        """Whether a violation has its sequence, with other items if need be, and raises something, too."""
        plainer = self.sequence and violation.sequence and any(is_plainer(way, violation.way) for way in self.ways)
        return bool(plainer) and raise_alike(self.cause, violation.cause)

    def resembles(self, violation: Violation) -> bool:
        """Whether another release of the kit may have written it of a violation: both raise the same, or neither raises."""
        raised = self.cause.partition(" raised ")[2]
        return self.rule == violation.rule and (not self.cause or raised == violation.cause.partition(" raised ")[2])

    @property
    def explanation(self) -> str:
        """The reason, and where it is tracked."""
        return f"{self.reason} ({self.issue})" if self.issue else self.reason

    def unmet(self) -> str:
        """Return why its condition on installed releases does not hold, or ``""``."""
        for text in self.versions:
            condition = Requirement(text)
            try:
                installed = importlib.metadata.version(condition.name)
            except importlib.metadata.PackageNotFoundError:
                return f"only for {text}, and {condition.name} is not installed"
            if not condition.specifier.contains(installed, prereleases=True):
                return f"only for {text}, and {condition.name} {installed} is installed"
        return ""

    def expired(self, today: date) -> bool:
        """Whether it is not acceptable any more."""
        return self.expires is not None and today >= self.expires


@dataclass(frozen=True, slots=True)
class Baseline:
    """What is known.

    Attributes:
        name: what messages call the file.
        known: what is known, in the order of the file.
        today: the day on which the run takes place.
        offered: the names of the capabilities that were found, by the name of the implementation.
        kit: the release of the kit that has written it, or ``""``.
        form: the form in which it tells findings.
    """

    name: str
    known: tuple[Entry, ...] = ()
    today: date = field(default_factory=date.today)
    offered: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kit: str = ""
    form: int = 1

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The findings that are known, in the order of the file."""
        return tuple(finding for entry in self.known for finding in entry.findings)

    @property
    def is_current(self) -> bool:
        """Whether this release of the kit has written it; another one may know other rules, and tell findings apart otherwise."""
        return (self.kit, self.form) == (__version__, FORM)

    @property
    def release(self) -> str:
        """What messages call the release of the kit that has written it."""
        return f"release {self.kit} of the kit" if self.kit not in ("", __version__) else "an earlier release of the kit"

    def of(self, implementation: str) -> list[Entry]:
        """Return the entries of an implementation."""
        return [entry for entry in self.entries if entry.implementation == implementation]

    def sequences(self, implementation: str) -> Known:
        """Return the sequences that are known to fail, in force or not, and by which rules and causes."""
        found: dict[Commands, dict[str, list[str]]] = {}
        for entry in self.of(implementation):
            if entry.sequence:
                found.setdefault(entry.sequence, {}).setdefault(entry.cause, []).append(entry.rule)
        return found

    def accepting(self, implementation: str, violation: Violation) -> list[Entry]:
        """Return the entries that are about one violation, whether they are in force or not, those that say so best first."""
        entries = self.of(implementation)
        found = [entry for entry in entries if entry.accepts(violation)]
        found += [entry for entry in entries if entry.explains(violation) and _as_binding(entry.rule, violation.rule)]
        if found or self.is_current:
            return found
        operation = re.split(": | raised ", violation.cause)[0]
        alike = [entry for entry in entries if entry.resembles(violation)]
        return sorted(alike, key=lambda entry: entry.cause != f"{operation}: {ANOTHER}")  # which is told apart further now

    def why_known(self, implementation: str, violation: Violation) -> str:
        """Return the reasons of a violation and of the others of its rule, or ``""`` if one of them has no entry in force."""
        reasons = []
        for finding in violation.findings:
            entries = self.accepting(implementation, finding)
            reasons.append(next((e.explanation for e in entries if not e.unmet() and not e.expired(self.today)), ""))
        return "; ".join(dict.fromkeys(reasons)) if all(reasons) else ""


def _as_binding(rule: str, other: str) -> bool:
    """Whether a rule is known and has the level of another one."""
    return all(name in load() for name in (rule, other)) and load()[rule].level is load()[other].level


def read(path: Path, name: str, *, missing_ok: bool = False) -> Baseline:
    """Read a baseline.

    Args:
        name: what messages call it.
        missing_ok: whether a file that does not exist is an empty one.

    Raises:
        BaselineError: if it cannot be read, or is not a baseline.
    """
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise BaselineError(f"{name} is no file")
        return parse(text_of(path), name)
    except FileNotFoundError:
        if missing_ok:
            return Baseline(name)
        raise BaselineError(f"there is no file {name}; --conformance-update-baseline writes it") from None
    except BaselineError as error:
        raise BaselineError(shortened(str(error), LINE)) from error
    except (OSError, ValueError) as error:
        raise BaselineError(f"{name}: {getattr(error, 'strerror', None) or error}") from error


def parse(text: str, name: str) -> Baseline:
    """Return the baseline that a text holds.

    Args:
        text: TOML, one table ``[[known]]`` for each entry, and one ``[[offered]]`` for each implementation.
        name: what messages call the file.

    Raises:
        BaselineError: if it is not a baseline.
    """
    try:
        table = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise BaselineError(f"{name}: {error}") from error
    if unknown := [key for key in table if key not in ("known", "offered", "kit", "form")]:
        raise BaselineError(f"{name}: {unknown[0]!r} is not known at the top; write a table [[known]] for each entry")
    tables = table.get("known", [])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise BaselineError(f"{name}: write a table [[known]] for each entry")
    known: list[Entry] = []
    numbers: dict[object, int] = {}
    for number, one in enumerate(tables, 1):
        known.append(_entry(one, f"{name}, entry {number}"))
        for found in known[-1].findings:
            said = found.finding, found.ways, found.versions
            if other := numbers.get(said):
                raise BaselineError(f"{name}, entry {number} ({found.finding}): entry {other} says the same; remove one of them")
            numbers[said] = number
    top: dict[str, Any] = {}
    for key, reader in {"kit": a_text, "form": a_number}.items():
        try:
            top |= {key: reader(table[key])} if key in table else {}
        except ValueError as error:
            raise BaselineError(f"{name}: {key}: {error}") from error
    return Baseline(name, tuple(known), offered=_offered(table.get("offered", []), name), **top)


def _offered(tables: object, name: str) -> dict[str, tuple[str, ...]]:
    offered: dict[str, tuple[str, ...]] = {}
    for one in tables if isinstance(tables, list) else [None]:
        if not isinstance(one, dict) or one.keys() != {"implementation", "capabilities"}:
            raise BaselineError(f"{name}: a table [[offered]] has the keys implementation and capabilities, and no other")
        try:
            implementation, found = some_text(one["implementation"]), some_texts(one["capabilities"])
        except ValueError as error:
            raise BaselineError(f"{name}: a table [[offered]]: {error}") from error
        if implementation in offered:
            raise BaselineError(f"{name}: two tables [[offered]] are of {implementation}; remove one of them")
        offered[implementation] = found
    return offered


def _entry(table: Mapping[str, Any], where: str) -> Entry:
    if isinstance(table.get("rule"), str) and isinstance(table.get("implementation"), str):
        where += f" ({table['rule']} of {table['implementation']})"
    if missing := [key for key in ("implementation", "rule", "reason") if key not in table]:
        raise BaselineError(f"{where}: lacks {' and '.join(missing)}")
    values = _values(table, READERS, where)
    further = [_values(one, OF_FINDINGS, f"{where}, also") for one in values.pop("also", ())]
    shared = {key: value for key, value in values.items() if key in ("implementation", *OF_AUTHORS)}
    return Entry(**values, also=tuple(Entry(**shared, **one) for one in further))


def _values(table: Mapping[str, Any], known: Iterable[str], where: str) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise BaselineError(f"{where}: unknown key {key!r}{did_you_mean(key, known)}")
        try:
            values[key] = READERS[key](value)
        except ValueError as error:
            raise BaselineError(f"{where}: {key}: {error}, not {describe(value)}") from error
    return values
