"""The grounds of a rule, and how binding they make it for one implementation."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING

from packaging.version import Version

if TYPE_CHECKING:
    from queue_conformance.specification import Rule


class Basis(StrEnum):
    """What makes a rule a rule."""

    WORDS = "words"
    """A document, a docstring or a release note says so of the classes that the rule binds."""

    HARM = "harm"
    """An ordinary crawl without faults loses, doubles or corrupts a request, or cannot start or end."""

    CLAIM = "claim"
    """Its author claims it."""

    DERIVED = "derived"
    """No sentence says it, but other rules fail without it."""

    CODE = "code"
    """Released code or its tests do so, and no sentence says it."""

    KIT = "kit"
    """The kit recommends it."""


BINDING = frozenset({Basis.WORDS, Basis.HARM, Basis.CLAIM})
"""What a MUST can stand on; a derived one needs harm too."""

OLDEST: Mapping[str, str] = {"scrapy": "2.13", "queuelib": "1.6.2", "qcrawl": "0.4"}
"""The oldest supported release of each library: a rule that began there, or before, was always there."""

LONGEST_QUOTE = 12
"""Words of a quotation at most."""


def mistake_in(rule: Rule) -> str:
    """Return what is wrong with the grounds of a rule, or ``""``."""
    must = rule.level == "MUST"
    if must and not rule.tested:
        return "what nothing tests is never MUST"
    if must and rule.basis is not Basis.DERIVED and rule.basis not in BINDING:
        return f"a MUST stands on {', '.join(sorted(BINDING))}, or is derived and does harm; not on {rule.basis}"
    if must and rule.fault and rule.basis is not Basis.WORDS:
        return "a MUST that speaks of a fault stands on words"
    if rule.basis is Basis.WORDS and not rule.quote:
        return "stands on words, and has no quote"
    if len(rule.quote.split()) > LONGEST_QUOTE:
        return f"its quote has more than {LONGEST_QUOTE} words"
    if (rule.basis is Basis.HARM or (must and rule.basis is Basis.DERIVED)) and not rule.harm:
        return "lacks harm"
    if (rule.basis is Basis.DERIVED) != bool(rule.derived_from):
        return "derived-from and the basis 'derived' go together"
    for library, first in rule.since.items():
        if Version(first) <= Version(OLDEST[library]):
            return f"since {library} {first} excludes no supported release"
    return ""


def as_asked(rule: Rule, lineage: Set[str], promises: Set[str]) -> Rule:
    """Return a rule with the level that it has for one implementation.

    A MUST binds the classes of which its source speaks, those derived from them that do not replace what it is about, and
    those whose author claims to follow them; for all others it is a SHOULD. A claim can make a MUST of a SHOULD, or a
    SHOULD of a MAY.

    Args:
        lineage: the dotted paths of the class, of its base classes, and of what it claims to follow.
        promises: the capabilities that its author claims, and ``profile=`` with the profile that it is held to.
    """
    from queue_conformance.specification import Level

    if rule.must_if & promises:
        return replace(rule, level=Level.MUST)
    if rule.should_if & promises and rule.level is Level.MAY:
        return replace(rule, level=Level.SHOULD)
    if rule.level is Level.MUST and rule.binds and not rule.binds & lineage:
        return replace(rule, level=Level.SHOULD)
    return rule
