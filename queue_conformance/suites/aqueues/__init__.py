"""The suite of asynchronous queues."""

MODULES: tuple[str, ...] = (
    "construction",
    "putting",
    "getting",
    "bounds",
    "persistence",
    "damage",
    "served",
    "machine",
)
"""The modules of the suite, in the order in which their checks are run."""
