"""Wrong schedulers: what spiders ask for seldom, and how much of it."""

from __future__ import annotations

from urllib.parse import urlsplit

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
