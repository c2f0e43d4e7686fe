"""All of Scrapy's priority queues."""

MODULES = (
    "checks.construction",
    "checks.push",
    "checks.pop",
    "checks.faults",
    "checks.peek",
    "checks.closing",
    "checks.resume",
    "checks.priorities",
    "checks.slots",
    "commands",
)
"""The modules with checks, in the order in which their checks are run."""
