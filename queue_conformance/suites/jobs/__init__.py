"""The suite of job directories, with whole crawls."""

MODULES = ("directory", "resume", "forced")
"""The modules of the suite, in the order in which their checks are run."""
