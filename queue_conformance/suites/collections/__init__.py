"""The suite of queuelib's queues of queues: by priority, and by turns."""

from importlib import import_module

MODULES = ("common", "priority", "roundrobin", "machine")
"""The modules of the suite, in the order in which their checks are run."""


def register() -> None:
    """Register the checks of this suite."""
    for name in MODULES:
        import_module(f"{__name__}.{name}")
