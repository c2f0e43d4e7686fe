"""All of extensions that keep the state of spiders."""

from queue_conformance.specification import Kind

MODULES = ("checks.runs", "checks.damage", "commands")
"""The modules with checks, in the order in which their checks are run."""

STATES = frozenset({Kind.SPIDER_STATE})
"""What the checks of this suite drive."""
