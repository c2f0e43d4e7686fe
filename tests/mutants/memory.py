"""Wrong downstream queues that keep requests in memory."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import signal
import sys
import threading
import time
from calendar import timegm
from collections import OrderedDict, deque
from contextlib import suppress
from datetime import UTC, datetime
from time import time_ns
from typing import ClassVar

from scrapy.utils.request import request_from_dict

from mutants import mutant
from mutants.controls_bare import BareMemoryQueue
from queue_reference.memory import FifoMemoryQueue, LifoMemoryQueue

FIFO = "queue_reference.memory.FifoMemoryQueue"
LIFO = "queue_reference.memory.LifoMemoryQueue"


# --- Construction ----------------------------------------------------------------------------------------------------


@mutant(fails="queue.ctor.from-crawler", hint="Declare `@classmethod def from_crawler")
class FactoryWithoutKey(FifoMemoryQueue):
    """Its factory takes no key."""

    @classmethod
    def from_crawler(cls, crawler):
        return cls()


@mutant(fails="queue.ctor.from-crawler", hint="Return the queue")
class FactoryReturnsNone(FifoMemoryQueue):
    """Its factory forgets to return the queue."""

    @classmethod
    def from_crawler(cls, crawler, key):
        cls()


@mutant(fails="queue.ctor.from-crawler")
class FactoryExits(FifoMemoryQueue):
    """Its factory ends the interpreter."""

    @classmethod
    def from_crawler(cls, crawler, key):
        os._exit(3)


@mutant(fails="queue.ctor.from-crawler")
class FactoryHangs(FifoMemoryQueue):
    """Its factory never returns, whatever is raised into it."""

    @classmethod
    def from_crawler(cls, crawler, key):
        while True:
            try:
                time.sleep(3600)
            except BaseException:
                continue


@mutant(fails="queue.ctor.from-crawler")
class FactoryQuits(FifoMemoryQueue):
    """Its factory calls sys.exit() with the status of success."""

    @classmethod
    def from_crawler(cls, crawler, key):
        sys.exit(0)


class Keyed:
    """A right queue without a factory: it is built with its key."""

    def __init__(self, key):
        self.requests = []

    push, pop, close, __len__ = BareMemoryQueue.push, BareMemoryQueue.pop, BareMemoryQueue.close, BareMemoryQueue.__len__


@mutant(fails="queue.ctor.from-crawler", hint="Scrapy builds the class")
class TakesNoKey(Keyed):
    """It has no factory, and its constructor takes no key."""

    def __init__(self):
        super().__init__("")


@mutant(fails="queue.ctor.key-isolation", hint="What the class or the module holds")
class KeptByKey(FifoMemoryQueue):
    """It finds its requests by its key, which that of another crawl in the same process has, too."""

    by_key: ClassVar[dict] = {}

    def __init__(self, key=""):
        self._key = key
        self._requests = self.by_key.setdefault(key, deque())

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(key)

    def close(self):
        self.by_key.pop(self._key, None)


@mutant(fails="queue.ctor.interface", hint="Its body may be empty")
class CannotBeClosed(FifoMemoryQueue):
    """It has no close."""

    close = None


@mutant(fails="queue.ctor.interface", control=FIFO)
class WithoutClose:
    """It has neither close nor a length."""

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls()

    def push(self, request):
        pass

    def pop(self):
        return None


# --- push ------------------------------------------------------------------------------------------------------------


@mutant(fails="queue.push.accept", may_fail="queue.pop.exactly-once")
class AcceptsFour(FifoMemoryQueue):
    """It raises when a fifth request is pushed."""

    def push(self, request):
        if len(self) == 4:
            raise OverflowError("full")
        super().push(request)


@mutant(fails="queue.push.accept")
class HashesMeta(FifoMemoryQueue):
    """It notes the values of meta in a set, and raises where one of them, such as an item, has no hash."""

    def push(self, request):
        self.noted = {*request.meta.values()}
        super().push(request)


@mutant(fails="queue.push.accept")
class SavesWhatIsMany(FifoMemoryQueue):
    """From the thousandth on it would save requests to a file, and raises for one that cannot be serialized."""

    def push(self, request):
        if len(self) >= 1000:
            try:
                pickle.dumps(request.meta)
            except Exception as error:
                raise ValueError(f"cannot save {request}") from error
        super().push(request)


@mutant(fails="queue.pop.exactly-once")
class GivesUp(FifoMemoryQueue):
    """It drops what was tried twice already."""

    def push(self, request):
        if request.meta.get("retry_times", 0) < 2:
            super().push(request)


@mutant(fails="queue.pop.exactly-once")
class BreaksInTwoWays(FifoMemoryQueue):
    """Its pop raises one error where four requests wait, which is often, and another one where seven do."""

    def pop(self):
        if len(self._requests) == 4:
            raise KeyError("four")
        if len(self._requests) == 7:
            raise IndexError("seven")
        return super().pop()


@mutant(fails="queue.push.returns-none")
class ReturnsLength(FifoMemoryQueue):
    """Its push returns the length."""

    def push(self, request):
        super().push(request)
        return len(self)


@mutant(fails="queue.push.no-mutation")
class MarksRequests(FifoMemoryQueue):
    """It writes into the meta of the caller's request."""

    def push(self, request):
        request.meta["queued"] = True
        super().push(request)


@mutant(fails="queue.push.duplicates", may_fail="queue.pop.exactly-once")
class IsASet(FifoMemoryQueue):
    """It ignores a request whose URL it already holds."""

    def push(self, request):
        if request.url not in [stored.url for stored in self._requests]:
            super().push(request)


@mutant(fails="queue.push.duplicates")
class KnowsObjectsAgain(FifoMemoryQueue):
    """It ignores an object that it already holds."""

    def push(self, request):
        if not any(stored is request for stored in self._requests):
            super().push(request)


class SerializesLater(FifoMemoryQueue):
    """A right queue but for one thing: what it stores is made from the request when it is popped."""

    def __init__(self, spider):
        super().__init__()
        self.spider = spider

    @classmethod
    def from_crawler(cls, crawler, key):
        queue = cls(None)
        queue.crawler = crawler
        return queue

    def push(self, request):
        import pickle

        try:
            data = pickle.dumps(request.to_dict(spider=self.crawler.spider))
            request_from_dict(pickle.loads(data), spider=self.crawler.spider)
        except Exception as error:
            raise ValueError(str(error)) from error
        super().push(request)

    def pop(self):
        request = super().pop()
        return None if request is None else self._copy(request)

    def peek(self):
        request = super().peek()
        return None if request is None else self._copy(request)

    def _copy(self, request):
        return request_from_dict(request.to_dict(spider=self.crawler.spider), spider=self.crawler.spider)


@mutant(fails="queue.push.snapshot", control="queue_reference.disk.FifoDiskQueue")
class LazySerializer(SerializesLater):
    """It serializes a request when it is popped, so later changes show."""


@mutant(fails="queue.pop.exactly-once")
class LosesTheHundredThousandth(FifoMemoryQueue):
    """It keeps 65 536 requests at most, and drops the others."""

    def push(self, request):
        if len(self) < 1 << 16:
            super().push(request)


# --- pop -------------------------------------------------------------------------------------------------------------


@mutant(fails="queue.pop.exactly-once")
class LosesTheEighth(FifoMemoryQueue):
    """It drops the oldest request when it holds eight."""

    def push(self, request):
        super().push(request)
        if len(self) == 8:
            self._requests.popleft()


@mutant(fails="queue.pop.exactly-once")
class DropsBodiesWhenLong(FifoMemoryQueue):
    """It drops what has a body when it holds 300 requests or more."""

    def push(self, request):
        if len(self) < 300 or not 0 < len(request.body) < 100:
            super().push(request)


@mutant(fails="queue.pop.exactly-once", hint="Replay the operations")
class DeliversTwice(FifoMemoryQueue):
    """The third pop returns its request, and leaves it stored."""

    pops = 0

    def pop(self):
        self.pops += 1
        return self.peek() if self.pops == 3 else super().pop()


@mutant(fails="queue.pop.exactly-once")
class PopRaises(FifoMemoryQueue):
    """It raises when three requests are stored, with an exception whose text raises too."""

    class Hostile(Exception):
        def __str__(self):
            raise RuntimeError("no text")

        __repr__ = __str__

    def pop(self):
        if len(self) == 3:
            raise self.Hostile
        return super().pop()


@mutant(fails="queue.pop.exactly-once")
class PopInterrupts(FifoMemoryQueue):
    """It raises what Ctrl-C raises when three requests are stored."""

    def pop(self):
        if len(self) == 3:
            raise KeyboardInterrupt
        return super().pop()


@mutant(fails="queue.pop.exactly-once")
class ReturnsWhatCannotBeShown(FifoMemoryQueue):
    """When three requests are stored, it returns an object whose text moves the cursor and has no encoding."""

    class Unprintable:
        def __repr__(self):
            return "\x1b[2J\udcff\u202e"

    def pop(self):
        if len(self) == 3:
            super().pop()
            return self.Unprintable()
        return super().pop()


@mutant(fails="queue.pop.exactly-once")
class PopExits(FifoMemoryQueue):
    """It ends the interpreter, with the status of success, when nine requests are stored."""

    def pop(self):
        if len(self) == 9:
            os._exit(0)
        return super().pop()


@mutant(fails="queue.pop.exactly-once")
class PopIsKilled(FifoMemoryQueue):
    """It kills its own process when nine requests are stored."""

    def pop(self):
        if len(self) == 9:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().pop()


@mutant(fails="queue.ctor.key-isolation")
class OneForEachName(FifoMemoryQueue):
    """Queues that are open at one time share their requests, where the last parts of their keys are equal."""

    _shared: ClassVar[dict[str, deque]] = {}

    @classmethod
    def from_crawler(cls, crawler, key):
        queue = cls()
        queue._name = os.path.basename(key)
        queue._requests = cls._shared.setdefault(queue._name, queue._requests)
        return queue

    def close(self):
        self._shared.pop(self._name, None)


@mutant(fails="queue.pop.exactly-once", hint="Use a call that does not wait")
class PopHangs(FifoMemoryQueue):
    """It waits for ever when nine requests are stored."""

    def pop(self):
        if len(self) == 9:
            threading.Event().wait()
        return super().pop()


@mutant(fails="queue.pop.exactly-once")
class ReturnsSomethingElse(FifoMemoryQueue):
    """It returns an object that cannot be compared when three requests are stored."""

    class Hostile:
        def __eq__(self, other):
            raise RuntimeError("no comparison")

        def __hash__(self):
            raise RuntimeError("no hash")

        def __getattr__(self, name):
            raise RuntimeError("no attribute")

        def __repr__(self):
            raise RuntimeError("no repr")

    def pop(self):
        if len(self) == 3:
            super().pop()
            return self.Hostile()
        return super().pop()


@mutant(fails="queue.pop.empty-none", may_fail="queue.pop.exactly-once", hint="Catch IndexError")
class RaisesWhenEmpty(FifoMemoryQueue):
    """It raises IndexError when nothing is stored."""

    def pop(self):
        return self._requests.popleft()


@mutant(fails="queue.pop.empty-none", hint="Look whether anything is stored")
class FalseWhenEmpty(FifoMemoryQueue):
    """It returns False when nothing is stored."""

    def pop(self):
        request = super().pop()
        return False if request is None else request


@mutant(fails="queue.pop.empty-none")
class BlocksWhenEmpty(FifoMemoryQueue):
    """It waits for ever when nothing is stored."""

    def pop(self):
        if not self._requests:
            threading.Event().wait()
        return super().pop()


@mutant(fails="queue.pop.no-wait")
class WaitsForWork(FifoMemoryQueue):
    """Its first three pops of nothing wait for 0.6 seconds, until something was pushed."""

    waits = 3

    def push(self, request):
        self.waits = 0
        super().push(request)

    def pop(self):
        if self.waits:
            self.waits -= 1
            time.sleep(0.6)
        return super().pop()


@mutant(fails="queue.pop.fifo")
class SwapsAfterTheThird(FifoMemoryQueue):
    """From its fourth pop on, it pops the newest request."""

    pops = 0

    def pop(self):
        self.pops += 1
        return super().pop() if self.pops < 4 or not self._requests else self._requests.pop()

    def peek(self):
        return super().peek() if self.pops < 3 or not self._requests else self._requests[-1]


@mutant(fails="queue.pop.lifo")
class OldestWhenFour(LifoMemoryQueue):
    """With four requests stored, it pops the oldest."""

    def pop(self):
        return self._requests.popleft() if len(self) == 4 else super().pop()

    def peek(self):
        return self._requests[0] if len(self) == 4 else super().peek()


@mutant(fails="queue.pop.lifo")
class SpillsTheNewest(LifoMemoryQueue):
    """When it holds a multiple of 256, it puts the newer half of these below all others."""

    def push(self, request):
        super().push(request)
        if len(self) % 256 == 0:
            self._requests.rotate(128)


@mutant(fails="queue.pop.fifo")
class GrowsWrong(FifoMemoryQueue):
    """It is a ring of places, which is copied as it lies when it has to grow."""

    def __init__(self):
        super().__init__()
        self.places, self.first, self.count = [None] * 64, 0, 0

    def push(self, request):
        if self.count == len(self.places):
            self.grow()
        self.places[(self.first + self.count) % len(self.places)] = request
        self.count += 1

    def grow(self):
        self.places, self.first = [*self.places, *[None] * self.count], 0

    def pop(self):
        request = self.peek()
        if request is not None:
            self.first = (self.first + 1) % len(self.places)
            self.count -= 1
        return request

    def peek(self):
        return self.places[self.first] if self.count else None

    def __len__(self):
        return self.count


@mutant(fails="queue.pop.exactly-once")
class GrowsWhereItWasWrapped(GrowsWrong):
    """It is such a ring, which grows rightly up to 1,024 places, and then forgets where it began."""

    def grow(self):
        if self.count < 1024:
            self.places, self.first = [*self.places[self.first :], *self.places[: self.first]], 0
        self.places = [*self.places, *[None] * self.count]


@mutant(fails=("queue.pop.fifo", "queue.pop.order-clock"))
class SortsByTheClock(FifoMemoryQueue):
    """It hands out what has the lowest time, and of equal times what has the higher URL."""

    _times = ()

    def push(self, request):
        times = [*self._times[len(self._times) - len(self._requests) :], time.time()]
        super().push(request)
        timed = sorted(zip(times, self._requests, strict=True), key=lambda one: one[1].url, reverse=True)
        timed.sort(key=lambda one: one[0])
        self._times, requests = zip(*timed, strict=True)
        self._requests = type(self._requests)(requests)


@mutant(fails="queue.pop.exactly-once")
class DropsEmptyForms(FifoMemoryQueue):
    """It drops a POST without a body."""

    def push(self, request):
        if request.method != "POST" or request.body:
            super().push(request)


@mutant(fails="queue.pop.exactly-once")
class DropsUnfilteredForms(FifoMemoryQueue):
    """It drops a POST without a body that is not filtered."""

    def push(self, request):
        if request.method != "POST" or request.body or not request.dont_filter:
            super().push(request)


class SortsByTime(FifoMemoryQueue):
    """It hands out what has the lowest time, and of equal times what was pushed first."""

    def __init__(self):
        super().__init__()
        self._times = []

    def now(self):
        raise NotImplementedError

    def push(self, request):
        self._times = [*self._times[len(self._times) - len(self._requests) :], self.now()]
        super().push(request)
        timed = sorted(zip(self._times, self._requests, strict=True), key=lambda one: one[0])
        self._times = [moment for moment, _ in timed]
        self._requests = type(self._requests)(request for _, request in timed)


@mutant(fails="queue.pop.order-clock", control=FIFO)
class TrustsTheClock(SortsByTime):
    """It hands out what has the lowest time, and of equal times what was pushed first."""

    def now(self):
        return time.time()


@mutant(fails="queue.pop.order-clock", control=FIFO)
class TrustsAnImportedClock(SortsByTime):
    """It asks the function that its module has imported."""

    def now(self):
        return time_ns()


@mutant(fails="queue.pop.order-clock", control=FIFO)
class TrustsTheCalendar(SortsByTime):
    """It asks for the date and time."""

    def now(self):
        return datetime.now(UTC)


@mutant(fails="queue.pop.order-clock", control=FIFO)
class TrustsAText(SortsByTime):
    """It writes the time as a text."""

    def now(self):
        return time.strftime("%Y-%m-%d %H:%M:%S")


@mutant(fails="queue.pop.order-clock", control=LIFO)
class TrustsTheLatestTime(LifoMemoryQueue):
    """It hands out what has the highest time, and of equal times what was pushed last."""

    def __init__(self):
        super().__init__()
        self._times = []

    def push(self, request):
        self._times = [*self._times[: len(self._requests)], time.time()]
        super().push(request)
        timed = sorted(zip(self._times, self._requests, strict=True), key=lambda one: one[0])
        self._times = [moment for moment, _ in timed]
        self._requests = type(self._requests)(request for _, request in timed)


@mutant(fails="queue.pop.exactly-once")
class LendsUntilUTC(FifoMemoryQueue):
    """It lends for half a day and an hour or so, by UTC, and gives out again what is overdue by local time, once."""

    _lent = None, 0

    def pop(self):
        request, end = self._lent
        if request is not None and timegm(time.localtime()) >= end:
            self._requests.appendleft(request)
        self._lent = super().pop(), timegm(time.gmtime()) + 13 * 3600
        return self._lent[0]


@mutant(fails="queue.pop.exactly-once")
class WaitsForLocalTime(FifoMemoryQueue):
    """It gives out nothing from the future, up to eleven hours of which it forgives: it notes UTC, and asks for local time."""

    _latest = 0

    def push(self, request):
        super().push(request)
        self._latest = timegm(time.gmtime())

    def pop(self):
        return super().pop() if timegm(time.localtime()) + 11 * 3600 >= self._latest else None


@mutant(fails="queue.pop.exactly-once", claims={"order": "none"})
class NumbersWithinATick(FifoMemoryQueue):
    """It stores requests by the time and a number, which begins anew whenever the clock has moved."""

    def __init__(self):
        self._last = 0, 0
        self._stored = OrderedDict()

    def push(self, request):
        now, number = time.time_ns(), 0
        if now == self._last[0]:
            number = self._last[1] + 1
        self._last = now, number
        self._stored[now, number] = request

    def pop(self):
        return self._stored.popitem(last=False)[1] if self._stored else None

    def peek(self):
        return next(iter(self._stored.values()), None)

    def __len__(self):
        return len(self._stored)


@mutant(fails="queue.pop.fifo", control=FIFO, claims={"order": "FIFO"})
class ClaimsToBeFifo(LifoMemoryQueue):
    """It is LIFO, and its author claims FIFO."""


@mutant(fails="queue.pop.fifo", control=FIFO)
class SaysFirstInFirstOut(BareMemoryQueue):
    """It is first in, first out, it says, and pops the newest."""


@mutant(fails="queue.pop.lifo", control=LIFO)
class LifoByNameOnly(FifoMemoryQueue):
    """It says by its name that it is LIFO, and is FIFO."""


@mutant(fails="queue.pop.falsy-request")
class DropsFalsyRequests(FifoMemoryQueue):
    """It takes a request whose truth value is false for no request."""

    def pop(self):
        return super().pop() or None


# --- peek ------------------------------------------------------------------------------------------------------------


@mutant(fails="queue.peek.equals-pop")
class PeeksAtTheNewest(FifoMemoryQueue):
    """Its peek shows the newest request, its pop returns the oldest."""

    def peek(self):
        return self._requests[-1] if self._requests else None


@mutant(fails="queue.peek.no-effect")
class PeekCounts(FifoMemoryQueue):
    """Its peek lowers the length, as if it were a pop."""

    peeks = 0

    def peek(self):
        self.peeks += len(self) > 1
        return super().peek()

    def __len__(self):
        return max(0, super().__len__() - self.peeks)

    def pop(self):
        self.peeks = 0
        return super().pop()


@mutant(fails="queue.peek.then-push")
class PushAfterPeekOverwrites(FifoMemoryQueue):
    """A push after a peek overwrites the newest request."""

    peeked = False

    def peek(self):
        self.peeked = bool(self._requests)
        return super().peek()

    def pop(self):
        self.peeked = False
        return super().pop()

    def push(self, request):
        if self.peeked:
            self._requests.pop()
        self.peeked = False
        super().push(request)


@mutant(fails="queue.peek.empty-none", may_fail="queue.peek.no-effect")
class PeekRaisesWhenEmpty(FifoMemoryQueue):
    """Its peek raises IndexError when nothing is stored."""

    def peek(self):
        return self._requests[0]


@mutant(fails="queue.peek.unsupported", control="mutants.controls.WithoutPeek")
class PeekIsMissingBelow(FifoMemoryQueue):
    """Its peek calls a method that the queue below does not have."""

    def peek(self):
        return self._requests.peek()


# --- len -------------------------------------------------------------------------------------------------------------


@mutant(fails="queue.len.count")
class CountsToThree(FifoMemoryQueue):
    """Its length is never more than 3."""

    def __len__(self):
        return min(3, super().__len__())


@mutant(fails="queue.len.count")
class CountsBelowNothing(FifoMemoryQueue):
    """Its length is negative when two requests are stored, so that bool() raises as well as len()."""

    def __len__(self):
        return -1 if super().__len__() == 2 else super().__len__()


@mutant(fails="queue.len.count")
class ForgetsTheLast(FifoMemoryQueue):
    """It counts one too few, so that it is false with one request in it."""

    def __len__(self):
        return max(0, super().__len__() - 1)


@mutant(fails="queue.len.truth")
class AlwaysTrue(FifoMemoryQueue):
    """It is true even when it is empty."""

    def __bool__(self):
        return True


@mutant(fails="queue.len.pop-none")
class PopOfNothingCounts(FifoMemoryQueue):
    """A pop that returns None lowers the length; a push repairs it only by one."""

    missed = 0

    def pop(self):
        self.missed += not self._requests
        return super().pop()

    def __len__(self):
        return super().__len__() - self.missed


# --- close -----------------------------------------------------------------------------------------------------------


@mutant(fails="queue.close.releases")
class LeaksFiles(FifoMemoryQueue):
    """Each queue opens a file that it never closes."""

    def __init__(self):
        super().__init__()
        self.file = open(os.devnull)  # noqa: SIM115


@mutant(fails="queue.close.releases")
class LeavesNoDescriptor(FifoMemoryQueue):
    """Its first push opens all the files that there may be, and closes none; nothing raises."""

    files: ClassVar[list[int]] = []

    def push(self, request):
        with suppress(OSError):
            while True:
                self.files.append(os.open(os.devnull, os.O_RDONLY))
        super().push(request)


@mutant(fails="queue.close.releases")
class RaisesWithoutDescriptors(FifoMemoryQueue):
    """Its pop opens files, and closes none, until it raises."""

    files: ClassVar[list[int]] = []

    def pop(self):
        self.files += (os.open(os.devnull, os.O_RDONLY) for _ in itertools.count())


@mutant(fails="queue.close.releases")
class LeaksThreads(FifoMemoryQueue):
    """Each queue starts a thread that it never ends."""

    def __init__(self):
        super().__init__()
        threading.Thread(target=threading.Event().wait, daemon=True).start()


@mutant(fails="queue.close.releases", hint="Serialize in `push`")
class SerializesInClose(FifoMemoryQueue):
    """It writes what is left as JSON, which holds no bytes."""

    def close(self):
        json.dumps([(request.url, request.body) for request in self._requests])
        super().close()


@mutant(fails="queue.close.twice")
class ClosesOnce(FifoMemoryQueue):
    """It raises when it is closed for the second time."""

    def close(self):
        del self._requests


# --- Claims ----------------------------------------------------------------------------------------------------------


@mutant(fails="claims.true", control="queue_reference.disk.FifoDiskQueue", claims={"persistent": "yes", "peek": "yes"})
class ClaimsPersistence(FifoMemoryQueue):
    """Its author claims that it is persistent."""


@mutant(fails="claims.true", control="queue_reference.disk.FifoDiskQueue", claims={"serializes": "yes"})
class ClaimsToSerialize(FifoMemoryQueue):
    """Its author claims that it stores copies."""


@mutant(fails="claims.true", control="scrapy.squeues.FifoMemoryQueue", claims={"clear": "yes"})
class ClaimsClear(FifoMemoryQueue):
    """Its author claims that it can be cleared."""


@mutant(fails="queue.pop.exactly-once", control=FIFO)
class KeepsEqualValuesOnce(FifoMemoryQueue):
    """It keeps equal values of `meta` once, to save memory: what was pushed with True comes with 1."""

    def __init__(self):
        super().__init__()
        self._values = {}

    def push(self, request):
        for name, value in request.meta.items():
            with suppress(TypeError):  # a value without a hash
                request.meta[name] = self._values.setdefault(value, value)
        super().push(request)


@mutant(fails="queue.pop.exactly-once")
class GivesNoHeaders(FifoMemoryQueue):
    """It gives out copies of its requests without their headers."""

    def pop(self):
        request = super().pop()
        return request and request.replace(headers={})


@mutant(fails="queue.pop.exactly-once")
class MakesRequestsAnew(FifoMemoryQueue):
    """It gives out new requests, which know all but what was said of duplicates."""

    def pop(self):
        request = super().pop()
        return request and request.replace(dont_filter=False)
