"""Job directories, tested with whole crawls."""

MODULES = ("fixtures", "checks.resume", "checks.directory", "checks.damage", "checks.unclean")
"""The modules with checks, in the order in which their checks are run."""

CRAWLS = True
"""These make whole crawls."""
