"""The suite of job directories, with whole crawls."""

MODULES = ("directory", "damage", "full", "resume", "forced")
"""The modules of the suite, in the order in which their checks are run."""
