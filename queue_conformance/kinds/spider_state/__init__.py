"""All of extensions that keep the state of spiders."""

from queue_conformance.kinds.spider_state.kind import SPIDER_STATE

MODULES = ("checks.runs", "checks.damage", "commands")
"""The modules with checks, in the order in which their checks are run."""

STATES = frozenset({SPIDER_STATE})
"""What the checks of this suite drive."""
