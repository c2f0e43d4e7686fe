"""Which rules an implementation is held to."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping, Set

from packaging.version import Version

from queue_conformance.specification import Kind, Profile, Rule, Specification


def rules_of(specification: Specification, kind: Kind, profile: Profile) -> dict[str, Rule]:
    """Return the rules of a profile that are asked of a kind, by id."""
    return {name: rule for name, rule in specification.items() if kind in rule.kinds and profile in rule.profiles}


def why_not_applicable(rule: Rule, capabilities: Set[str], releases: Mapping[str, str]) -> str:
    """Tell why a rule of the profile does not apply.

    Args:
        rule: the rule.
        capabilities: the names of what the implementation offers.
        releases: the installed release of each library that rules may name.

    Returns:
        The reason, or ``""`` if it applies.
    """
    if missing := sorted(rule.needs - capabilities):
        return f"needs {', '.join(missing)}"
    if excluded := sorted(rule.unless & capabilities):
        return f"not for {', '.join(excluded)}"
    for library, first in rule.since.items():
        if library in releases and Version(releases[library]) < Version(first):
            return f"since {library} {first}"
    return ""


def installed_releases() -> dict[str, str]:
    """Return the installed releases of the libraries that rules may name."""
    releases = {}
    for library in ("scrapy", "queuelib", "qcrawl"):
        try:
            releases[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return releases
