"""All of asynchronous queues."""

MODULES: tuple[str, ...] = (
    "fixtures",
    "checks.construction",
    "checks.putting",
    "checks.getting",
    "checks.bounds",
    "checks.persistence",
    "checks.crash",
    "checks.damage",
    "checks.places",
    "checks.served",
    "commands",
)
"""The modules with checks, in the order in which their checks are run."""
