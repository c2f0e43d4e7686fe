"""Whole crawls: a site, Scrapy's engine in a process of its own, and the class under test in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queue_conformance.implementation import Implementation

MODULES = (
    "fixtures",
    "checks.pages",
    "checks.signals",
    "checks.order",
    "checks.faults",
    "checks.accidents",
    "checks.seen",
    "checks.shared",
    "kept",
)
"""The modules with checks, in the order in which their checks are run."""

CRAWLS = True
"""These make whole crawls."""


def has_part(implementation: Implementation) -> bool:
    """Whether a crawl shows more of an implementation than other rules do: not of a queue that keeps requests in memory alone."""
    return implementation.kind != "downstream-queue" or not implementation.capabilities.names.isdisjoint({"persistent", "server"})


def preload(implementation: Implementation) -> None:
    """Import what every crawl imports, once and not in every process that is forked."""
    from queue_conformance.environments import crawls  # with Scrapy, which takes a quarter of a second

    if has_part(implementation):
        crawls.preload()
