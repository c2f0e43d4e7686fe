"""A queue behind a Redis server that takes requests ahead of those who pop."""

from __future__ import annotations

from contextlib import suppress

from redis import exceptions

from mutants import mutant
from queue_reference.redis import FifoRedisQueue


@mutant(
    fails="queue.close.keeps-fault",
    may_fail="queue.close.use-after",
    settings={"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.5"},
    server="redis",
)
class TakesEightAhead(FifoRedisQueue):
    """A pop takes eight requests out of the server; those that nobody got go back at the close, if the server is there."""

    def __init__(self, crawler, key):
        self.ahead = []
        super().__init__(crawler, key)

    def pop(self):
        while len(self.ahead) < 8 and (request := super().pop()) is not None:
            self.ahead.append(request)
        return self.ahead.pop(0) if self.ahead else None

    def peek(self):
        return self.ahead[0] if self.ahead else super().peek()

    def close(self):
        with suppress(exceptions.RedisError):
            if self.ahead:
                self._remove_delivered()
            for request in reversed(self.ahead):
                self._client.lpush(self._key, self._value_of(request))
        self.ahead = []
        super().close()

    def __len__(self):
        return len(self.ahead) + super().__len__()
