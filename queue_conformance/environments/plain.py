"""What scripts quote for components that have nothing to do with an event loop or an engine.

For all others they quote :mod:`~queue_conformance.environments.engine` and :mod:`~queue_conformance.environments.runs`.
"""

from scrapy import Spider, signals
from scrapy.utils.misc import build_from_crawler
from scrapy.utils.test import get_crawler


def crawler_with(settings, name="example"):
    crawler = get_crawler(Spider, {"EXTENSIONS_BASE": {}, **settings})
    crawler.spider = Spider.from_crawler(crawler, name)
    return crawler


def opened(cls, settings, name="example", build=build_from_crawler):
    crawler = get_crawler(Spider, {"EXTENSIONS_BASE": {}, **settings})
    crawler.spider = Spider.from_crawler(crawler, name)
    dupefilter = build(cls, crawler)
    dupefilter.open()
    return dupefilter, crawler.spider


def unopened(cls, settings, name="example"):
    crawler = get_crawler(Spider, {"EXTENSIONS_BASE": {}, **settings})
    crawler.spider = Spider.from_crawler(crawler, name)
    crawler.extension = build_from_crawler(cls, crawler)
    return crawler.spider


def started(cls, settings, name="example"):
    crawler = get_crawler(Spider, {"EXTENSIONS_BASE": {}, **settings})
    crawler.spider = Spider.from_crawler(crawler, name)
    crawler.extension = build_from_crawler(cls, crawler)
    crawler.signals.send_catch_log(signals.spider_opened, spider=crawler.spider)
    return crawler.spider


def finish(spider, reason="finished"):
    spider.crawler.signals.send_catch_log(signals.spider_closed, spider=spider, reason=reason)
