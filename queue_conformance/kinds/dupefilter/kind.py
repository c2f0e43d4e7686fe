"""What a dupefilter of Scrapy is."""

from __future__ import annotations

from typing import Any

from queue_conformance.implementation.capabilities import Capabilities
from queue_conformance.implementation.signatures import methods_of
from queue_conformance.specification.kinds import SCRAPY, Kind


def _is_dupefilter(cls: type[Any]) -> bool:
    return bool(methods_of(cls, "request_seen"))


def _describe(found: Capabilities) -> str:
    if not found.filters:
        return "filters nothing"
    return f"filters, {found.places}" + (", forgets what was seen after a time" if found.ttl else "")


DUPEFILTER = Kind(
    "dupefilter",
    plural="dupefilters",
    option="dupefilter-class",
    profile=SCRAPY,
    folders=(__package__,),
    driver=f"{__package__}.driver:DupeFilterDriver",
    shows=_is_dupefilter,
    describe=_describe,
    precedence=3,
    assumed=True,
    crawled=True,
    built_by_authors=True,
    documented={"scrapy.dupefilters.RFPDupeFilter": ("persistent", "filesystem", "filters")},
    clears={"scrapy_redis.dupefilter.RFPDupeFilter": ""},
    heeds={"ignores": ""},
)
