"""The suite of asynchronous queues."""

MODULES: tuple[str, ...] = ()
"""The modules of the suite, in the order in which their checks are run."""
