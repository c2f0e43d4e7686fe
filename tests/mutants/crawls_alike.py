"""Schedulers with which a crawl loses pages that differ in one thing, or a field of some requests."""

from __future__ import annotations

from functools import partial

from mutants import mutant
from mutants.crawls import SETTINGS
from queue_reference.scheduler import Scheduler

crawled = partial(
    mutant, fails="e2e.all-once", control="queue_reference.scheduler.Scheduler", claims={"kind": "crawl"}, settings=SETTINGS
)


def filtering_by(name):
    settings = {**SETTINGS, "DUPEFILTER_CLASS": f"mutants.dupefilters_alike.{name}"}
    return crawled(settings=settings, hint="Pages that are lost by")


@filtering_by("IgnoresQueries")
class TakesQueriesForOnePage(Scheduler):
    """Its filter takes requests with other queries for duplicates."""


@filtering_by("IgnoresCase")
class TakesCaseForOnePage(Scheduler):
    """Its filter takes paths for the same that differ in case."""


@filtering_by("IgnoresBodies")
class TakesFormsForOnePage(Scheduler):
    """Its filter takes forms with other fields for duplicates."""


@filtering_by("IgnoresMethods")
class TakesMethodsForOnePage(Scheduler):
    """Its filter takes requests with other methods for duplicates."""


@crawled()
class DropsForms(Scheduler):
    """It says that it has stored what is posted, and drops it."""

    def enqueue_request(self, request):
        return request.method == "POST" or super().enqueue_request(request)


@crawled()
class LosesBodies(Scheduler):
    """It sends forms without what was filled in."""

    def enqueue_request(self, request):
        return super().enqueue_request(request.replace(body=b"") if request.method == "POST" else request)


class Changing(Scheduler):
    """What gives out requests without one of their fields."""

    empty: object = None
    field = ""

    def next_request(self):
        request = super().next_request()
        return request and request.replace(**{self.field: self.empty})


@crawled()
class LosesHeaders(Changing):
    """It gives out requests without their headers."""

    field = "headers"


@crawled()
class LosesKeywords(Changing):
    """It gives out requests without the arguments of their callbacks."""

    field = "cb_kwargs"


@crawled()
class LosesCookies(Changing):
    """It gives out requests without their cookies."""

    field = "cookies"


@crawled()
class LosesFlags(Changing):
    """It gives out requests without their flags."""

    field = "flags"


@crawled()
class LosesErrbacks(Changing):
    """It gives out requests without their errbacks."""

    field = "errback"


@crawled()
class LosesMeta(Scheduler):
    """Of the meta it keeps what Scrapy itself puts there."""

    def next_request(self):
        request = super().next_request()
        kept = (
            "other",
            "depth",
            "download_slot",
            "retry_times",
            "redirect_urls",
            "redirect_times",
            "redirect_reasons",
            "is_start_request",
        )
        return request and request.replace(meta={name: value for name, value in request.meta.items() if name in kept})
