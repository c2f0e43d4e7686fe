"""The suite of asynchronous schedulers."""

MODULES: tuple[str, ...] = ()
"""The modules of the suite, in the order in which their checks are run."""
