"""All of downstream queues and byte queues."""

MODULES = (
    "fixtures",
    "smoke",
    "checks.construction",
    "checks.push",
    "checks.serialization",
    "checks.pop",
    "checks.peek",
    "checks.length",
    "checks.close",
    "checks.persistence",
    "checks.disk",
    "checks.crash",
    "checks.chunks",
    "checks.outages",
    "checks.permanent",
    "checks.shared",
    "commands",
)
"""The modules with checks, in the order in which their checks are run."""
