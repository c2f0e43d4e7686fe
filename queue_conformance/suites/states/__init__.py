"""The suite of extensions that keep the state of spiders."""

MODULES: tuple[str, ...] = ()
"""The modules of the suite, in the order in which their checks are run."""
