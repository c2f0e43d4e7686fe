"""All of downstream queues and byte queues."""

MODULES = (
    "fixtures",
    "smoke",
    "checks.sequences",
    "checks.construction",
    "checks.push",
    "checks.serialization",
    "checks.pop",
    "checks.close",
    "checks.crash",
    "checks.disk",
    "checks.stored",
    "checks.chunks",
    "checks.outages",
    "checks.interleaving",
    "checks.shared",
    "checks.growth",
    "kept",
    "commands",
)
"""The modules with checks, in the order in which their checks are run."""
