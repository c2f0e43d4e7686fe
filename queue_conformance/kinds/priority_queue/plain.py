"""What scripts quote for a priority queue over queues in memory that only have to be looked at.

For all others they quote :mod:`~queue_conformance.kinds.priority_queue.script_support`.
"""

from urllib.parse import urlsplit

from scrapy.squeues import LifoMemoryQueue


class WatchedQueue(LifoMemoryQueue):  # type: ignore[misc, valid-type]
    """Remembers what was built of it, and how often each of them was closed."""

    built, closed = [], 0

    def __init__(self):
        super().__init__()
        self.built.append(self)

    def close(self):
        self.closed += 1


class WatchedStartQueue(WatchedQueue):
    pass


class KeepingQueue(LifoMemoryQueue):  # type: ignore[misc, valid-type]
    """Remembers what was built of it, and keeps under its key what it holds."""

    built, held = [], {}
    closed = 0

    @classmethod
    def from_crawler(cls, crawler, key):
        queue = cls()
        queue.key, queue.q = key, cls.held.setdefault(key, queue.q)
        cls.built.append(queue)
        return queue

    def close(self):
        self.closed += 1


class BareQueue:
    """First in, first out, with no method but the four that are required."""

    def __init__(self):
        self.items = []

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls()

    def push(self, request):
        self.items.append(request)

    def pop(self):
        return self.items.pop(0) if self.items else None

    def close(self):
        self.items.clear()

    def __len__(self):
        return len(self.items)


class QueueWithoutPeek(LifoMemoryQueue):  # type: ignore[misc, valid-type]
    def peek(self):
        raise NotImplementedError


def discard(queues, url):
    for held in queues.held.values():
        for request in [each for each in held if each.url == url]:
            held.remove(request)


def pop_urls(queue, count):
    return [getattr(queue.pop(), "url", "None") for _ in range(count)]


def pop_hosts(queue, count):
    return [urlsplit(url).netloc for url in pop_urls(queue, count)]
