"""Schedulers that several crawlers use, and what is wrong between two statements of them."""

from __future__ import annotations

from functools import partial

from mutants import mutant
from mutants.controls_schedulers import RedisScheduler

shared = partial(
    mutant,
    control="mutants.controls_schedulers.RedisScheduler",
    claims={"shared": "yes"},
    settings={"REDIS_URL": "redis://{host}:{port}/0"},
    server="redis",
)


@shared(fails="scheduler.shared")
class InsistsOnWhatItSaw(RedisScheduler):
    """Raises where another process has taken what it saw."""

    def next_stored(self):
        found = self.server.zrange(self.key("requests"), 0, 0)
        if not found:
            return None
        if not self.server.zrem(self.key("requests"), found[0]):
            raise LookupError("somebody else was faster")
        return found[0]


@shared(fails="scheduler.shared-visible")
class CountsOnItsOwn(RedisScheduler):
    """Counts what is stored when it is opened, and what it does itself since then."""

    def open(self, spider):
        super().open(spider)
        self._count = self.server.zcard(self.key("requests"))

    def enqueue_request(self, request):
        accepted = super().enqueue_request(request)
        self._count += bool(accepted)
        return accepted

    def next_request(self):
        try:
            request = super().next_request()
        except ValueError:  # it cannot be rebuilt
            self._count -= 1
            raise
        self._count = max(0, self._count - (request is not None))
        return request

    def __len__(self):
        return self._count


NUMBERED = """
if ARGV[2] ~= '' and redis.call('sadd', KEYS[2], ARGV[2]) == 0 then return 0 end
return redis.call('zadd', KEYS[1], ARGV[1], ARGV[3])
"""


@shared(fails="scheduler.shared-visible", may_fail="scheduler.next.priority", hint="What is stored later may have been")
class TakesBehindTheLastOne(RedisScheduler):
    """Numbers a request before it stores it, and looks only behind the one that it took last."""

    last = 0

    def store(self, print_, score, data):
        number = self.server.incr(self.key("number"))
        keys = self.key("requests"), self.key("seen")
        return bool(self.server.eval(NUMBERED, 2, *keys, number, print_, f"{number:020}".encode() + data))

    def next_stored(self):
        behind = self.server.zrangebyscore(self.key("requests"), f"({self.last}", "+inf", start=0, num=1)
        if not behind or not self.server.zrem(self.key("requests"), behind[0]):
            return None
        self.last = int(behind[0][:20])
        return behind[0]
