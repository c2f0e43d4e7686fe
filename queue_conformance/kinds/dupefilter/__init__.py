"""All of duplicates filters."""

from queue_conformance.kinds.dupefilter.kind import DUPEFILTER

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

FILTERS = frozenset({DUPEFILTER})
"""What the checks of this suite drive."""
