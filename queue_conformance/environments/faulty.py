"""Queues below a scheduler that do wrong what a setting says.

Settings of Scrapy name them, and scripts do; the file has no annotations.
"""

import pkgutil

from scrapy.utils.misc import build_from_crawler, load_object

from queue_conformance.environments.site import say


class FaultyMemoryQueue:
    """A memory queue that does wrong what FAULTS says.

    ``FAULTS`` is a dictionary: ``pop`` and ``push`` have the numbers of the calls, over all queues of the crawl, that go wrong;
    ``error`` the import path of what is raised then, or else ``pop`` returns None. ``open`` has
    the numbers of the queues that cannot be built.
    """

    base = "scrapy.squeues.LifoMemoryQueue"

    def __init__(self, crawler, key):
        self.crawler, self.faults = crawler, crawler.settings.getdict("FAULTS")
        crawler.calls = getattr(crawler, "calls", {"open": 0, "push": 0, "pop": 0})
        self.fails("open")
        self.queue = build_from_crawler(load_object(self.base), crawler, key)

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def fails(self, call):
        """Raise, or return true, if this call is one that goes wrong."""
        number = self.crawler.calls[call]
        self.crawler.calls[call] += 1
        if number not in self.faults.get(call, ()):
            return False
        say("noted fault", number)
        if "error" in self.faults:
            raise pkgutil.resolve_name(self.faults["error"])("a fault of the queue")
        return True

    def push(self, request):
        self.fails("push")
        self.queue.push(request)

    def pop(self):
        return None if len(self.queue) and self.fails("pop") else self.queue.pop()

    def peek(self):
        return self.queue.peek()

    def close(self):
        self.queue.close()

    def __len__(self):
        return len(self.queue)


class FaultyDiskQueue(FaultyMemoryQueue):
    """A disk queue that does wrong what FAULTS says."""

    base = "scrapy.squeues.PickleLifoDiskQueue"
