"""The suite of duplicates filters."""

from queue_conformance.specification import Kind

MODULES = ("fixtures", "preflight", "answers", "fingerprints", "log", "files", "persistence", "crash", "shared", "commands")
"""The modules of the suite, in the order in which their checks are run."""

FILTERS = frozenset({Kind.DUPEFILTER})
"""What the checks of this suite drive."""
