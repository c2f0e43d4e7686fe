"""Upgrades: what one version wrote, another reads: ``queue-conformance keep`` and ``kept``."""
