"""Downstream queues for priority queues: recorded, disturbed on demand, and outlived by what they hold.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""


class Store:
    """What downstream queues hold, by key, and all that were built; with keeps=False nothing outlives them."""

    def __init__(self, keeps=True):
        self.keeps = keeps
        self.items, self.built, self.classes = {}, [], []

    def bind(self, cls):
        self.classes.append(type(cls.__name__, (cls,), {"store": self}))
        return self.classes[-1]


class BareQueue:
    """First in, first out, with no method but the four that are required."""

    first = 0

    def __init__(self, key):
        self.key, self.closed = key, 0
        self.items = self.store.items.setdefault(key, []) if self.store.keeps else []
        self.store.built.append(self)

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(key)

    def push(self, request):
        assert not self.closed, "push after close"
        self.items.append(request)

    def pop(self):
        assert not self.closed, "pop after close"
        return self.items.pop(self.first) if self.items else None

    def close(self):
        self.closed += 1

    def __len__(self):
        return len(self.items)


class FifoQueue(BareQueue):
    def peek(self):
        return self.items[self.first] if self.items else None


class LifoQueue(FifoQueue):
    first = -1


class UnpeekableQueue(BareQueue):
    def peek(self):
        raise NotImplementedError("this queue cannot peek")


class TransientError(Exception):
    """What a downstream queue raises when a push fails for the moment."""


def disturb(store, operation, *faults):
    """Let the next calls of an operation raise; None lets a pop return None while there is something."""
    waiting = list(faults)
    for cls in store.classes:
        setattr(cls, operation, disturbed(getattr(cls, operation), waiting))
    return waiting


def disturbed(usual, waiting):
    def call(self, *arguments):
        if not waiting or (waiting[0] is None and not self.items):
            return usual(self, *arguments)
        if error := waiting.pop(0):
            raise error

    return call


def discard(store, url):
    """Take a request out of a store, behind the back of the priority queue."""
    for items in store.items.values():
        items[:] = [request for request in items if request.url != url]
