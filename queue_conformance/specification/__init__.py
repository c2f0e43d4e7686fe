"""The rules, as data: one TOML file in the folder of each kind, read and validated here.

A rule is one normative sentence with a stable id. Nothing in this package tests anything; the suites refer to rules
by id, and a report quotes their sentences.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any

from packaging.version import Version

from queue_conformance import __version__
from queue_conformance.specification.grounds import OLDEST, Basis, mistake_in
from queue_conformance.specification.kinds import all_kinds, all_profiles, kind_named, profile_named, profiles_of
from queue_conformance.specification.words import CAPABILITIES


class Level(StrEnum):
    """How binding a rule is (RFC 2119)."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class SpecificationError(ValueError):
    """A rule in a TOML file is not well-formed; the message names the rule and the field."""


class Hint(str):
    """Where to look when a rule failed.

    Attributes:
        when: a regular expression that is found in the evidence which this fits; ``""`` is for what fits no other hint.
    """

    when: str

    def __new__(cls, text: str, when: str = "") -> Hint:
        """Make a hint."""
        made = super().__new__(cls, text)
        made.when = when
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.when


def fitting(hints: Iterable[str], evidence: str) -> tuple[str, ...]:
    """Return the hints that fit what was seen: those whose condition it meets, or else those without one."""
    conditions = [(hint, hint.when if isinstance(hint, Hint) else "") for hint in hints]
    met = tuple(hint for hint, when in conditions if when and re.search(when, evidence))
    return met or tuple(hint for hint, when in conditions if not when)


@dataclass(frozen=True, slots=True)
class Rule:
    """One normative sentence.

    Attributes:
        id: stable name, such as ``queue.pop.empty-none``.
        level: how binding it is.
        sentence: the rule itself, one sentence of Markdown.
        source: where it comes from.
        profiles: the contracts that it belongs to.
        kinds: the kinds of implementation that it is asked of.
        needs: capabilities without which it does not apply.
        unless: capabilities with which it does not apply.
        since: for a library, the first release that promises it.
        hints: where to look when it fails.
        untestable: why nothing can test it, or ``None``.
        untested: why this version does not test it, or ``None``.
        why: what goes wrong in a crawl when it fails, one sentence; for an untestable rule, why it is there at all.
        how: how the kit tests it, one or two sentences; ``""`` if it does not.
        provisional: the minor release of the kit in which it is new, or ``""`` once that is past; see :attr:`counts`.
        basis: what makes it a rule; ``None`` if it was read from a report, which does not say.
        quote: the words of its source, at most twelve, if it stands on them.
        harm: what a breach does to an ordinary crawl, if it stands on that.
        derived_from: the ids of the rules that fail without it.
        binds: the classes of which its source speaks; for what is none of them a MUST is a SHOULD. Empty for all classes.
        must_if: capabilities whose claim makes a MUST of it, profiles that do, as ``profile=external-queue``, and capabilities
            that the docstring of the class promises, as ``docstring=by-priority``.
        should_if: as ``must_if``, what makes a SHOULD of a MAY.
        fixed_in: for a library, the release that mended a breach of it; information only.
        debatable: the two readings of its source, or ``""``.
        crawl: what the whole crawl is called in which pages were lost when it fails; ``""`` where none may be told of.
        fault: whether it speaks of a fault, so that what one broke may fail it although it is a MUST.
    """

    id: str
    level: Level
    sentence: str
    source: str
    profiles: frozenset[str]
    kinds: frozenset[str]
    needs: frozenset[str] = frozenset()
    unless: frozenset[str] = frozenset()
    since: Mapping[str, str] = field(default_factory=dict)
    hints: tuple[str, ...] = ()
    untestable: str | None = None
    untested: str | None = None
    why: str = ""
    how: str = ""
    provisional: str = ""
    basis: Basis | None = None
    quote: str = ""
    harm: str = ""
    derived_from: tuple[str, ...] = ()
    binds: frozenset[str] = frozenset()
    must_if: frozenset[str] = frozenset()
    should_if: frozenset[str] = frozenset()
    fixed_in: Mapping[str, str] = field(default_factory=dict)
    debatable: str = ""
    crawl: str = ""
    fault: bool = False

    @property
    def tested(self) -> bool:
        """Whether this version has a check for it."""
        return self.untestable is None and self.untested is None

    @property
    def counts(self) -> bool:
        """Whether it takes part in verdicts; a provisional rule is only reported, so that an upgrade fails nobody's run."""
        return not self.provisional

    @property
    def excludes_faults(self) -> bool:
        """Whether nothing that a fault broke may fail it: a MUST that neither words nor a claim ask in spite of one."""
        return self.level is Level.MUST and not self.fault and self.basis is not Basis.CLAIM

    def gates(self, level: Level) -> bool:
        """Whether a run fails if it fails.

        Args:
            level: the lowest level that the run requires.
        """
        return self.counts and self.asked_at(level)

    def asked_at(self, level: Level) -> bool:
        """Whether a run fails if it fails, once it is not provisional any more.

        Args:
            level: the lowest level that the run requires.
        """
        return self.level in (Level.MUST, level)


Specification = Mapping[str, Rule]
"""The rules by id, in the order of the files."""

_ID = re.compile(r"[a-z][a-z0-9]*(\.[a-z]+(-[a-z]+)*){1,2}")
_REQUIRED = {"id", "level", "sentence", "source", "basis", "why", "kinds"}
_KNOWN = {found.name.replace("_", "-") for found in fields(Rule)}
_SENTENCES = ("sentence", "why", "how", "harm", "debatable")
_MINOR_RELEASE = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)")


@cache
def load() -> Specification:
    """Read and validate every rule.

    Raises:
        SpecificationError: if a rule is not well-formed or an id occurs twice.
    """
    return parse(read_tables())


def read_tables() -> Iterator[Mapping[str, Any]]:
    """Yield the tables of the TOML files, one per rule; one that names no kinds is asked of those whose folder it stands in."""
    for folder in dict.fromkeys(folder for kind in all_kinds() for folder in kind.folders):
        own = [kind for kind in all_kinds() if folder in kind.folders]
        for table in tomllib.loads((files(folder) / "rules.toml").read_text("utf-8")).get("rule", []):
            yield {"kinds": own, **table}


def parse(tables: Iterable[Mapping[str, Any]], kit: str = __version__) -> Specification:
    """Turn the tables of the TOML files into rules.

    Args:
        kit: the release of the kit, which decides what is still provisional.

    Raises:
        SpecificationError: if a rule is not well-formed or an id occurs twice.
    """
    rules: dict[str, Rule] = {}
    for table in tables:
        name = table.get("id", "a rule without an id")
        try:
            rule = _rule(table, kit)
        except ValueError as error:
            raise SpecificationError(f"{name}: {error}") from error
        if rule.id in rules:
            raise SpecificationError(f"{rule.id}: the id occurs twice")
        rules[rule.id] = rule
    return rules


def still_provisional(minor: str, kit: str = __version__) -> bool:
    """Whether rules that are new in a minor release are provisional in a release of the kit: in that one, and before it.

    Args:
        minor: such as ``0.2``.
        kit: the release of the kit.
    """
    return Version(kit).release[:2] <= Version(minor).release[:2]


def _rule(table: Mapping[str, Any], kit: str) -> Rule:
    if missing := sorted(_REQUIRED - table.keys()):
        raise ValueError(f"lacks {', '.join(missing)}")
    if unknown := sorted(table.keys() - _KNOWN):
        raise ValueError(f"unknown fields {', '.join(unknown)}")
    if not _ID.fullmatch(table["id"]):
        raise ValueError("an id is two or three lower-case words, joined by dots")
    for field_name in _SENTENCES:
        if field_name in table and not table[field_name].endswith("."):
            raise ValueError(f"the {field_name} does not end in a full stop")
    if unknown := sorted({*table.get("needs", ()), *table.get("unless", ())} - CAPABILITIES.keys()):
        raise ValueError(f"unknown capabilities {', '.join(unknown)}")
    other = {f"profile={name}" for name in all_profiles()} | {f"docstring={name}" for name in CAPABILITIES}
    for claims in ("must-if", "should-if"):
        if unknown := sorted({*table.get(claims, ())} - CAPABILITIES.keys() - other):
            raise ValueError(f"{claims} names no capability and no profile: {', '.join(unknown)}")
    for gate in ("since", "fixed-in"):
        if unknown := sorted(table.get(gate, {}).keys() - OLDEST.keys()):
            raise ValueError(f"{gate} names unknown libraries {', '.join(unknown)}")
    if "untestable" in table and "untested" in table:
        raise ValueError("untestable and untested exclude each other")
    provisional = table.get("provisional", "")
    if "provisional" in table and not (isinstance(provisional, str) and _MINOR_RELEASE.fullmatch(provisional)):
        raise ValueError(f"provisional is a minor release of the kit, such as '0.2', not {provisional!r}")
    values = {key.replace("-", "_"): _VALUES.get(key, _unchanged)(value) for key, value in table.items()}
    rule = Rule(**{"profiles": frozenset(profiles_of(values["kinds"])), **values})
    if rule.provisional and not still_provisional(rule.provisional, kit):
        rule = replace(rule, provisional="")
    if rule.untestable is None and not rule.hints:
        raise ValueError("lacks hints")
    if rule.tested != bool(rule.how):
        raise ValueError("lacks how" if rule.tested else "is not tested, so there is no how")
    if mistake := mistake_in(rule):
        raise ValueError(mistake)
    return rule


def _hint(given: object) -> Hint:
    """Read a hint: a text, or a table with the expression that says ``when`` it fits."""
    if isinstance(given, str):
        return Hint(given)
    if not isinstance(given, dict) or given.keys() != {"when", "hint"}:
        raise ValueError(f"a hint is a text, or a table with `when` and `hint`, not {given!r}")
    try:
        re.compile(given["when"])
    except re.error as error:
        raise ValueError(f"{given['when']!r}: {error}") from error
    return Hint(given["hint"], given["when"])


def _unchanged(value: Any) -> Any:
    return value


_VALUES: Mapping[str, Callable[[Any], Any]] = {
    "level": Level,
    "basis": Basis,
    "profiles": lambda names: frozenset(map(profile_named, names)),
    "kinds": lambda names: frozenset(all_kinds() if names == "all" else map(kind_named, names)),
    "hints": lambda hints: tuple(map(_hint, hints)),
    "derived-from": tuple,
    **dict.fromkeys(("needs", "unless", "binds", "must-if", "should-if"), frozenset),
}
"""What turns the values of some fields into what a rule has."""
