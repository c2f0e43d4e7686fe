"""Right classes that derive from nothing, with the fewest methods that each interface allows, written in unusual ways."""

from __future__ import annotations

import bisect
import heapq
import json
import logging
import pickle
import uuid
from abc import ABCMeta
from collections import deque
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.request import fingerprint, request_from_dict


class BareMemoryQueue:
    """What a scheduler keeps in memory, last in, first out."""

    def __init__(self):
        self.requests = []

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls()

    def push(self, request):
        self.requests.append(request)

    def pop(self):
        return self.requests.pop() if self.requests else None

    def close(self):
        pass

    def __len__(self):
        return len(self.requests)


class CopyingQueue(BareMemoryQueue):
    """It hands out copies, which share their values with what was pushed."""

    def push(self, request):
        super().push(request.copy())


class SlottedQueue:
    """Its objects have no dictionary, its arguments have no names, and close returns something."""

    __slots__ = ("_requests",)

    def __init__(self, crawler, key, /):
        self._requests = deque()

    @classmethod
    def from_crawler(cls, crawler, key, /):
        return cls(crawler, key)

    def push(self, request, /):
        self._requests.append(request)

    def pop(self):
        return self._requests.popleft() if self._requests else None

    def close(self):
        return [*self._requests]

    def __len__(self):
        return len(self._requests)


class Registered(ABCMeta):
    """A metaclass that counts its classes, and lists what they have."""

    classes = count()

    def __init__(cls, *arguments: Any) -> None:
        super().__init__(*arguments)
        cls.number = next(Registered.classes)

    def __len__(cls):
        return cls.number

    def __iter__(cls):
        return iter(vars(cls))


@dataclass
class DataclassQueue(metaclass=Registered):
    """Objects of it are equal if they hold the same, so that they have no hash; its methods are properties."""

    requests: list[Any] = field(default_factory=list)

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls()

    @property
    def push(self):
        return self.requests.append

    @property
    def pop(self):
        return lambda: self.requests.pop(0) if self.requests else None

    @property
    def close(self):
        return lambda: None

    def __len__(self):
        return len(self.requests)


class Delegates:
    """It has no method but those that Python asks its class for; others it takes from what it holds."""

    def __init__(self, key):
        self._inner = BareMemoryQueue()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def __len__(self):
        return len(self._inner)


class HoldsRequests(Protocol):
    """What the next class says that it is."""

    def push(self, request: Any) -> None: ...
    def pop(self) -> Any: ...
    def close(self) -> None: ...
    def __len__(self) -> int: ...


class BareDiskQueue(HoldsRequests):
    """It writes all that it holds at once, when it is closed."""

    def __init__(self, crawler: Any, key: str) -> None:
        self._spider, self._file = crawler.spider, Path(key)
        self._requests: list[bytes] = pickle.loads(self._file.read_bytes()) if self._file.exists() else []

    @classmethod
    def from_crawler(cls, crawler: Any, key: str) -> BareDiskQueue:
        return cls(crawler, key)

    def push(self, request: Any) -> None:
        try:
            stored = pickle.dumps(request.to_dict(spider=self._spider))
            request_from_dict(pickle.loads(stored), spider=self._spider)
        except Exception as error:
            raise ValueError(f"cannot store {request}") from error
        self._requests.append(stored)

    def pop(self) -> Any:
        return request_from_dict(pickle.loads(self._requests.pop(0)), spider=self._spider) if self._requests else None

    def close(self) -> None:
        if self._requests:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new = self._file.with_name(f"{self._file.name}-{uuid.uuid4().hex}")
            new.write_bytes(pickle.dumps(self._requests))
            new.replace(self._file)
        else:
            self._file.unlink(missing_ok=True)

    def __len__(self) -> int:
        return len(self._requests)


class BareByteQueue:
    """Bytes in memory."""

    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        return self.items.pop() if self.items else None

    def peek(self):
        return self.items[-1] if self.items else None

    def close(self):
        pass

    def __len__(self):
        return len(self.items)


class BareBytePriorityQueue:
    """The lowest priority first."""

    def __init__(self, qfactory, startprios=()):
        self.factory, self.queues = qfactory, {}
        for priority in startprios:
            self._keep(priority, qfactory(priority))

    def _keep(self, priority, queue):
        if len(queue):
            self.queues[priority] = queue
        else:
            queue.close()
            self.queues.pop(priority, None)

    def push(self, item, priority=0):
        queue = self.queues.get(priority) or self.factory(priority)
        try:
            queue.push(item)
        finally:
            self._keep(priority, queue)

    def pop(self):
        if not self.queues:
            return None
        priority = min(self.queues)
        item = self.queues[priority].pop()
        self._keep(priority, self.queues[priority])
        return item

    def close(self):
        for queue in self.queues.values():
            queue.close()
        return [*self.queues]

    def __len__(self):
        return sum(map(len, self.queues.values()))


class BareRoundRobinQueue:
    """One item of each key in turn."""

    def __init__(self, qfactory, start_domains=()):
        self.factory, self.queues = qfactory, {}
        for key in start_domains:
            self._keep(key, qfactory(key))

    _keep = BareBytePriorityQueue._keep
    close = BareBytePriorityQueue.close
    __len__ = BareBytePriorityQueue.__len__

    def push(self, item, key):
        queue = self.queues.get(key) or self.factory(key)
        try:
            queue.push(item)
        finally:
            self._keep(key, queue)

    def pop(self):
        if not self.queues:
            return None
        key = next(iter(self.queues))
        queue = self.queues.pop(key)
        item = queue.pop()
        self._keep(key, queue)
        return item


class BarePriorityQueue:
    """A downstream queue for each priority, the highest first."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), *, start_queue_cls=None):
        self._crawler, self._classes, self._key = crawler, (downstream_queue_cls, start_queue_cls), key
        self._queues = {}
        for priority, start in startprios or ():
            self._keep((priority, start), self._open((priority, start)))

    @classmethod
    def from_crawler(cls, crawler, downstream_queue_cls, key, startprios=(), *, start_queue_cls=None):
        return cls(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)

    def _open(self, place):
        priority, start = place
        return self._classes[start].from_crawler(self._crawler, f"{self._key}/{priority}{'s' * start}")

    def _keep(self, place, queue):
        if len(queue):
            self._queues[place] = queue
        else:
            queue.close()
            self._queues.pop(place, None)

    def push(self, request):
        place = -request.priority, bool(self._classes[1] and request.meta.get("is_start_request"))
        queue = self._queues.get(place) or self._open(place)
        try:
            queue.push(request)
        finally:
            self._keep(place, queue)

    def pop(self):
        while self._queues:
            place = min(self._queues)
            queue = self._queues[place]
            request = queue.pop()
            self._keep(place, queue)
            if request is not None or place in self._queues:
                return request
        return None

    def close(self):
        for queue in self._queues.values():
            queue.close()
        left, self._queues = [*self._queues], {}
        return left

    def __len__(self):
        return sum(map(len, self._queues.values()))


class NestedState(BarePriorityQueue):
    """Its state says more of each priority, in the form of JSON: ``{"queues": [[0, false], [-1, true]]}``."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), *, start_queue_cls=None):
        places = startprios["queues"] if startprios else ()
        super().__init__(crawler, downstream_queue_cls, key, map(tuple, places), start_queue_cls=start_queue_cls)

    def close(self):
        left = super().close()
        return json.loads(json.dumps({"queues": left})) if left else {}


class BareScheduler:
    """The three methods that a scheduler needs."""

    def __init__(self):
        self.requests = []

    def enqueue_request(self, request):
        bisect.insort(self.requests, request, key=lambda one: one.priority)
        return True

    def next_request(self):
        return self.requests.pop() if self.requests else None

    def has_pending_requests(self):
        return bool(self.requests)


class SlottedScheduler:
    """Its objects have no dictionary, its answers are objects that are true or false, and it counts what it holds."""

    __slots__ = ("_heap", "_numbers")

    def __init__(self):
        self._heap, self._numbers = [], count()

    @classmethod
    def from_crawler(cls, crawler, /):
        return cls()

    def open(self, spider, /):
        return None

    def close(self, reason, /):
        return None

    def enqueue_request(self, request, /):
        heapq.heappush(self._heap, (-request.priority, -next(self._numbers), request))
        return True

    def next_request(self):
        return heapq.heappop(self._heap)[2] if self._heap else None

    def has_pending_requests(self):
        return len(self._heap) > 0

    def __len__(self):
        return len(self._heap)


class BareDupeFilter:
    """It remembers fingerprints."""

    def __init__(self):
        self.seen = set()

    def request_seen(self, request):
        found = fingerprint(request)
        return found in self.seen or self.seen.add(found) is not None

    def open(self):
        pass

    def close(self, reason):
        pass

    def log(self, request, spider):
        pass


class BareSpiderState:
    """It keeps the state in one file of the job directory."""

    def __init__(self, directory):
        self.file = Path(directory, "state")

    @classmethod
    def from_crawler(cls, crawler):
        if not crawler.settings["JOBDIR"]:
            raise NotConfigured
        state = cls(crawler.settings["JOBDIR"])
        crawler.signals.connect(state.spider_opened, signals.spider_opened)
        crawler.signals.connect(state.spider_closed, signals.spider_closed)
        return state

    def spider_opened(self, spider):
        spider.state = {}
        if self.file.exists():
            try:
                spider.state = dict(pickle.loads(self.file.read_bytes()))
            except Exception as error:
                logging.error("The state cannot be read: %s", error)
                self.file.rename(self.file.with_suffix(f".{uuid.uuid4().hex}"))

    def spider_closed(self, spider):
        new = self.file.with_suffix(".new")
        new.write_bytes(pickle.dumps(spider.state))
        new.replace(self.file)
