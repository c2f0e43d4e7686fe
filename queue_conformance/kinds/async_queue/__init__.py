"""All of asynchronous queues."""

MODULES: tuple[str, ...] = (
    "fixtures",
    "checks.sequences",
    "checks.construction",
    "checks.putting",
    "checks.rebuilding",
    "checks.getting",
    "checks.bounds",
    "checks.persistence",
    "checks.disk",
    "checks.damage",
    "checks.served",
    "checks.interleaving",
    "checks.growth",
    "kept",
    "commands",
)
"""The modules with checks, in the order in which their checks are run."""
