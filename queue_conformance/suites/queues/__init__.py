"""The suite of downstream queues and byte queues."""

from importlib import import_module

MODULES = (
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
    "torn",
    "chunks",
    "outages",
    "servers",
    "permanent",
    "machine",
)
"""The modules of the suite, in the order in which their checks are run."""


def register() -> None:
    """Register the checks of this suite."""
    for name in MODULES:
        import_module(f"{__name__}.{name}")
