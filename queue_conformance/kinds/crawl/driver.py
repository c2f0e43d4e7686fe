"""The driver of whole crawls: that of schedulers, with the settings as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from queue_conformance.environments.crawling import SettingsReader
from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.kinds.scheduler.driver import SchedulerDriver


class CrawlDriver(SchedulerDriver):
    """Builds the scheduler of a project."""

    constructor_rule: ClassVar[str] = "e2e.all-once"
    interface_rule: ClassVar[str] = "e2e.all-once"

    def watch_settings(self) -> SettingsReader | None:
        """Watch nothing: the settings of a project are also for what no crawl here has."""
        return None

    def probe(self, workdir: Callable[[], Path]) -> Capabilities:
        """Find out what the scheduler offers; what needs a job directory is not there if the project sets none."""
        found = super().probe(workdir)
        return replace(found, persistent=found.persistent and (self.has_job or not found.filesystem))
