"""The suite of queuelib's queues of queues: by priority, and by turns."""


def register() -> None:
    """Register the checks of this suite."""
    from queue_conformance.suites.collections import common, machine, priority, roundrobin  # noqa: F401
