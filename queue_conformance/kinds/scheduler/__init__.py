"""All of schedulers."""

MODULES = (
    "fixtures",
    "checks.sequences",
    "checks.interface",
    "checks.lifecycle",
    "checks.storing",
    "checks.refusals",
    "checks.fields",
    "checks.ordering",
    "checks.resuming",
    "checks.incompatible",
    "checks.crash",
    "checks.servers",
    "checks.faults",
    "commands",
)
"""The modules with checks, in the order in which their checks are run."""
