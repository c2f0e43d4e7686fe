"""All of dupefilters."""

MODULES = (
    "fixtures",
    "smoke",
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
