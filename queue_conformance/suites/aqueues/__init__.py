"""The suite of asynchronous queues."""

MODULES: tuple[str, ...] = (
    "fixtures",
    "construction",
    "putting",
    "getting",
    "bounds",
    "persistence",
    "crash",
    "damage",
    "places",
    "served",
    "commands",
)
"""The modules of the suite, in the order in which their checks are run."""
