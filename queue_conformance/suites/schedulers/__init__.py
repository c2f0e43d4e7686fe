"""The suite of schedulers."""

MODULES = ("interface", "lifecycle", "storing", "ordering", "resuming", "machine")
"""The modules of the suite, in the order in which their checks are run."""
