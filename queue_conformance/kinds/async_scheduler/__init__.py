"""All of asynchronous schedulers."""

MODULES = (
    "fixtures",
    "checks.sequences",
    "checks.adding",
    "checks.refusals",
    "checks.closing",
    "checks.joining",
    "checks.fingerprints",
    "commands",
    "checks.crawls",
)
"""The modules with checks, in the order in which their checks are run."""
