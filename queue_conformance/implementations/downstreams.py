"""Downstream queues for priority queues: recorded, disturbed on demand, and outlived by what they hold.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""


class TransientError(Exception):
    """What a downstream queue raises when a push fails for the moment."""


class Store:
    """What downstream queues hold, by their keys, and all that were built; with keeps=False nothing outlives them.

    faults maps an operation to what happens the next times: an exception to raise, or None for a pop that returns None.
    """

    def __init__(self, keeps=True):
        self.keeps = keeps
        self.items = {}
        self.built = []
        self.faults = {}

    def bind(self, cls):
        return type(cls.__name__, (cls,), {"store": self})

    def disturbs(self, operation):
        if not self.faults.get(operation):
            return False
        fault = self.faults[operation].pop(0)
        if fault is not None:
            raise fault
        return True

    def discard(self, url):
        for items in self.items.values():
            items[:] = [request for request in items if request.url != url]


class BareQueue:
    """First in, first out, with no method but the four that are required."""

    first = 0

    def __init__(self, key):
        self.store.disturbs("build")
        self.key = key
        self.closed = 0
        self.items = self.store.items.setdefault(key, []) if self.store.keeps else []
        self.store.built.append(self)

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(key)

    def push(self, request):
        self.store.disturbs("push")
        if self.closed:
            raise RuntimeError("push after close")
        self.items.append(request)

    def pop(self):
        if self.closed:
            raise RuntimeError("pop after close")
        if not self.items or self.store.disturbs("pop"):
            return None
        return self.items.pop(self.first)

    def close(self):
        self.store.disturbs("close")
        self.closed += 1

    def __len__(self):
        self.store.disturbs("len")
        return len(self.items)


class FifoQueue(BareQueue):
    def peek(self):
        return self.items[self.first] if self.items else None


class LifoQueue(FifoQueue):
    first = -1


class UnpeekableQueue(BareQueue):
    def peek(self):
        raise NotImplementedError("this queue cannot peek")
