"""The suite of downstream queues and byte queues."""

MODULES = (
    "fixtures",
    "preflight",
    "construction",
    "push",
    "serialization",
    "pop",
    "peek",
    "length",
    "close",
    "persistence",
    "disk",
    "crash",
    "chunks",
    "outages",
    "permanent",
    "shared",
    "commands",
)
"""The modules of the suite, in the order in which their checks are run."""
