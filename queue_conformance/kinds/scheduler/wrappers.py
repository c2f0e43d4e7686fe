"""What stands around a scheduler for which a crawl does more, or which tells less, than others.

Scripts import what they need from this file; it has no annotations.
"""

import pickle

from scrapy import signals
from scrapy.http import Response
from scrapy.utils.request import fingerprint

OF_DOWNLOADS = (
    signals.request_reached_downloader,
    signals.response_downloaded,
    signals.request_left_downloader,
    signals.response_received,
)  # they tell what becomes of a request


class Downloads:
    """A scheduler that is told by signals what becomes of its requests: each is downloaded until it is asked for something else.

    So it is asked for the next request while one is on its way, and has nothing to wait for in the end.
    """

    def __init__(self, scheduler, crawler):
        self.scheduler, self.crawler, self.on_its_way = scheduler, crawler, []

    def __getattr__(self, name):
        self.arrive()
        return getattr(self.scheduler, name)

    def __len__(self):
        self.arrive()
        return len(self.scheduler)

    def next_request(self):
        request = self.scheduler.next_request()
        self.arrive()
        if request is not None:
            self.on_its_way.append(request)
            self.send(signals.request_reached_downloader, request)
        return request

    def arrive(self):
        """Let the response of what was handed out last arrive."""
        while self.on_its_way:
            request = self.on_its_way.pop()
            response = Response(request.url, request=request)
            self.send(signals.response_downloaded, request, response=response)
            self.send(signals.request_left_downloader, request)
            self.send(signals.response_received, request, response=response)

    def send(self, signal, request, **more):
        self.crawler.signals.send_catch_log(signal, request=request, spider=self.crawler.spider, **more)


class AnswersByLength:
    """A scheduler whose answers do not say what it stored; its length does."""

    def __init__(self, scheduler):
        self.scheduler = scheduler

    def __getattr__(self, name):
        return getattr(self.scheduler, name)

    def __len__(self):
        return len(self.scheduler)

    def enqueue_request(self, request):
        before = len(self)
        return self.scheduler.enqueue_request(request) or len(self) > before


class AnswersAsExpected:
    """A scheduler whose answers do not say what it stored; None stands for what may be stored or not."""

    seen = {}  # by job, the fingerprints of what was enqueued, and whether with dont_filter

    def __init__(self, scheduler, crawler, filters):
        self.scheduler, self.spider, self.filters = scheduler, crawler.spider, filters
        self.seen = self.seen.setdefault(crawler.settings["JOBDIR"], set()) if crawler.settings["JOBDIR"] else set()

    def __getattr__(self, name):
        return getattr(self.scheduler, name)

    def enqueue_request(self, request):
        if answer := self.scheduler.enqueue_request(request):
            return answer
        try:
            pickle.dumps(request.to_dict(spider=self.spider))
        except Exception:
            return None
        known = [how for how in (False, True) if (fingerprint(request), how) in self.seen]
        self.seen.add((fingerprint(request), request.dont_filter))
        if not self.filters or request.dont_filter or not known:
            return True
        return None if known == [True] else False  # one with dont_filter may be recorded or not
