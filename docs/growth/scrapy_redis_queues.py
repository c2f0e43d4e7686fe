"""The queues of scrapy-redis, built from a crawler as those of Scrapy are."""

from __future__ import annotations

from scrapy_redis import queue
from scrapy_redis.connection import from_settings


class FromCrawler:
    """A queue of scrapy-redis that is built as its scheduler builds it."""

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(from_settings(crawler.settings), crawler.spider, key)

    def close(self):
        self.server.close()


class FifoQueue(FromCrawler, queue.FifoQueue):
    """scrapy_redis.queue.FifoQueue."""


class LifoQueue(FromCrawler, queue.LifoQueue):
    """scrapy_redis.queue.LifoQueue."""


class PriorityQueue(FromCrawler, queue.PriorityQueue):
    """scrapy_redis.queue.PriorityQueue."""
