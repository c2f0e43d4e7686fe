"""All of extensions that keep the state of spiders."""

MODULES = ("fixtures", "checks.sequences", "checks.runs", "checks.damage", "kept", "commands")
"""The modules with checks, in the order in which their checks are run."""
