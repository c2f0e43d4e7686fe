"""Right schedulers of other kinds than the reference: none of them may be reported."""

from __future__ import annotations

import heapq
import pickle
from itertools import count

from redis import Redis, exceptions
from redis.backoff import NoBackoff
from redis.retry import Retry
from scrapy.utils.request import fingerprint, request_from_dict


class PlainScheduler:
    """It has the three methods that a scheduler needs, and nothing else: no settings, no filter, no file."""

    def __init__(self):
        self.heap, self.numbers = [], count()

    def enqueue_request(self, request):
        heapq.heappush(self.heap, (-request.priority, next(self.numbers), request))
        return True

    def next_request(self):
        return heapq.heappop(self.heap)[2] if self.heap else None

    def has_pending_requests(self):
        return bool(self.heap)


class HesitantScheduler(PlainScheduler):
    """It has nothing ready at every second call, which is permitted."""

    calls = 0

    def next_request(self):
        self.calls += 1
        return super().next_request() if self.calls % 2 == 0 else None

    def __len__(self):
        return len(self.heap)


class DeferringScheduler(HesitantScheduler):
    """Its open and close take a while, and return Deferreds."""

    def open(self, spider):
        from twisted.internet import reactor, task

        return task.deferLater(reactor, 0.001)

    def close(self, reason):
        from twisted.internet import threads

        return threads.deferToThread(self.heap.clear)


class RedisScheduler:
    """It keeps its requests in a sorted set of a Redis server, and several processes may share them."""

    def __init__(self, crawler):
        self.crawler = crawler
        url = crawler.settings.get("REDIS_URL", "redis://localhost:6379/0")
        self.server = Redis.from_url(url, socket_timeout=0.5, socket_connect_timeout=0.5, retry=Retry(NoBackoff(), 0))

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open(self, spider):
        self.spider = spider
        self.server.ping()

    def close(self, reason):
        self.server.close()

    def key(self, name):
        return f"{self.spider.name}:{name}"

    def enqueue_request(self, request):
        if not request.dont_filter and not self.server.sadd(self.key("seen"), fingerprint(request)):
            return False
        number = self.server.incr(self.key("number"))
        data = b"%020d" % number + pickle.dumps(request.to_dict(spider=self.spider))
        self.server.zadd(self.key("requests"), {data: -request.priority})
        return True

    def next_request(self):
        found = self.server.zpopmin(self.key("requests"))
        return request_from_dict(pickle.loads(found[0][0][20:]), spider=self.spider) if found else None

    def has_pending_requests(self):
        return len(self) > 0

    def __len__(self):
        return self.server.zcard(self.key("requests"))


class PatientRedisScheduler(RedisScheduler):
    """While its server cannot be reached nothing is ready, and everything is still pending."""

    known = 0

    def next_request(self):
        try:
            return super().next_request()
        except (exceptions.ConnectionError, exceptions.TimeoutError):
            return None

    def __len__(self):
        try:
            self.known = super().__len__()
        except (exceptions.ConnectionError, exceptions.TimeoutError):
            return max(1, self.known)
        return self.known
