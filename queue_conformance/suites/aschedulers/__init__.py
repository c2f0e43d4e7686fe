"""The suite of asynchronous schedulers."""

MODULES = ("adding", "refusals", "getting", "closing", "joining", "statistics", "fingerprints", "commands", "crawls")
"""The modules of the suite, in the order in which their checks are run."""
