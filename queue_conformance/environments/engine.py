"""The world of components: a reactor that runs, and a crawler with an engine, as they are before anything is crawled.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import asyncio
import functools
import sys
import threading

from scrapy import Request
from scrapy.core.downloader import Slot
from scrapy.core.engine import ExecutionEngine, _Slot
from scrapy.core.scraper import Slot as ScraperSlot
from scrapy.settings import Settings
from scrapy.utils.reactor import CallLaterOnce, install_reactor
from scrapy.utils.test import get_crawler
from twisted.internet import task

from queue_conformance.script_support.example import ExampleSpider


def start_reactor():
    """Install the reactor as Scrapy does, and let it run: what is called from now on finds a running event loop."""
    if "twisted.internet.reactor" not in sys.modules:
        install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    from twisted.internet import reactor

    if not reactor.running:
        daemon = functools.partial(threading.Thread, daemon=True)
        reactor.getThreadPool().threadFactory = daemon  # nothing waits for them at the end of the process
        reactor.startRunning(False)
    asyncio.set_event_loop(reactor._asyncioEventloop)  # asyncio.run() in this process leaves none
    asyncio._set_running_loop(reactor._asyncioEventloop)


def turn(seconds=0):
    """Let the reactor do what is due."""
    from twisted.internet import reactor

    settle(task.deferLater(reactor, seconds))


def settle(result):
    """Wait for a Deferred."""
    running, loop = asyncio._get_running_loop(), asyncio.get_event_loop()
    asyncio._set_running_loop(None)
    try:
        return loop.run_until_complete(result.asFuture(loop))
    finally:
        asyncio._set_running_loop(running)


def give_engine(crawler):
    """Give a crawler an engine, as it has one when it crawls; nothing was downloaded yet."""
    crawler.engine = ExecutionEngine(crawler, lambda spider: None)
    let_run(crawler.engine, crawler)


def let_run(engine, crawler):
    """Let an engine look like one that runs, although it asks no scheduler for requests."""
    engine.spider, engine.running = crawler.spider, True
    engine._slot = _Slot(True, CallLaterOnce(engine.needs_backout), None)
    engine.scraper.slot = ScraperSlot(crawler.settings.getint("SCRAPER_SLOT_MAX_ACTIVE_SIZE"))


def make_crawler(settings, name="example", prepare=None):
    start_reactor()
    crawler = get_crawler(ExampleSpider, settings)
    crawler.spider = ExampleSpider.from_crawler(crawler, name=name)
    if prepare is not None:
        prepare(crawler.spider)
    give_engine(crawler)
    return crawler


def occupy(crawler, name, count):
    """Let the downloader be busy with so many requests of a slot."""
    slot = crawler.engine.downloader.slots.setdefault(name, Slot(8, 0, 0))
    slot.active = {Request("https://example.com") for _ in range(count)}


def change_settings(crawler, settings):
    """Let a crawler have other values of some settings."""
    crawler.settings = Settings({**crawler.settings, **settings})
