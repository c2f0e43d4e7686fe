"""Some of the rules: those that a pattern names, or that have something in common."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from queue_conformance.specification import Level, Rule, Specification
from queue_conformance.specification.kinds import Kind, Profile
from queue_conformance.specification.suggestion import did_you_mean


class UnknownRuleError(LookupError):
    """No rule has this id; the message is one line that names the nearest ones."""


def matching(specification: Specification, patterns: Iterable[str]) -> list[Rule]:
    """Return the rules that patterns name, in the order of the specification.

    Args:
        patterns: ids, ids with wildcards (``queue.push.*``), or what ids begin with (``queue.push``).

    Raises:
        UnknownRuleError: if a pattern names none.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        found = {name for name in specification if fnmatchcase(name, pattern) or name.startswith(f"{pattern}.")}
        if not found:
            raise UnknownRuleError(f"there is no rule {pattern!r}{did_you_mean(pattern, _names(specification), most=3)}")
        chosen |= found
    return [rule for name, rule in specification.items() if name in chosen]


def _names(specification: Specification) -> dict[str, None]:
    """Return the ids, and what several of them begin with."""
    parts = [name.split(".") for name in specification]
    return dict.fromkeys([*specification, *(".".join(part[:end]) for part in parts for end in range(1, len(part)))])


def select(
    rules: Iterable[Rule],
    kinds: Collection[Kind] = (),
    levels: Collection[Level] = (),
    profiles: Collection[Profile] = (),
    text: str = "",
) -> list[Rule]:
    """Return the rules that have something in common; what is empty excludes none.

    Args:
        kinds: of which one is asked.
        levels: of which it has one.
        profiles: of which it belongs to one.
        text: what its id, its sentences, its source or a hint contains, in upper or lower case.
    """
    return [
        rule
        for rule in rules
        if (not kinds or rule.kinds & set(kinds))
        and (not levels or rule.level in levels)
        and (not profiles or rule.profiles & set(profiles))
        and text.casefold() in "\n".join([rule.id, rule.sentence, rule.source, rule.why, rule.how, *rule.hints]).casefold()
    ]
