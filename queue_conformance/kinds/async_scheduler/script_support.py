"""Queues below a scheduler, what listens to it, and crawls of qCrawl over a server on the loopback address.

They are written as users write them: they have no annotations.
"""

import asyncio
import contextlib
import heapq
import logging
import warnings
from pathlib import Path

import qcrawl.core.crawler as crawler_module
from qcrawl.core.crawler import Crawler
from qcrawl.core.queue import RequestQueue
from qcrawl.core.request import Request
from qcrawl.core.spider import Spider
from qcrawl.settings import Settings
from qcrawl.signals import signals_registry

from queue_conformance.faults.credentials import same_user
from queue_conformance.loops import outcome_of


class MemoryQueue(RequestQueue):
    """The highest priority comes first, then the oldest; a put on a full queue raises QueueFull."""

    def __init__(self, maxsize=0):
        self.limit, self.items, self.puts, self.closed = maxsize, [], [], 0
        self.changed = asyncio.Event()

    async def put(self, request, priority=0):
        if self.closed:
            return
        if self.limit and len(self.items) >= self.limit:
            raise asyncio.QueueFull
        self.puts.append(request.url)
        heapq.heappush(self.items, (-priority, len(self.puts), request))
        self.changed.set()

    async def get(self):
        while not self.items:
            if self.closed:
                raise asyncio.CancelledError
            self.changed.clear()
            await self.changed.wait()
        return heapq.heappop(self.items)[2]

    async def size(self):
        return len(self.items)

    def maxsize(self):
        return self.limit

    async def clear(self):
        self.items.clear()

    async def close(self):
        self.closed += 1
        self.changed.set()


class SuspendingQueue(MemoryQueue):
    """Other tasks run before each of its operations, and after it was asked for its size."""

    pause = 0.0

    async def put(self, request, priority=0):
        await asyncio.sleep(self.pause)
        await super().put(request, priority)

    async def get(self):
        await asyncio.sleep(self.pause)
        return await super().get()

    async def size(self):
        await asyncio.sleep(self.pause)
        size = await super().size()
        await asyncio.sleep(self.pause)
        return size


class SlowQueue(SuspendingQueue):
    """Each of its operations takes a tenth of a second or two."""

    pause = 0.1


class LateQueue(MemoryQueue):
    """What is put into it arrives after a second."""

    async def put(self, request, priority=0):
        await asyncio.sleep(1)
        await super().put(request, priority)


class FailingQueue(MemoryQueue):
    """Its first put fails."""

    async def put(self, request, priority=0):
        if not self.puts:
            self.puts.append("nothing")
            raise OSError("the queue is out of order")
        await super().put(request, priority)


class OutageQueue(MemoryQueue):
    """Its operations fail during an outage."""

    is_fault = True
    away = False

    async def put(self, request, priority=0):
        self.connect()
        await super().put(request, priority)

    async def get(self):
        self.connect()
        return await super().get()

    async def size(self):
        self.connect()
        return await super().size()

    def connect(self):
        if self.away:
            raise ConnectionError("the server of the queue is away")


class DuplicatesQueue(MemoryQueue):
    """It reports what another crawler has stored already."""

    def __init__(self, *urls):
        super().__init__()
        self.urls = urls

    async def put(self, request, priority=0):
        if request.url in self.urls:
            return False
        await super().put(request, priority)
        return True


class Logs(logging.Handler):
    """The messages that were logged as warnings."""

    def __init__(self):
        super().__init__()
        self.messages = []
        logging.getLogger().addHandler(self)

    def emit(self, record):
        if record.levelno == logging.WARNING:
            with contextlib.suppress(Exception):  # what cannot be formatted is no message
                self.messages.append(record.getMessage())

    def after(self, beginning):
        return [message.removeprefix(beginning) for message in self.messages if message.startswith(beginning)]


class Signals:
    """The URLs of the requests that a signal was sent for."""

    def __init__(self, name):
        self.urls = []
        signals_registry.connect(name, self.receive, weak=False)

    async def receive(self, sender, request, **others):
        self.urls.append(request.url)


async def interrupted(scheduler, error):
    """Leave a context with an exception."""
    async with scheduler:
        raise error


async def fill(queue, *requests):
    """Put requests into a queue."""
    for request in requests:
        await queue.put(request, priority=request.priority)


async def outage(queue, seconds):
    """Let the operations of a queue fail for so many seconds."""
    queue.away = True
    await asyncio.sleep(seconds)
    queue.away = False


async def add_many(scheduler, numbers):
    """Add the URLs with these numbers, of 300 hosts."""
    for number in numbers:
        await scheduler.add(f"https://{number % 300}.example/{number}")


async def work_through(scheduler, hosts, numbers, workers):
    """Add these pages of hosts, and let workers of different paces complete them; return their URLs when join has ended."""
    done = []

    async def work(seconds):
        while True:
            request = await scheduler.get()
            await asyncio.sleep(seconds)
            done.append(request.url)
            scheduler.task_done()

    for number in numbers:
        for host in hosts:
            await scheduler.add(f"https://{host}/{number}")
    working = [asyncio.ensure_future(work(0.01 * (1 + number % 7))) for number in range(workers)]
    await scheduler.join()
    for each in working:
        each.cancel()
    return done


def waiting_get(loop, scheduler, name=None):
    """Begin to get, in a task; it must wait."""
    getting = loop.start(scheduler.get(), name)
    loop.settle()
    how, value = outcome_of(getting)
    assert how == "waiting", "get was cancelled" if how == "cancelled" else f"get {how} {value!r}"
    return getting


class Site:
    """A server; it notes the paths that are requested, and answers 200 after the statuses in ``failures``."""

    def __init__(self, failures):
        self.failures, self.requested = {path: list(statuses) for path, statuses in failures.items()}, []

    async def start(self):
        self.server = await asyncio.start_server(self.answer, "127.0.0.1", 0)
        self.root = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def answer(self, reader, writer):
        if not same_user(writer.get_extra_info("socket")):
            return writer.close()
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        self.requested.append(path)
        left = self.failures.get(path)
        status = left.pop(0) if left else 200
        head = f"HTTP/1.1 {status} .\r\nContent-Type: text/html\r\nContent-Length: 4\r\nConnection: close\r\n\r\npage"
        writer.write(head.encode())
        writer.close()


class SiteSpider(Spider):
    """It requests the paths that ``start`` names with their priorities, and from each page those that ``links`` names.

    It cuts the first file of the directory ``spoiled`` when it has started, and may ask for the statistics at its first page.
    """

    name = "site"

    def __init__(self, site, start, links, spoiled, asking):
        self.start_urls = ["http://127.0.0.1/"]  # what is not below these is offsite
        super().__init__()
        self.site, self.start, self.links, self.spoiled = site, start, links, spoiled
        self.requested, self.asking, self.stats = site.requested, asking, None

    async def start_requests(self):
        for path, priority in self.start.items():
            yield Request(self.site.root + path, priority=priority, meta={"depth": 0})
        if self.spoiled:
            sorted(Path(self.spoiled).iterdir())[0].write_bytes(b"")

    async def parse(self, response):
        if self.asking and self.stats is None:
            self.stats = await self.crawler.engine.scheduler.stats()
        for path in self.links.get(response.url.removeprefix(self.site.root), ()):
            yield Request(self.site.root + path)


async def crawling(scheduler, fingerprinter, queue, spider, concurrency, stored):
    """Crawl with classes of a scheduler and of what computes fingerprints; ``stored`` are paths of an earlier run."""
    usual = crawler_module.Scheduler, crawler_module.RequestFingerprinter
    await spider.site.start()
    await fill(queue, *(Request(spider.site.root + path) for path in stored))
    spider.concurrency = concurrency
    # It would ask for robots.txt at port 80 of this machine, wherever the site listens.
    middlewares = {name: order for name, order in Settings().DOWNLOADER_MIDDLEWARES.items() if "RobotsTxt" not in name}
    chosen = {"DELAY_PER_DOMAIN": 0, "RETRY_BACKOFF_BASE": 0, "DOWNLOADER_MIDDLEWARES": middlewares}
    settings = Settings(**{name: value for name, value in chosen.items() if hasattr(Settings(), name)})
    crawler = Crawler(spider, settings)
    crawler.queue = queue
    crawler_module.Scheduler, crawler_module.RequestFingerprinter = scheduler, fingerprinter
    try:
        await crawler.crawl()
    finally:
        crawler_module.Scheduler, crawler_module.RequestFingerprinter = usual
        spider.site.server.close()


def crawl(
    scheduler, fingerprinter, queue, start, links=(), failures=(), concurrency=2, stored=(), spoiled="", asking=False, seconds=5
):
    """Crawl a local site, which must end in time; return the spider."""
    spider = SiteSpider(Site(dict(failures)), start, dict(links), spoiled, asking)
    loop = asyncio.new_event_loop()
    task = loop.create_task(crawling(scheduler, fingerprinter, queue, spider, concurrency, stored))
    with warnings.catch_warnings(action="ignore"):  # the libraries of qCrawl may warn where its author makes errors of that
        loop.run_until_complete(asyncio.wait([task], timeout=seconds))
    in_time = task.done()
    for left in asyncio.all_tasks(loop):
        left.cancel()
        loop.run_until_complete(asyncio.wait([left], timeout=1))
    loop.close()
    assert in_time, f"it goes on after {seconds:g} s, with {', '.join(spider.requested) or 'nothing'} requested"
    task.result()
    return spider
