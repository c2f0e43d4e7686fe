"""What is around a scheduler in a crawl: a crawler with an engine, queues that misbehave, filters that keep records.

Scripts quote the definitions that they need from this file word by word; they have no annotations.
"""

import datetime
import logging
import os
import pickle
import re
import time
from pathlib import Path
from types import MethodType

from scrapy import Request
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.job import job_dir
from scrapy.utils.misc import build_from_crawler, load_object
from scrapy.utils.request import fingerprint
from twisted.internet.defer import Deferred

from queue_conformance.compat.scrapy import settle, turn
from queue_conformance.script_support.example import same
from queue_conformance.script_support.interleaving import soon
from queue_conformance.script_support.processes import in_processes


def opened_for(crawler, build):
    """Build a scheduler, and open it for the spider of its crawler, where it can be opened."""
    scheduler = build()
    call_if_there(scheduler, "open", crawler.spider)
    return scheduler


def call_if_there(scheduler, method, argument):
    """Call a method that a scheduler may have, and wait until it is done."""
    if callable(getattr(scheduler, method, None)):
        result = getattr(scheduler, method)(argument)
        if isinstance(result, Deferred):
            settle(result)


def enqueued(scheduler, numbers, first=0, levels=1, hosts=1, body=b""):
    """Enqueue numbered requests, to so many hosts, at so many priorities, each second one a POST if there is a body for that;
    return the URLs of what was accepted.
    """
    accepted = []
    for number in numbers:
        host = f"{number % hosts}.example" if hosts > 1 else "example.com"
        posted = {"method": "POST", "body": body} if body and number % 2 else {}
        request = Request(f"https://{host}/{number}", priority=first + number % levels, **posted)
        if scheduler.enqueue_request(request):
            accepted.append(request.url)
    return accepted


def body_sizes_lost(scheduler, sizes):
    """Enqueue a request with a body of each of these sizes, take out everything; return the sizes of those that were lost."""
    requests = [Request(f"https://example.com/{size}", body=b"x" * size) for size in sizes]
    accepted = {len(request.body) for request in requests if scheduler.enqueue_request(request)}
    return sorted(accepted - {len(request.body) for request in taken(scheduler)})


def taken(scheduler, timeout=3.0):
    """Take out everything that is pending; None only says that nothing is ready yet."""
    requests, silent, end = [], 0, time.monotonic() + timeout
    while len(requests) < 2000:
        request = scheduler.next_request()
        if request is not None:
            requests.append(request)
            silent, end = 0, time.monotonic() + timeout
        elif not scheduler.has_pending_requests() or time.monotonic() > end:
            break
        else:
            silent += 1
            turn(0.001 * min(silent // 2, 10))
    return requests


def drain(scheduler, timeout=3.0):
    """Take out everything that is pending; return the URLs."""
    return [request.url for request in taken(scheduler, timeout)]


def outcomes_of_requests(scheduler, most, timeout=3.0):
    """Take out what is pending, so many times at most; return the URLs of what came, and the exceptions."""
    outcomes, end = [], time.monotonic() + timeout
    while len(outcomes) < most and time.monotonic() < end:
        try:
            request = scheduler.next_request()
        except Exception as error:
            request = error
        if request is not None:
            outcomes.append(getattr(request, "url", request))
            end = time.monotonic() + timeout
        elif not scheduler.has_pending_requests():
            break
        else:
            turn(0.001)
    return outcomes


def pass_requests(scheduler, numbers, size, timeout=3.0):
    """Enqueue numbered requests with bodies of a size, and take one out for each but the first; return how many were accepted."""
    accepted = 0
    for number in numbers:
        request = Request(f"https://example.com/{number}", method="POST", body=b"x" * size)
        accepted += bool(scheduler.enqueue_request(request))
        end = time.monotonic() + timeout
        while number > 0 and scheduler.next_request() is None and scheduler.has_pending_requests() and time.monotonic() < end:
            turn(0.001)  # nothing is ready yet
    return accepted


def own_method(spider):
    """Give one spider a method that others of its class do not have, and return it."""

    def parse_later(self, response): ...

    spider.parse_later = MethodType(parse_later, spider)
    return spider.parse_later


def use_scheduler(open_scheduler, operation, *arguments):
    """Open a scheduler, do one operation, and close it if that was not the one, in as many steps."""
    scheduler = open_scheduler()
    yield
    if operation != "close":
        received = getattr(scheduler, operation)(*arguments)
        yield getattr(received, "url", received)
    call_if_there(scheduler, "close", "shutdown")
    yield


def overtake_requests(open_scheduler, request):
    """Open a scheduler, enqueue and take a request, take until another one comes, and close it, in as many steps."""
    scheduler = open_scheduler()
    yield
    scheduler.enqueue_request(request)
    received = [taken.url for taken in [scheduler.next_request()] if taken is not None]
    yield
    while len(received) < 2 and (taken := soon(scheduler.next_request, lambda taken: taken is not None, 1.5)) is not None:
        received.append(taken.url)
    yield received
    call_if_there(scheduler, "close", "shutdown")
    yield


def drained_at_once(open_scheduler, count):
    """Let so many processes take out of a scheduler at once what they get; return the URLs."""

    def work(barrier):
        scheduler = open_scheduler()
        barrier.wait()
        return drain(scheduler)

    return [url for urls in in_processes([work] * count) for url in urls]


class Patient:
    """Asks a scheduler again while it raises: it may take a moment to find out that its server is back."""

    def __init__(self, scheduler, timeout=2.0):
        self.scheduler, self.timeout = scheduler, timeout

    def __getattr__(self, name):
        method = getattr(self.scheduler, name)

        def ask(*arguments):
            end = time.monotonic() + self.timeout
            while True:
                try:
                    return method(*arguments)
                except Exception:
                    if time.monotonic() > end:
                        raise
                    time.sleep(0.02)

        return ask


def number_of(request):
    """Return the number that the URL of a request begins with, or None."""
    found = re.match(r"https://example\.com/(\d+)", request.url)
    return int(found[1]) if found else None


def ordinary():
    """Return a value of every type that documents name."""
    moments = [datetime.datetime(2026, 1, 2, 3, 4, 5, 6), datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)]
    return [None, True, 7, 0.5, "é", "e\u0301", b"\xff", (1, "a"), {1, 2}, {"a": {1: ()}}, *moments]


def changed(before, after):
    """Return the names of what differs between two requests; a scheduler may add to meta what it needs itself."""
    if type(before) is not type(after):
        return ["class"]
    values = {name: (getattr(before, name), getattr(after, name)) for name in before.attributes}
    values["meta"] = before.meta, {key: value for key, value in after.meta.items() if key in before.meta}
    return [name for name, (old, new) in values.items() if not same(old, new)]


class ShelfQueue:
    """A queue, first in, first out, whose requests outlive it, in no file."""

    shelf = {}  # by the keys of queues, their requests

    def __init__(self, crawler, key):
        self.requests = self.shelf.setdefault(key, [])

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def push(self, request):
        self.requests.append(request)

    def pop(self):
        return self.requests.pop(0) if self.requests else None

    def close(self):
        pass

    def __len__(self):
        return len(self.requests)


class NestedPriorityQueue:
    """A priority queue whose state is a dictionary of lists: {"buckets": [[5, ""], [0, "s"]]}."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=None, *, start_queue_cls=None):
        self.crawler, self.key, self.queues = crawler, key, {}
        self.classes = {"": downstream_queue_cls, "s": start_queue_cls}
        if startprios and "buckets" not in startprios:
            raise ValueError("the state is of another priority queue")
        for priority, suffix in startprios["buckets"] if startprios else ():
            self.queue(priority, suffix)

    @classmethod
    def from_crawler(cls, crawler, downstream_queue_cls, key, startprios=None, *, start_queue_cls=None):
        return cls(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)

    def queue(self, priority, suffix):
        if (priority, suffix) not in self.queues:
            built = build_from_crawler(self.classes[suffix], self.crawler, f"{self.key}/{priority}{suffix}")
            self.queues[priority, suffix] = built
        return self.queues[priority, suffix]

    def push(self, request):
        start = request.meta.get("is_start_request") and self.classes["s"]
        self.queue(request.priority, "s" if start else "").push(request)

    def pop(self):
        filled = [bucket for bucket, queue in self.queues.items() if len(queue)]
        if not filled:
            return None
        return self.queues[max(filled, key=lambda bucket: (bucket[0], bucket[1] == ""))].pop()

    def close(self):
        filled = [list(bucket) for bucket, queue in self.queues.items() if len(queue)]
        for queue in self.queues.values():
            queue.close()
        self.queues.clear()
        return {"buckets": filled}

    def __len__(self):
        return sum(map(len, self.queues.values()))


class NotedFilter(BaseDupeFilter):
    """It filters nothing but what it saw, and notes how it is used."""

    calls = []
    built = 0  # how many there are
    answer = None  # what open and close return

    def __init__(self):
        NotedFilter.built += 1
        self.urls = set()

    def open(self):
        self.calls.append("open")
        return self.answer

    def close(self, reason):
        self.calls.append(f"close {reason}")
        return self.answer

    def request_seen(self, request):
        seen = request.url in self.urls
        self.urls.add(request.url)
        return seen

    def log(self, request, spider):
        self.calls.append(f"log {request.url} {spider.name}")


def filter_calls():
    """Return how noted filters were used."""
    return list(NotedFilter.calls)


def kind_of(result):
    """Say what open or close returned."""
    if isinstance(result, Deferred):
        return "a Deferred that fired" if result.called else "a Deferred"
    return "None" if result is None else type(result).__name__


def damage_file(path, size=None):
    """Give a file another size; without one, damage a URL in it."""
    if size is not None:
        os.truncate(path, size)
    else:
        content = Path(path).read_bytes()
        Path(path).write_bytes(content.replace(b"://example.com/3", b"://" + b"\xff" * 7 + b".com/3"))


def list_otherwise(directory, urls, binary):
    """Replace each file with fingerprints of these URLs by one that some releases of Scrapy would write; return how many."""
    listed = [fingerprint(Request(url)) for url in urls]
    forms = [form for one in listed for form in (one, one.hex().encode())]
    found = [path for path in Path(directory).rglob("*") if path.is_file()]
    found = [path for path in found if any(form in path.read_bytes() for form in forms)]
    for path in found:
        lines = [len(one).to_bytes(2, "big") + one if binary else one.hex().encode() + b"\n" for one in listed]
        path.write_bytes(b"".join(lines))
    return len(found)


class RefusingFilter(BaseDupeFilter):
    """It cannot be opened."""

    def open(self):
        raise ValueError("refused")


class LastingFilter(BaseDupeFilter):
    """It writes what it has seen to a file of the job directory at once."""

    def __init__(self, path):
        self.file = open(path, "a+")
        self.file.seek(0)
        self.urls = set(self.file.read().split())

    @classmethod
    def from_crawler(cls, crawler):
        return cls(job_dir(crawler.settings) + "/seen")

    def request_seen(self, request):
        seen = request.url in self.urls
        self.urls.add(request.url)
        self.file.write(f"{request.url}\n")
        self.file.flush()
        return seen

    def close(self, reason):
        self.file.close()

    def log(self, request, spider):
        pass
