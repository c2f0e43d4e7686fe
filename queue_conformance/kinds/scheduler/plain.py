"""What scripts quote for a scheduler that needs no running reactor, and has something to give as long as it is not empty.

For all others they import what the kit does itself: :mod:`~queue_conformance.environments.engine` and
:mod:`~queue_conformance.kinds.scheduler.script_support`.
"""

import itertools

from scrapy import Spider
from scrapy.core.engine import ExecutionEngine
from scrapy.utils.reactor import install_reactor
from scrapy.utils.test import get_crawler


def make_crawler(settings, name="example"):
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")
    crawler = get_crawler(Spider, settings)
    crawler.spider = Spider.from_crawler(crawler, name)
    crawler.engine = ExecutionEngine(crawler, lambda spider: None)
    return crawler


def taken(scheduler):
    return list(itertools.islice(iter(scheduler.next_request, None), 2000))


def drain(scheduler):
    return [request.url for request in itertools.islice(iter(scheduler.next_request, None), 2000)]
