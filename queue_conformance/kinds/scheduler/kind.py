"""What a scheduler of Scrapy is."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any

from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.signatures import methods_of
from queue_conformance.specification.kinds import SCRAPY, Kind
from queue_conformance.specification.words import listed

_OFFERS = {
    "configurable": "takes its queues from the settings",
    "persistent": "persistent",
    "filesystem": "in files",
    "server": "behind a server",
    "filters": "filters duplicates",
    "slots": "serves the slots of the downloader in turn",
    "length": "has a length",
    "needs_job": "needs a job directory",
}
"""What is said of one that offers something."""


_CALLED = ("enqueue_request", "next_request", "has_pending_requests")


def _is_scheduler(cls: type[Any]) -> bool:
    return bool(methods_of(cls, *_CALLED))


def _awaited(cls: type[Any]) -> str:
    awaited = [name for name in _CALLED if iscoroutinefunction(getattr(cls, name, None))]
    return f"an engine of Scrapy does not await {listed(awaited)}" if awaited else ""


def _describe(found: Capabilities) -> str:
    offers = [text for name, text in _OFFERS.items() if getattr(found, name)]
    return ", ".join([*offers, *found.unclaimed]) or "the minimal interface"


SCHEDULER = Kind(
    "scheduler",
    plural="schedulers",
    option="scheduler-class",
    profile=SCRAPY,
    folders=(__package__, "queue_conformance.kinds.job", "queue_conformance.kinds.crawl"),
    driver=f"{__package__}.driver:SchedulerDriver",
    shows=_is_scheduler,
    foreign=_awaited,
    describe=_describe,
    precedence=4,
    assumed=True,
    crawled=True,
    built_by_authors=True,
    documented={"scrapy.core.scheduler.Scheduler": ("persistent", "filesystem", "filters", "configurable", "length")},
    clears={"scrapy_redis.scheduler.Scheduler": "SCHEDULER_PERSIST"},
    heeds={"ignores": "", "serialization-error": "", "transient-error": ""},
)
