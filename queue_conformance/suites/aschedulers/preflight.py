"""The first use of asynchronous schedulers, and what their authors claim."""

from __future__ import annotations

from queue_conformance.suites.bench import Bench

RULES: tuple[str, ...] = ()
CLAIMS = "claims.true"
SHOWN: tuple[str, ...] = ()


def preflight(bench: Bench) -> None:
    """Use one once."""
    raise NotImplementedError


def show_absence(bench: Bench, rule: str, name: str) -> None:
    """Show that a claimed capability is not there."""
    raise NotImplementedError
