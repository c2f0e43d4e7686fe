"""Downstream queues for priority queues: they can be looked into and made to fail, and what they hold can outlive them.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import itertools
import json
import os
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from scrapy import Request

with suppress(ImportError):  # Windows
    import resource


class Store:
    """What downstream queues hold, by key, and all of them that were built; with persistent=False nothing outlives them."""

    def __init__(self, normal, start=None, persistent=True):
        self.persistent = persistent
        self.items, self.built = {}, []
        self.normal, self.start = (cls and type(cls.__name__, (cls,), {"store": self}) for cls in (normal, start))


class BareQueue:
    """First in, first out, with no method but the four that are required."""

    first = 0

    def __init__(self, key):
        self.key, self.closed = key, 0
        self.items = self.store.items.setdefault(key, []) if self.store.persistent else []
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


class QueueLikeSQLite(LifoQueue):
    def __len__(self):
        assert not self.closed, "len after close"
        return super().__len__()


class UnpeekableQueue(BareQueue):
    def peek(self):
        raise NotImplementedError("this queue cannot peek")


class TransientError(Exception):
    """What a downstream queue raises when a push fails for the moment."""


@contextmanager
def disturbed(store, operation, *faults):
    """Meanwhile, the next calls of an operation raise; None lets a pop return None while there is something."""
    waiting = list(faults)
    usual = {cls: getattr(cls, operation) for cls in (store.normal, store.start) if cls}
    for cls, method in usual.items():
        setattr(cls, operation, failing(method, waiting))
    try:
        yield waiting
    finally:
        for cls, method in usual.items():
            setattr(cls, operation, method)


def failing(usual, waiting):
    """Return a method that does what waits, and as usual once nothing does."""

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


def outside(store, directory):
    """Return the keys of downstream queues, relative to a directory, that are not below it."""
    keys = {os.path.relpath(queue.key, directory) for queue in store.built}
    return sorted(key for key in keys if key.split(os.sep)[0] == os.pardir)


def through_json(left):
    """Return state as the scheduler reads it when it resumes."""
    return json.loads(json.dumps(left))


# --- Ways to use a priority queue ------------------------------------------------------------------------------------


def pop_urls(queue, count):
    """Pop until so many requests have come, None between them left out; return their URLs."""
    popped = (queue.pop() for _ in range(2 * count + 2))
    return list(itertools.islice((getattr(each, "url", repr(each)) for each in popped if each is not None), count))


def regrown(build, items, counts):
    """Push requests, close and resume at each of these counts, at last pop all; return the first count of which not all came."""
    queue, pushed = build(()), 0
    for count in counts:
        while pushed < count:
            queue.push(next(items))
            pushed += 1
        queue = build(through_json(queue.close() or ()))
        if len(queue) != count:
            return count, len(queue)
    received = len({*pop_urls(queue, pushed)})
    queue.close()
    return pushed, received


def pop_hosts(queue, count, peeks=(0,)):
    """Pop so many requests, each after some peeks; return the hosts of their URLs."""
    hosts = []
    for number in range(count):
        for _ in range(peeks[number % len(peeks)]):
            queue.peek()
        hosts += [urlsplit(url).netloc for url in pop_urls(queue, 1)]
    return hosts


def peeked_otherwise(queue, count):
    """Peek, and pop what peek should have shown, so many times; return the URLs of requests that peek did not show."""
    pairs = ((queue.peek(), queue.pop()) for _ in range(count))
    return [popped.url for peeked, popped in pairs if popped and (peeked and peeked.url) != popped.url]


def pops_before(queue, host, others, count, most):
    """Pop, each time after a push to another of so many hosts; return how many pops it takes until one host is served."""
    for number in range(1, most):
        queue.push(Request(f"https://{others.format(number % count)}/{number}"))
        if host in pop_hosts(queue, 1):
            return number
    return most


def contains(queue, slot):
    """Return what a priority queue says when it is asked whether a slot has requests."""
    return slot in queue


def fill_buckets(queue, numbers, slots, started=True):
    """Push a request for each number, to a slot or at a priority of its own; return the URLs.

    Each third one is a start request, if there are to be some. The first gets another one beside it at once, and one when all
    others are there; the second gets another one at once.
    """
    pushed = []
    for place, number in enumerate(numbers):
        host, priority = (f"{number}.example", 0) if slots else ("a.example", number)
        meta = {"is_start_request": True} if started and place % 3 == 0 else {}
        pushed.append(Request(f"https://{host}/{number}", priority=priority, meta=meta))
    first = pushed[0]
    twice = [second.replace(url=f"{second.url}/twice") for second in pushed[1:2]]
    pushed[1:1] = [first.replace(url=f"{first.url}/again", meta={}), *twice]
    pushed.append(first.replace(url=f"{first.url}/late"))
    for request in pushed:
        queue.push(request)
    return [request.url for request in pushed]


@contextmanager
def few_files(most):
    """Meanwhile, this process can open no more files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
