"""Right implementations of every kind of queue, written to be read and copied from.

- ``memory``: downstream queues of Scrapy that keep requests in memory.
- ``disk``: downstream queues of Scrapy that keep requests on disk and survive a crash of the process.
- ``redis``: downstream queues of Scrapy that keep requests on a Redis server; they need the extra ``redis``.
- ``redis_shared``: the same for a queue that several processes use at a time.
- ``postgresql``, ``postgresql_shared``: the same in a table of PostgreSQL; they need the extra ``postgresql``.
- ``beanstalkd``: a downstream queue of Scrapy in a tube of beanstalkd.
- ``redis_scheduler``: a scheduler of Scrapy on a Redis server that several crawlers share.
- ``bytequeues``: queues of bytes with queuelib's interface, on disk (which ``disk`` builds on) and in memory.
- ``collections``: a priority queue and a round-robin queue with queuelib's interface.
- ``async_scheduler``: a scheduler for qCrawl, with fingerprints of its own; it needs the extra ``qcrawl``.

They keep every rule that pytest-queue-conformance tests, and show the simplest way that does.
"""
