"""Which rules an implementation is held to."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Set
from functools import cache
from types import MappingProxyType

from packaging.version import Version

from queue_conformance.specification import Rule, Specification
from queue_conformance.specification.grounds import as_asked
from queue_conformance.specification.kinds import Kind, Profile
from queue_conformance.specification.words import LIBRARIES


def rules_of(
    specification: Specification,
    kind: Kind,
    profile: Profile,
    lineage: Set[str] = frozenset(),
    claims: Mapping[str, str] = MappingProxyType({}),
    promised: Set[str] = frozenset(),
) -> dict[str, Rule]:
    """Return the rules of a profile that are asked of an implementation, by id, at the level that they have for it.

    Args:
        lineage: the dotted paths of its class and of the base classes of that.
        promised: the capabilities that its docstring promises.
    """
    promises = {name for name, value in claims.items() if value == "yes"} | {f"profile={profile}"}
    promises |= {f"docstring={name}" for name in promised}
    if claims.get("priority", "none") != "none":
        promises.add("by-priority")
    promises.add(claims.get("order", "none").lower())
    followed = lineage | {claims["follows"]} if "follows" in claims else lineage
    asked = (rule for rule in specification.values() if kind in rule.kinds and profile in rule.profiles)
    return {rule.id: as_asked(rule, followed, promises) for rule in asked}


def why_not_applicable(rule: Rule, capabilities: Set[str], releases: Mapping[str, str]) -> str:
    """Return why a rule of the profile does not apply, or ``""`` if it does."""
    if missing := sorted(rule.needs - capabilities):
        return f"needs {', '.join(missing)}"
    if excluded := sorted(rule.unless & capabilities):
        return f"not for {', '.join(excluded)}"
    for library, first in rule.since.items():
        if library in releases and Version(releases[library]) < Version(first):
            return f"since {library} {first}"
    return ""


@cache
def installed_releases() -> Mapping[str, str]:
    """Return the installed releases of the libraries that rules may name."""
    releases = {}
    for library in LIBRARIES:
        try:
            releases[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return releases
