"""What an asynchronous scheduler of qCrawl is."""

from __future__ import annotations

from inspect import iscoroutinefunction
from typing import Any

from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.specification.kinds import QCRAWL, Kind


def _is_async_scheduler(cls: type[Any]) -> bool:
    return iscoroutinefunction(getattr(cls, "get", None)) and callable(getattr(cls, "add", None))


def _describe(found: Capabilities) -> str:
    return ""  # it offers what the queue below it does


ASYNC_SCHEDULER = Kind(
    "async-scheduler",
    plural="asynchronous schedulers",
    option="scheduler-class",
    profile=QCRAWL,
    folders=(__package__,),
    driver=f"{__package__}.driver:AsyncSchedulerDriver",
    shows=_is_async_scheduler,
    describe=_describe,
    precedence=5,
    stores=False,
    heeds={"priority": "queue", "real-loop": "", "request": ""},
)
