"""All of Scrapy's priority queues."""

MODULES = (
    "fixtures",
    "checks.sequences",
    "checks.construction",
    "checks.contents",
    "checks.faults",
    "checks.resume",
    "checks.priorities",
    "checks.slots",
    "checks.growth",
    "kept",
    "commands",
)
"""The modules with checks, in the order in which their checks are run."""
