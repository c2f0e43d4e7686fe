"""The suite of schedulers."""

MODULES = ("interface", "lifecycle", "storing", "ordering", "resuming", "crash", "servers", "machine")
"""The modules of the suite, in the order in which their checks are run."""
