"""How the conformance matrix builds the queues of scrapy-redis: as the scheduler of scrapy-redis does."""


def pytest_open_queue(cls, crawler, key):
    """Build a queue of scrapy-redis; everything else is left to the kit."""
    if cls.__module__ != "scrapy_redis.queue":
        return None
    from scrapy_redis.connection import from_settings

    server = from_settings(crawler.settings)
    server.ping()
    queue = cls(server, crawler.spider, key)
    queue.close = server.close  # it has none of its own
    return queue
