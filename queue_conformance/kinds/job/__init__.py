"""All of job directories, with whole crawls."""

MODULES = ("checks.directory", "checks.damage", "checks.full", "checks.resume", "checks.forced")
"""The modules with checks, in the order in which their checks are run."""
