"""The suite of downstream queues and byte queues."""


def register() -> None:
    """Register the checks of this suite."""
    from queue_conformance.suites.queues import (  # noqa: F401
        chunks,
        close,
        construction,
        length,
        machine,
        peek,
        persistence,
        pop,
        push,
        serialization,
    )
