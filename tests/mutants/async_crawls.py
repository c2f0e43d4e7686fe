"""Wrong asynchronous schedulers: their fingerprints, and what only a crawl shows."""

from __future__ import annotations

import logging
from urllib.parse import parse_qsl, urlencode

from qcrawl.core.request import Request
from yarl import URL

from mutants import mutant
from mutants.async_controls_schedulers import TakesAhead
from queue_reference.async_scheduler import RequestFingerprinter, Scheduler

RIGHT = "queue_reference.async_scheduler.Scheduler"


# --- Fingerprints ----------------------------------------------------------------------------------------------------


@mutant(fails="afingerprint.parts")
class IgnoresBodies(Scheduler):
    """Its fingerprints do not depend on the body."""

    class fingerprinter_class(RequestFingerprinter):  # noqa: N801
        def fingerprint_bytes(self, request):
            bare = request.copy()
            bare.body = None
            return super().fingerprint_bytes(bare)


@mutant(fails="afingerprint.parts")
class CutsUrls(Scheduler):
    """Its fingerprints depend on the first thousand characters of the URL."""

    class fingerprinter_class(RequestFingerprinter):  # noqa: N801
        def fingerprint_bytes(self, request):
            short = request.copy()
            short.url = request.url[:1000]
            return super().fingerprint_bytes(short)


@mutant(fails="afingerprint.parts")
class TakesTheLastOfEqualParameters(Scheduler):
    """Its fingerprints depend on one value of each parameter."""

    class fingerprinter_class(RequestFingerprinter):  # noqa: N801
        def fingerprint_bytes(self, request):
            page, _, query = request.url.partition("?")
            one = request.copy()
            one.url = f"{page}?{urlencode(dict(parse_qsl(query, keep_blank_values=True)))}" if query else page
            return super().fingerprint_bytes(one)


@mutant(fails="afingerprint.query-order")
class KeepsTheOrder(Scheduler):
    """Its fingerprints depend on the order of the parameters."""

    class fingerprinter_class(RequestFingerprinter):  # noqa: N801
        def fingerprint_bytes(self, request):
            return super().fingerprint_bytes(request) + ",".join(filter(self._counts, URL(request.url).query)).encode()


@mutant(fails="afingerprint.ignore")
class IgnoresNothing(Scheduler):
    """Its fingerprints depend on the parameters that are to be ignored."""

    class fingerprinter_class(RequestFingerprinter):  # noqa: N801
        def _counts(self, name):
            return name in self._kept if self._kept else True


@mutant(fails="afingerprint.exclusive")
class TakesBothFilters(Scheduler):
    """Its fingerprints can be told both what to ignore and what to keep."""

    class fingerprinter_class(RequestFingerprinter):  # noqa: N801
        def __init__(self, ignore_query_params=None, keep_query_params=None):
            super().__init__(None if keep_query_params else ignore_query_params, keep_query_params)


@mutant(fails="afingerprint.fragment")
class CountsFragments(Scheduler):
    """Its fingerprints depend on the fragment."""

    class fingerprinter_class(RequestFingerprinter):  # noqa: N801
        def fingerprint_bytes(self, request):
            return super().fingerprint_bytes(request) + URL(request.url).fragment.encode()


# --- Crawls ----------------------------------------------------------------------------------------------------------


@mutant(fails="e2e.q.all")
class OverlooksPorts(Scheduler):
    """It takes URLs with a port for seen."""

    async def add(self, request):
        if isinstance(request, str) or not URL(request.url).explicit_port:
            await super().add(request)


@mutant(fails="e2e.q.bounded")
class WarnsOnce(Scheduler):
    """It logs only the first request that it drops."""

    async def add(self, request):
        logger = logging.getLogger("queue_reference.async_scheduler")
        once = Once(self)
        logger.addFilter(once)
        try:
            await super().add(request)
        finally:
            logger.removeFilter(once)

    warned = False


class Once(logging.Filter):
    def __init__(self, scheduler):
        super().__init__()
        self.scheduler = scheduler

    def filter(self, record):
        warned, self.scheduler.warned = self.scheduler.warned, True
        return not warned


@mutant(fails="e2e.q.resume")
class ResumesOnce(Scheduler):
    """If nothing was added, its join ends after the first of the requests that were stored."""

    resumed = False

    def task_done(self):
        self.resumed = True
        super().task_done()

    async def _is_empty(self):
        return (self.resumed and not self.seen) or await super()._is_empty()


@mutant(fails="e2e.q.resume", control=RIGHT)
class KeepsWhatItTookAhead(TakesAhead):
    """It puts nothing of what it has taken out of the queue ahead back when it is closed."""

    async def put_back(self):
        if not self._closed:
            await super().put_back()


@mutant(fails="e2e.q.resume", control=RIGHT)
class PutsBackTooLate(TakesAhead):
    """It puts back what it has taken ahead when the queue is closed already."""

    async def close(self):
        ahead, self.ahead = self.ahead, []
        await super().close()
        for request in ahead:
            await self.queue.put(request, priority=request.priority)
            self.ahead.append(request)


@mutant(fails="e2e.q.bad-item")
class RaisesWhatTheQueueRaises(Scheduler):
    """Its get raises what the queue's get raises."""

    async def _next(self):
        try:
            return await super()._next()
        except RuntimeError as error:
            self._consumers.popleft().set_exception(error)
            return None


@mutant(fails="e2e.q.retry")
class TakesRetriesForLinks(Scheduler):
    """It takes every request with a depth for a link, retries too."""

    async def add(self, request):
        if isinstance(request, Request) and "depth" in request.meta:
            request.meta.pop("retry_count", None)
        await super().add(request)


@mutant(fails="e2e.q.priority")
class StartsInOrder(Scheduler):
    """It takes start requests in the order in which they come."""

    async def add(self, request):
        if isinstance(request, Request) and request.meta.get("depth") == 0:
            request.priority = 0
        await super().add(request)


@mutant(fails="e2e.q.stats-access")
class CountsHostsWithoutPorts(Scheduler):
    """Its stats() fail for hosts with a port."""

    host = ""

    async def add(self, request):
        await super().add(request)
        self.host = (Request(request) if isinstance(request, str) else request).url.split("/")[2]

    async def stats(self):
        (_,) = self.host.split(":")
        return await super().stats()
