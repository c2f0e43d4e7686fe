"""The suite of schedulers."""

MODULES = (
    "fixtures",
    "interface",
    "lifecycle",
    "storing",
    "refusals",
    "fields",
    "ordering",
    "resuming",
    "crash",
    "servers",
    "faults",
    "commands",
)
"""The modules of the suite, in the order in which their checks are run."""
