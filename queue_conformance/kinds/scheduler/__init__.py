"""Everything about schedulers."""

MODULES = (
    "fixtures",
    "checks.sequences",
    "checks.interface",
    "checks.lifecycle",
    "checks.storing",
    "checks.fields",
    "checks.ordering",
    "checks.resuming",
    "checks.stored",
    "checks.incompatible",
    "checks.faults",
    "checks.interleaving",
    "checks.servers",
    "checks.growth",
    "kept",
    "commands",
)
"""The modules with checks, in the order in which their checks are run."""
