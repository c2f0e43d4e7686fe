"""Crawls of qCrawl over a server on the loopback address.

They are written as users write them: they have no annotations.
"""

import asyncio
from pathlib import Path

import qcrawl.core.crawler as crawler_module
from qcrawl.core.crawler import Crawler
from qcrawl.core.request import Request
from qcrawl.core.spider import Spider
from qcrawl.settings import Settings


class Site:
    """A server; it notes the paths that are requested, and answers 200 after the statuses in ``failures``."""

    def __init__(self, **failures):
        self.failures = {f"/{name}": statuses for name, statuses in failures.items()}
        self.requested = []

    async def start(self):
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        self.root = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def answer(self, reader, writer):
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        if path != "/robots.txt":
            self.requested.append(path)
        left = self.failures.get(path)
        status = 404 if path == "/robots.txt" else left.pop(0) if left else 200
        head = f"HTTP/1.1 {status} .\r\nContent-Type: text/html\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage"
        writer.write(head.encode())
        writer.close()


class SiteSpider(Spider):
    """It requests the paths that ``start`` names with their priorities, and from each page those that ``links`` names."""

    name = "site"

    def __init__(self, site, start, links=(), started=None, asking=False):
        self.start_urls = ["http://127.0.0.1/"]  # what is not below these is offsite
        super().__init__()
        self.site, self.start, self.links, self.started, self.asking = site, start, dict(links), started, asking
        self.stats = None

    async def start_requests(self):
        for path, priority in self.start.items():
            yield Request(self.site.root + path, priority=priority, meta={"depth": 0})
        if self.started:
            self.started()

    async def parse(self, response):
        if self.asking and self.stats is None:
            self.stats = await self.crawler.engine.scheduler.stats()
        for path in self.links.get(response.url.removeprefix(self.site.root), ()):
            yield Request(self.site.root + path)


async def crawl(scheduler, fingerprinter, queue, spider, concurrency=2, stored=()):
    """Crawl with classes of a scheduler and of what computes fingerprints; ``stored`` are paths of an earlier run."""
    usual = crawler_module.Scheduler, crawler_module.RequestFingerprinter
    await spider.site.start()
    for path in stored:
        await queue.put(Request(spider.site.root + path), priority=0)
    spider.concurrency = concurrency
    crawler = Crawler(spider, Settings(DELAY_PER_DOMAIN=0, RETRY_BACKOFF_BASE=0))
    crawler.queue = queue
    crawler_module.Scheduler, crawler_module.RequestFingerprinter = scheduler, fingerprinter
    try:
        await crawler.crawl()
    finally:
        crawler_module.Scheduler, crawler_module.RequestFingerprinter = usual
        spider.site.server.close()


def spoil(directory):
    """Cut the first of the files in a directory to nothing."""
    sorted(Path(directory).iterdir())[0].write_bytes(b"")


def ends(coroutine, seconds):
    """Run a coroutine; tell whether it ends in time."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(coroutine)
    loop.run_until_complete(asyncio.wait([task], timeout=seconds))
    in_time = task.done()
    for left in asyncio.all_tasks(loop):
        left.cancel()
        loop.run_until_complete(asyncio.wait([left], timeout=1))
    loop.close()
    return in_time and task.result() is None
