"""All of asynchronous schedulers."""

MODULES = (
    "fixtures",
    "checks.construction",
    "checks.adding",
    "checks.refusals",
    "checks.getting",
    "checks.closing",
    "checks.joining",
    "checks.statistics",
    "checks.fingerprints",
    "commands",
    "checks.crawls",
)
"""The modules with checks, in the order in which their checks are run."""
