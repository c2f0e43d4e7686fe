"""A crawl that leaves a job with requests of all sorts, and goes on with one that another version left; it needs no network.

``scrapy runspider`` runs this file, so that the job is all that a crawl stores. With ``-a ends=SIGINT`` or ``SIGKILL`` it visits
``SEEN`` pages, has all others scheduled, and ends itself; without, it takes them all out. It says what it visits, and the state.
"""

import json
import os
import signal

from scrapy import FormRequest, Request, signals
from scrapy.http import HtmlResponse, JsonRequest
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

from queue_conformance.engine.kept import as_data
from queue_conformance.environments.site import PreparedSpider, say

SEEN, STARTS, LINKS = 8, 12, 12
"""Pages that are visited, start requests that wait, and requests that wait of callbacks."""

SAID = "stored "
"""How the lines begin that say what is found."""

STARTED = "started again"
"""What a request has in its meta that is no longer the one that waited."""

NEW = "http://host0.example/new"


def url(number):
    """Return the URL of a page, of one of two hosts."""
    return f"http://host{number % 2}.example/{number}"


class Answers:
    """A downloader middleware that answers itself."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def process_request(self, request, spider=None):
        found = {**as_data(request), "meta": request.meta.get("kept")}
        say(f"{SAID}{json.dumps(found)}")
        return HtmlResponse(request.url, body=b"<html></html>", request=request)


class Spider(PreparedSpider):
    name = "example"
    ends = ""
    custom_settings = {  # noqa: RUF012 - as spiders have it
        "DOWNLOADER_MIDDLEWARES": {Answers: 1},
        "CONCURRENT_REQUESTS": 1,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "LOG_LEVEL": "INFO",
    }

    @classmethod
    def from_crawler(cls, crawler, *arguments, **keywords):
        spider = super().from_crawler(crawler, *arguments, **keywords)
        spider.parsed = spider.scheduled = 0
        spider.visited = Deferred()
        if spider.ends:
            crawler.signals.connect(spider.count, signals.request_scheduled)
        return spider

    async def start(self):
        if not self.ends and (state := getattr(self, "state", None)):
            say(f"{SAID}{json.dumps({'key': 'spider.state', 'is': state}, default=repr)}")
        meta = {} if self.ends else {"kept": STARTED}
        for number in range(SEEN):
            yield Request(url(number), meta=meta)
        if self.ends:
            await maybe_deferred_to_future(self.visited)
        for number in range(SEEN, SEEN + STARTS):
            yield Request(url(number), priority=number % 3, meta=meta)
        if not self.ends:
            yield Request(NEW, meta=meta)
        self.waiting.started = True

    def parse(self, response, kept=None):
        self.parsed += 1
        if self.ends:
            self.state["parsed"] = self.parsed
        if self.ends and self.parsed == SEEN:
            self.crawler.engine.pause()
            yield from self.links()
            self.visited.callback(None)

    def links(self):
        """Yield requests that differ in every field."""
        fields = (
            {"cb_kwargs": {"kept": [1, "a"]}},
            {"meta": {"kept": {"a": 1}, "download_slot": "slot"}},
            {"method": "PUT", "body": b"\x00\xff"},
            {"headers": {"X-Kept": ["1", "2"]}},
            {"cookies": {"kept": "1"}},
            {"flags": ["kept"]},
            {"callback": self.parse_other},
            {"errback": self.fail},
            {"dont_filter": True},
            {"encoding": "latin-1"},
        )
        number = SEEN + STARTS
        for each in fields:
            yield Request(url(number), priority=number % 3, **each)
            number += 1
        yield FormRequest(url(number), formdata={"kept": "1"})
        yield JsonRequest(url(number + 1), data={"kept": 1})

    def parse_other(self, response): ...

    def fail(self, failure): ...

    def count(self):
        """End this process, gracefully or not, when all is scheduled."""
        from twisted.internet import reactor

        self.scheduled += 1
        if self.scheduled == SEEN + STARTS + LINKS:
            reactor.callLater(0, os.kill, os.getpid(), getattr(signal, self.ends))
