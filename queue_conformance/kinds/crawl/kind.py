"""What a whole crawl is: a scheduler with the settings of a project, of which only crawls are asked."""

from __future__ import annotations

from queue_conformance.specification.kinds import SCRAPY, Kind

CRAWL = Kind(
    "crawl",
    plural="whole crawls",
    option="scheduler-class",
    profile=SCRAPY,
    folders=(__package__,),
    driver=f"{__package__}.driver:CrawlDriver",
    shows=lambda cls: False,  # a class shows that it is a scheduler; that only crawls are asked of it is said
    describe=lambda found: "goes on after a pause" if found.persistent else "begins anew each time",
    crawled=True,
    stores=False,
    heeds={"filters": "", "ignores": "", "transient-error": ""},
)
