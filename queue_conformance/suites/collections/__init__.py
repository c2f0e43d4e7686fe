"""The suite of queuelib's queues of queues: by priority, and by turns."""

MODULES = ("preflight", "common", "priority", "roundrobin", "commands")
"""The modules of the suite, in the order in which their checks are run."""
