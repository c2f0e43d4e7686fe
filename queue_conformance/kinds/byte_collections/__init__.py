"""All of queuelib's queues of queues: by priority, and by turns."""

MODULES = ("preflight", "checks.common", "checks.priority", "checks.roundrobin", "commands")
"""The modules with checks, in the order in which their checks are run."""
