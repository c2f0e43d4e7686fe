"""The world of components: a reactor that runs, and a crawler with an engine, as they are before anything is crawled.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

from scrapy import Request
from scrapy.core.downloader import Slot
from scrapy.core.engine import ExecutionEngine
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from queue_conformance.compat.scrapy import let_run, start_reactor
from queue_conformance.script_support.example import ExampleSpider


def give_engine(crawler):
    """Give a crawler an engine, as it has one when it crawls; nothing was downloaded yet."""
    crawler.engine = ExecutionEngine(crawler, lambda spider: None)
    let_run(crawler.engine, crawler)


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
