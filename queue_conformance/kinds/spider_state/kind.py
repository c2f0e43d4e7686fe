"""What an extension that keeps the state of spiders is."""

from __future__ import annotations

from typing import Any

from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.signatures import methods_of
from queue_conformance.specification.kinds import SCRAPY, Kind

_OTHERS = ("push", "pop", "next_request", "enqueue_request", "request_seen")
"""Methods of queues, schedulers and dupefilters, which may listen to these signals too."""


def _keeps_state(cls: type[Any]) -> bool:
    return bool(methods_of(cls, "spider_opened", "spider_closed")) and not methods_of(cls, *_OTHERS)


def _describe(found: Capabilities) -> str:
    return found.places


SPIDER_STATE = Kind(
    "spider-state",
    plural="spider-state extensions",
    option="spider-state-class",
    profile=SCRAPY,
    folders=(__package__,),
    driver=f"{__package__}.driver:SpiderStateDriver",
    shows=_keeps_state,
    describe=_describe,
    precedence=3,
    assumed=True,
    crawled=True,
    stores=False,
    documented={"scrapy.extensions.spiderstate.SpiderState": ("persistent", "filesystem")},
)
