"""Wrong schedulers: what spiders ask for seldom, and how much of it."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

from scrapy.utils.request import fingerprint

from mutants import mutant
from mutants.controls_schedulers import SQLiteScheduler

RIGHT = "mutants.controls_schedulers.SQLiteScheduler"


# --- What spiders may ask for ----------------------------------------------------------------------------------------


@mutant(fails="scheduler.enqueue.answers", control=RIGHT)
class LooksForAHost(SQLiteScheduler):
    """It takes the third part of an address for the host, and there are addresses with one part."""

    def enqueue_request(self, request):
        assert request.url.split("/")[2] is not None
        return super().enqueue_request(request)


@mutant(fails="scheduler.enqueue.answers", control=RIGHT)
class SplitsAtTheColon(SQLiteScheduler):
    """It takes what is behind the first colon of a host for its port."""

    def enqueue_request(self, request):
        _, _, port = urlsplit(request.url).netloc.partition(":")
        assert int(port or 80)
        return super().enqueue_request(request)


@mutant(fails="scheduler.enqueue.dont-filter", control=RIGHT)
class TakesTwentyForALoop(SQLiteScheduler):
    """It rejects a request with dont_filter that came twenty times."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self.times = Counter()

    def enqueue_request(self, request):
        self.times[fingerprint(request)] += request.dont_filter
        return self.times[fingerprint(request)] <= 20 and super().enqueue_request(request)
