"""All of queuelib's collections: by priority, and by turns."""

MODULES = ("smoke", "checks.sequences", "checks.collections", "kept", "commands")
"""The modules with checks, in the order in which their checks are run."""
