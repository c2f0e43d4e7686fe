"""The suite of extensions that keep the state of spiders."""

from queue_conformance.specification import Kind

MODULES = ("runs", "damage", "commands")
"""The modules of the suite, in the order in which their checks are run."""

STATES = frozenset({Kind.SPIDER_STATE})
"""What the checks of this suite drive."""
