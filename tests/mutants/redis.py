"""Wrong queues behind a Redis server."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import ClassVar

from redis import Redis, exceptions

from mutants import mutant, refusals
from queue_conformance import TransientError
from queue_reference.redis import ID_LENGTH, FifoRedisQueue, LifoRedisQueue, temporary_problems

served = partial(
    mutant,
    control="queue_reference.redis.FifoRedisQueue",
    settings={"REDIS_URL": "redis://{host}:{port}/0", "REDIS_TIMEOUT": "0.5"},
    server="redis",
)


# --- Construction ----------------------------------------------------------------------------------------------------


@served(fails="queue.ctor.fail-early")
class ConnectsLater(FifoRedisQueue):
    """Does not find out while it is built that its server cannot be reached."""

    def __init__(self, crawler, key):
        try:
            super().__init__(crawler, key)
        except exceptions.ConnectionError:
            self._length = 1


@served(fails="queue.ctor.fail-early")
class AsksWithoutAPassword(FifoRedisQueue):
    """Takes a server that wants a password for one that is there."""

    def __init__(self, crawler, key):
        try:
            super().__init__(crawler, key)
        except exceptions.AuthenticationError:
            self._length = 0


@served(fails="queue.ctor.fail-early")
class MakesUpALength(FifoRedisQueue):
    """Takes what it knew of a key before for granted while its server cannot be reached."""

    _known: ClassVar = {}

    def __init__(self, crawler, key):
        try:
            super().__init__(crawler, key)
        except exceptions.ConnectionError:
            if key not in self._known:
                raise
            self._length = self._known[key]

    def close(self):
        self._known[self._key.decode()] = self._length
        super().close()


# --- Push ------------------------------------------------------------------------------------------------------------


@served(fails=("queue.push.transient-error", "queue.push.transient-after-success"))
class RaisesWhatTheClientRaises(FifoRedisQueue):
    """Lets the connection errors of its client through."""

    def push(self, request):
        try:
            super().push(request)
        except TransientError as error:
            raise error.__cause__ from None


@served(fails="queue.push.transient-after-success", may_fail="queue.push.transient-error")
class TakesARefusalForPermanent(FifoRedisQueue):
    """Takes a server that went away for one that never was there."""

    def push(self, request):
        try:
            super().push(request)
        except TransientError as error:
            if "refused" in str(error):
                raise RuntimeError("there is no server") from error
            raise


@served(fails=("queue.push.transient-error", "queue.push.transient-after-success"))
class SwallowsAFailedPush(FifoRedisQueue):
    """Returns from a push that failed as if nothing had happened."""

    def push(self, request):
        with suppress(TransientError):
            super().push(request)


@served(fails="queue.push.permanent-error")
class CallsEverythingTransient(FifoRedisQueue):
    """Maps every error of its client to the transient one."""

    def push(self, request):
        try:
            super().push(request)
        except exceptions.RedisError as error:
            raise TransientError(str(error)) from error


@served(fails="queue.push.permanent-error")
class SwallowsWhatIsPermanent(FifoRedisQueue):
    """Returns from a push that the server refused for good as if nothing had happened."""

    def push(self, request):
        with suppress(exceptions.RedisError):
            super().push(request)


@served(fails="queue.push.retry")
class NeverForgivesAnOutage(FifoRedisQueue):
    """Calls every push transient after one was, although its server is back."""

    _gone = False

    def push(self, request):
        if self._gone:
            raise TransientError("the server was away once")
        try:
            super().push(request)
        except TransientError:
            self._gone = True
            raise


@served(fails=("queue.push.retry", "queue.push.failed-no-trace-fault"))
class StoresTwiceOnRetry(FifoRedisQueue):
    """Keeps what could not be pushed and stores it before the next push, although the caller pushes it again."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._failed = []

    def push(self, request):
        while self._failed:
            super().push(self._failed[0])
            del self._failed[0]
        try:
            super().push(request)
        except TransientError:
            self._failed += [request, request]
            raise


@served(fails="queue.push.retry", hint="Let a client not repeat")
class AsksOnceMore(FifoRedisQueue):
    """Pushes again where no reply came, as a client does that tries again by itself."""

    def push(self, request):
        try:
            super().push(request)
        except TransientError:
            super().push(request)


@served(fails="queue.push.bounded-time")
class WaitsForAnAnswer(FifoRedisQueue):
    """Waits without an end for a server that says nothing."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._client.close()
        self._client = Redis.from_url(crawler.settings["REDIS_URL"], socket_timeout=None)


@served(fails="queue.persist.reopen", hint="Give nothing that holds items")
class ForgetsInAnHour(FifoRedisQueue):
    """Its key lives for an hour from the last push on, and all that waits goes with it."""

    def _store(self, value):
        super()._store(value)
        self._client.expire(self._key, 3600)


# --- Pop -------------------------------------------------------------------------------------------------------------


@served(fails="queue.pop.empty-none", may_fail=("queue.push.failed-no-trace-fault", "queue.close.keeps-fault"))
class AsksUntilSomethingComes(FifoRedisQueue):
    """Asks its server again and again where nothing is stored, and never returns."""

    def pop(self):
        with suppress(exceptions.RedisError):
            while not self._length and not self._uncertain:
                self._client.ping()
        return super().pop()


@served(fails="queue.pop.transient-none")
class PopRaises(FifoRedisQueue):
    """Raises from pop while its server cannot be reached."""

    def pop(self):
        self._look_again()
        return super().pop()

    def _look_again(self):
        with temporary_problems():
            self._client.ping()


@served(fails=("queue.pop.reply-cut", "queue.pop.unreadable"))
class LosesACutReply(FifoRedisQueue):
    """Removes the item with the command that returns it: if the reply is cut, it is lost; puts back what it cannot rebuild."""

    def pop(self):
        try:
            with temporary_problems():
                value = self._client.lpop(self._key)
                self._length = self._client.llen(self._key)
        except TransientError:
            return None
        if value is None:
            return None
        try:
            return self._rebuild(value[len(self._signature) + ID_LENGTH :])
        except ValueError:
            self._client.lpush(self._key, value)
            raise

    def __len__(self):
        with suppress(TransientError), temporary_problems():
            self._length = self._client.llen(self._key)
        return self._length


@served(fails="queue.pop.fault-once")
class ForgivesALostDelete(FifoRedisQueue):
    """Returns what it could not remove, because its server went between the two commands, and again when it is back."""

    def pop(self):
        request = super().pop()
        with suppress(TransientError), temporary_problems():
            self._remove_delivered()
        self._delivered = None
        return request


@served(fails="queue.pop.permanent-raises")
class TakesRefusalForEmptiness(FifoRedisQueue):
    """Returns None when the server refuses a pop for good."""

    def pop(self):
        with suppress(exceptions.ResponseError):
            return super().pop()


@served(fails="queue.pop.unreadable")
class StaysAtWhatIsUnreadable(FifoRedisQueue):
    """Rebuilds a request before it notes that it was there, and raises at the same one for ever."""

    def pop(self):
        self.peek()
        return super().pop()


@served(fails="queue.pop.unreadable")
class CountsWhatItSetAside(LifoRedisQueue):
    """Sets aside what cannot be rebuilt, and goes on counting it."""

    def __len__(self):
        return super().__len__() + len(self._aside)


@served(fails=("queue.pop.transient-keeps", "queue.pop.reply-cut", "queue.push.failed-no-trace-fault"))
class ReconnectsToAnotherDatabase(FifoRedisQueue):
    """Stores and looks in another database after it had to connect again, and does not miss what is not there."""

    def _look(self):
        with suppress(LookupError):
            return super()._look()
        return None

    def _find(self):
        found = super()._find()
        self._forget_database()
        return found

    def push(self, request):
        try:
            super().push(request)
        except TransientError:
            self._forget_database()
            raise

    def _forget_database(self):
        try:
            self._client.ping()
        except (exceptions.ConnectionError, exceptions.TimeoutError):
            pool = self._client.connection_pool
            pool.connection_kwargs["db"] = 1
            pool.reset()


# --- Length ----------------------------------------------------------------------------------------------------------


class _AsksForItsLength(FifoRedisQueue):
    def __len__(self):
        with temporary_problems():
            waiting = self._client.llen(self._key)
        return waiting - (self._delivered is not None) - len(self._aside)


@served(fails="queue.len.transient-no-raise")
class LengthRaises(_AsksForItsLength):
    """Raises from len while its server cannot be reached."""


@served(fails="queue.len.transient-nonzero")
class EmptyDuringAnOutage(_AsksForItsLength):
    """Says 0 while its server cannot be reached."""

    def __len__(self):
        try:
            return super().__len__()
        except TransientError:
            return 0


@served(fails="queue.len.last-known")
class OneDuringAnOutage(_AsksForItsLength):
    """Says 1 while its server cannot be reached, whatever it knew before."""

    def __len__(self):
        try:
            return super().__len__()
        except TransientError:
            return 1


@served(fails=("queue.len.transient-nonzero", "queue.len.transient-no-raise"), hint="A push without a reply")
class CountsAlong(FifoRedisQueue):
    """Counts its pushes and pops, and not the push without a reply that was stored: when that is popped, one is missing."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._counted = self._length

    def push(self, request):
        super().push(request)
        self._counted += 1

    def pop(self):
        request = super().pop()
        self._counted -= request is not None
        return request

    def __len__(self):
        with suppress(TransientError), temporary_problems():
            self._remove_delivered()
            self._counted = self._client.llen(self._key) - len(self._aside)
        return self._counted


# --- Close -----------------------------------------------------------------------------------------------------------


@served(fails="queue.close.outage")
class CloseNeedsAServer(FifoRedisQueue):
    """Says goodbye to its server when it is closed, and raises if that cannot be reached."""

    def close(self):
        self._client.ping()
        super().close()


# --- close -----------------------------------------------------------------------------------------------------------


@served(fails="queue.persist.room")
class KeepsAnArchive(FifoRedisQueue):
    """It keeps what was popped in another list until it is closed."""

    def pop(self):
        request = super().pop()
        if self._delivered is not None:
            with suppress(exceptions.RedisError):
                self._client.rpush(self._key + b":popped", self._delivered)
        return request

    def close(self):
        with suppress(exceptions.RedisError):
            self._client.delete(self._key + b":popped")
        super().close()


@served(fails="queue.fault.recovers")
class TellsAgain(refusals.TellsAgain, FifoRedisQueue):
    """Raises what the server has refused once more when it is closed."""

    refusals = exceptions.ResponseError
