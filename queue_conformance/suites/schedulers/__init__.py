"""The suite of schedulers."""

MODULES = ("machine",)
"""The modules of the suite, in the order in which their checks are run."""
