"""Wrong queues behind a Redis server that several processes use."""

from __future__ import annotations

from contextlib import suppress
from functools import partial

from redis import exceptions

from mutants import mutant
from queue_conformance import TransientError
from queue_reference.redis import temporary_problems
from queue_reference.redis_shared import SharedFifoRedisQueue

shared = partial(
    mutant,
    control="queue_reference.redis_shared.SharedFifoRedisQueue",
    claims={"shared": "yes"},
    settings={"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.5", "REDIS_LEASE": "1"},
    server="redis",
)


# --- Each item once --------------------------------------------------------------------------------------------------


@shared(fails="queue.shared.once")
class LooksThenTakes(SharedFifoRedisQueue):
    """Looks at the next request, and takes one with another command."""

    def _take(self):
        seen = None if self._holds else self._look()
        value = super()._take()
        return value if seen is None else seen


@shared(fails="queue.shared.undisturbed")
class RaisesWhenAnotherWasFaster(SharedFifoRedisQueue):
    """Raises from pop if another process took what it had seen."""

    def _take(self):
        seen = None if self._holds else self._look()
        value = super()._take()
        if seen is not None and value != seen:
            raise LookupError("somebody else was faster")
        return value


# --- Nothing lost with a process -------------------------------------------------------------------------------------


@shared(fails=("queue.shared.no-loss", "queue.pop.reply-cut", "queue.pop.missing-callback", "queue.len.transient-nonzero"))
class RemovesWithTheReply(SharedFifoRedisQueue):
    """Removes the request with the command that returns it, and counts it out once more after a push without a reply."""

    def _take(self):
        with temporary_problems():
            return self._client.lpop(self._key)

    def _confirmation(self):
        return []


@shared(fails="queue.shared.no-loss")
class LeavesItToTheDead(SharedFifoRedisQueue):
    """Gives nothing back of what dead processes have taken, and does not count it either."""

    def _recover(self):
        return False

    def _count(self):
        own = self._taken(self._consumer)
        waiting, taken, place = self._run(("LLEN", self._key), ("LLEN", own), ("LPOS", own, self._delivered or b""))
        self._length = waiting + taken - (place is not None) - len(self._aside)


@shared(fails="queue.shared.no-loss")
class ConfirmsTooSoon(SharedFifoRedisQueue):
    """Removes a request from the list of what it has taken before pop has returned it."""

    _ready = None

    def _take(self):
        if self._ready is None:
            self._ready = super()._take()
        if self._ready is not None:
            self._run(("LREM", self._taken(self._consumer), 1, self._ready))
        return self._ready

    def _deliver(self, value):
        self._ready, self._holds = None, False

    def _set_aside(self, value):
        super()._set_aside(value)
        self._ready = None
        self._run(("RPUSH", self._taken(self._consumer), value))

    def _count(self):
        super()._count()
        if self._ready is not None:  # no list may hold it any more
            self._length += self._run(("LPOS", self._taken(self._consumer), self._ready))[-1] is None

    def close(self):
        if self._ready is not None:
            with suppress(TransientError):
                self._run(("LPUSH", self._key, self._ready))
        super().close()


@shared(fails="queue.shared.no-loss", may_fail="queue.close.keeps-fault")
class FetchesAhead(SharedFifoRedisQueue):
    """Fetches five requests at a time, and keeps those that nobody has asked for yet in memory."""

    _ahead = ()
    _most = 5

    def _take(self):
        taken = self._taken(self._consumer)
        if not self._ahead:
            moves = [] if self._holds else [("LMOVE", self._key, taken, "LEFT", "RIGHT")] * self._most
            held, self._holds = self._holds, True
            self._ahead = self._run(*moves, ("LRANGE", taken, 0, -1))[-1]
            self._holds = bool(self._ahead)
            if held and not self._ahead:
                return self._take()
        if self._holds:
            self._run(("DEL", taken))
            self._holds = False
        return self._ahead[0] if self._ahead else None

    def _deliver(self, value):
        del self._ahead[0]

    def _set_aside(self, value):
        self._aside.add(self._ahead.pop(0))

    def _count(self):
        super()._count()
        self._length += len(self._ahead)

    def close(self):
        self._most = 1
        if left := [*reversed(self._ahead), *self._aside]:
            with suppress(TransientError):
                self._run(("LPUSH", self._key, *left))
                self._ahead = []
        super().close()


# --- What cannot be rebuilt ------------------------------------------------------------------------------------------


@shared(fails="queue.pop.unreadable")
class GivesItBackAtOnce(SharedFifoRedisQueue):
    """Gives what it cannot rebuild back to all, and takes it once more."""

    def _set_aside(self, value):
        self._run(("LMOVE", self._taken(self._consumer), self._key, "RIGHT", "RIGHT"))


# --- Seen by others --------------------------------------------------------------------------------------------------


@shared(fails="queue.shared.visible")
class CountsOnItsOwn(SharedFifoRedisQueue):
    """Counts what was stored when it was opened, and what it pushed and popped itself since then."""

    _counted = False

    def push(self, request):
        try:
            super().push(request)
        except TransientError:
            self._counted = False  # it may be stored
            raise

    def _count(self):
        if not self._counted:
            super()._count()
            self._counted = True


@shared(fails="queue.shared.visible")
class BelievesItIsEmpty(SharedFifoRedisQueue):
    """Asks its server for nothing any more once that had nothing, until it pushes something itself."""

    _empty = False

    def push(self, request):
        self._empty = False
        super().push(request)

    def _next(self):
        if self._empty:
            return None
        value = super()._next()
        self._empty = value is None and not len(self)
        return value


# --- Where a length may be approximate -------------------------------------------------------------------------------


@shared(fails="queue.len.truth")
class EmptyAtTwo(SharedFifoRedisQueue):
    """Says 0 when its server counts exactly two requests."""

    def __len__(self):
        try:
            self._count()
        except (TransientError, exceptions.RedisError):
            return self._length
        return 0 if self._length == 2 else self._length
