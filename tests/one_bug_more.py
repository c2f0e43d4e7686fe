"""Queues that break a rule in one way, and such that break it in one way more: see ``test_findings``.

Each of ``QUEUES`` loses a request once seven are stored, unless it says otherwise; it has one more bug beside that, or instead.
"""

import asyncio
from random import SystemRandom

from queue_reference.async_queues import MemoryQueue
from queue_reference.dupefilter import DupeFilter
from queue_reference.memory import FifoMemoryQueue


class Loses(FifoMemoryQueue):
    """It drops the oldest request when it holds ``most``."""

    most = 7

    def push(self, request):
        super().push(request)
        if self.most and len(self) == self.most:
            self._requests.popleft()


class RaisesByChance(FifoMemoryQueue):
    """It refuses every second request that it would hold as the third."""

    def push(self, request):
        if len(self) == 2 and SystemRandom().random() < 0.5:
            raise KeyError
        super().push(request)


class ReturnsLateByChance(MemoryQueue):
    """It awaits something before it returns every second request, which a cancellation there loses."""

    async def get(self):
        request = await super().get()
        if SystemRandom().random() < 0.5:
            await asyncio.sleep(0)
        return request


class DropsByChance(MemoryQueue):
    """It drops every second request that it would hold as the third."""

    async def put(self, request, priority=0):
        if len(self._heap) != 2 or SystemRandom().random() < 0.5:
            await super().put(request, priority)


class IgnoresCase(DupeFilter):
    """It takes paths that differ in case for one."""

    def request_seen(self, request):
        return super().request_seen(request.replace(url=self.known_by(request)))

    def known_by(self, request):
        return request.url.lower()


class IgnoresQueries(IgnoresCase):
    """It takes pages that differ in the query for one, too."""

    def known_by(self, request):
        return super().known_by(request).partition("?")[0]


class LosesOneOfTwo(FifoMemoryQueue):
    """It loses a request if it holds two, or another one than this."""

    def push(self, request):
        if len(self) < 2 and all(one.url == request.url for one in self._requests):
            super().push(request)


class LosesAfterTwoLooks(FifoMemoryQueue):
    """It loses what it holds once it was looked at twice, by whatever method."""

    looks = 0

    def look(self):
        self.looks += 1
        if self.looks == 2:
            self._requests.clear()

    def peek(self):
        found = super().peek()
        self.look()
        return found

    def __len__(self):
        found = super().__len__()
        self.look()
        return found


class LosesByChance(Loses):
    """It loses every second request that it would hold as the second, too."""

    def push(self, request):
        if len(self) != 1 or SystemRandom().random() < 0.5:
            super().push(request)


class LosesSooner(Loses):
    most = 5


class LosesManyUrls(FifoMemoryQueue):
    """It drops the oldest request when it holds more than so many pages: more than a generated sequence has."""

    most = 30

    def push(self, request):
        super().push(request)
        if len({one.url for one in self._requests}) > self.most:
            self._requests.popleft()


class LosesFewerUrls(LosesManyUrls):
    most = 20


class LosesMoreUrls(LosesManyUrls):
    most = 40


class LosesWhatIsPosted(Loses):
    """It loses what is not a GET, too."""

    def push(self, request):
        if request.method == "GET":
            super().push(request)


class LosesWhatHasMeta(Loses):
    def push(self, request):
        if not request.meta:
            super().push(request)


class LosesWhatIsNotFiltered(Loses):
    def push(self, request):
        if not request.dont_filter:
            super().push(request)


class LosesThePriority(Loses):
    def push(self, request):
        if not request.priority:
            super().push(request)


class LosesTheBody(Loses):
    def push(self, request):
        if not request.body:
            super().push(request)


class LosesAfterTwoPops(Loses):
    """The third pop drops two."""

    pops = 0

    def pop(self):
        self.pops += 1
        if self.pops == 3 and self._requests:
            self._requests.popleft()
        return super().pop()


class LosesTheLast(Loses):
    """It returns nothing while one is left, once it held three."""

    high = 0

    def push(self, request):
        super().push(request)
        self.high = max(self.high, len(self))

    def pop(self):
        if len(self) == 1 and self.high == 3:
            self._requests.clear()
        return super().pop()


class DeliversTwice(Loses):
    """The second pop leaves its request stored."""

    pops = 0

    def pop(self):
        self.pops += 1
        return super().peek() if self.pops == 2 else super().pop()


class DeliversTwiceAtOnce(Loses):
    """A push of what is stored already is doubled."""

    def push(self, request):
        if any(one.url == request.url for one in self._requests):
            super().push(request)
        super().push(request)


class Alters(Loses):
    """The third request that is stored loses its body and its URL."""

    def push(self, request):
        super().push(request if len(self) != 2 else request.replace(url="https://example.com/other"))


class Raises(Loses):
    error = KeyError

    def pop(self):
        if len(self) == 4:
            raise self.error
        return super().pop()


class RaisesAnother(Raises):
    error = IndexError


class RaisesAtPush(Loses):
    def push(self, request):
        if len(self) == 3:
            raise ValueError
        super().push(request)


class RaisesAtLen(Loses):
    def __len__(self):
        if len(self._requests) == 3:
            raise ValueError
        return super().__len__()


class RaisesAtPeek(Loses):
    def peek(self):
        if len(self) == 2:
            raise ValueError
        return super().peek()


class CountsOneMore(Loses):
    def __len__(self):
        found = super().__len__()
        return found + 1 if found == 4 else found


class CountsOneLess(Loses):
    def __len__(self):
        found = super().__len__()
        return found - 1 if found == 4 else found


class NeverEmpty(Loses):
    def __bool__(self):
        return True


class PeekPops(Loses):
    def peek(self):
        return super().pop()


class PeekShowsTheLast(Loses):
    def peek(self):
        return self._requests[-1] if self._requests else None


class PeekReturnsFalse(Loses):
    def peek(self):
        return super().peek() or False


class LastComesFirst(Loses):
    """Once it holds four the order is reversed."""

    def pop(self):
        return self._requests.pop() if len(self) >= 4 else super().pop()


class TwoChangePlaces(Loses):
    """After a peek the next two change places."""

    peeked = False

    def peek(self):
        self.peeked = True
        return super().peek()

    def push(self, request):
        if self.peeked and self._requests:
            self._requests.appendleft(request)
        else:
            super().push(request)


class EmptyRaises(Loses):
    def pop(self):
        if not self._requests:
            raise IndexError
        return super().pop()


class EmptyReturnsFalse(Loses):
    def pop(self):
        return super().pop() or False


class LosesInsteadAfterTwoPops(LosesAfterTwoPops):
    most = 0


class LosesInsteadWhatIsPosted(LosesWhatIsPosted):
    most = 0


class RaisesInstead(Raises):
    most = 0


class LosesInsteadLater(Loses):
    """What was lost at seven is mended, and from nine on it is lost."""

    most = 9


QUEUES = [cls for cls in list(globals().values()) if isinstance(cls, type) and issubclass(cls, Loses) and cls is not Loses]


class FalseIfEmpty(FifoMemoryQueue):
    """Its first command shows it: an empty queue returns false."""

    def pop(self):
        return super().pop() or False


class FalseAtFourToo(FalseIfEmpty):
    def pop(self):
        return False if len(self) == 4 else super().pop()


class OneMoreIfEmpty(FifoMemoryQueue):
    def __len__(self):
        return super().__len__() or 1


class OneMoreAtFourToo(OneMoreIfEmpty):
    def __len__(self):
        return 5 if len(self._requests) == 4 else super().__len__()


class PeekShowsFalseIfEmpty(FifoMemoryQueue):
    def peek(self):
        return super().peek() or False


class PeekShowsFalseAtFourToo(PeekShowsFalseIfEmpty):
    def peek(self):
        return False if len(self) == 4 else super().peek()


AT_ONCE = [
    (FalseIfEmpty, FalseAtFourToo),
    (OneMoreIfEmpty, OneMoreAtFourToo),
    (PeekShowsFalseIfEmpty, PeekShowsFalseAtFourToo),
]
"""Pairs of which the first one fails by the first command, whatever follows."""


class LosesWhatIsStored(FifoMemoryQueue):
    """It stores no request that is stored already: two pushes show it, and so do sixty of fifty requests."""

    def push(self, request):
        if all(one.url != request.url for one in self._requests):
            super().push(request)


class LosesWhatWasPeekedToo(LosesWhatIsStored):
    def peek(self):
        return self.pop()
