"""A crawl of sixty start requests, of two slots and three priorities, that needs no network; ``scrapy runspider`` runs it.

``-a most=25`` stops it after so many pages, and ``-a out=FILE`` names where it writes what came of it.
"""

import asyncio
import json

import scrapy
from scrapy.exceptions import CloseSpider
from scrapy.http import HtmlResponse

found = {"visited": [], "finish": None}


class Answers:
    """A downloader middleware that answers itself."""

    async def process_request(self, request, spider=None):
        await asyncio.sleep(0.02)  # so that requests still wait when the crawl is stopped
        return HtmlResponse(request.url, body=b"<html></html>", request=request)


class Spider(scrapy.Spider):
    """The crawl."""

    name = "example"
    most = "0"
    out = ""
    custom_settings = {  # noqa: RUF012 - as spiders have it
        "DOWNLOADER_MIDDLEWARES": {Answers: 1},
        "CONCURRENT_REQUESTS": 1,
        "TELNETCONSOLE_ENABLED": False,
        "LOGSTATS_INTERVAL": 0,
    }

    async def start(self):
        for number in range(60):
            yield scrapy.Request(f"http://host{number % 2}.example/{number}", priority=number % 3)

    def parse(self, response):
        found["visited"].append(response.url)
        if len(found["visited"]) == int(self.most):
            raise CloseSpider("shutdown")
        state = self.state  # which the extension may not have been able to read
        found.setdefault("state", state.get("pages", 0))
        state["pages"] = len(found["visited"])
        self.write()  # at once: not every crawl ends

    def closed(self, reason):
        found["finish"] = reason
        self.write()

    def write(self):
        with open(self.out, "w") as file:
            json.dump(found, file)
