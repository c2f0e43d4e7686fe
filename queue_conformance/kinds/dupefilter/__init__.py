"""All of dupefilters."""

MODULES = (
    "fixtures",
    "smoke",
    "checks.sequences",
    "checks.answers",
    "checks.files",
    "checks.persistence",
    "checks.crash",
    "checks.growth",
    "kept",
    "commands",
)
"""The modules with checks, in the order in which their checks are run."""
