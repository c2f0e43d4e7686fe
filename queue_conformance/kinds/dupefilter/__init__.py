"""All of duplicates filters."""

from queue_conformance.specification import Kind

MODULES = (
    "fixtures",
    "preflight",
    "checks.answers",
    "checks.fingerprints",
    "checks.log",
    "checks.files",
    "checks.persistence",
    "checks.crash",
    "checks.shared",
    "commands",
)
"""The modules with checks, in the order in which their checks are run."""

FILTERS = frozenset({Kind.DUPEFILTER})
"""What the checks of this suite drive."""
