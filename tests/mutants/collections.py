"""Wrong priority queues and round-robin queues of bytes."""

from __future__ import annotations

import contextlib

from mutants import mutant
from queue_reference.collections import PriorityQueue, RoundRobinQueue


@mutant(fails="queuelib.ctor", hint="Give every further argument")
class WantsASize(PriorityQueue):
    """Its constructor wants to know how many items it is to hold."""

    def __init__(self, qfactory, startprios=(), *, size):
        super().__init__(qfactory, startprios)


@mutant(fails="queuelib.pq.order")
class ComparesText(PriorityQueue):
    """It compares priorities as text."""

    def pop(self):
        return self._pop(min(self._queues, key=str)) if self._queues else None

    def peek(self):
        return self._queues[min(self._queues, key=str)].peek() if self._queues else None


@mutant(fails=("queuelib.pq.order", "queuelib.pq.startprios"))
class KeepsARowOfPriorities(PriorityQueue):
    """It has a row for the priorities from -100 to 100, which is one place short: 100 is served as -100."""

    def push(self, item, priority=0):
        super().push(item, -100 if priority == 100 else priority)


@mutant(fails="queuelib.pq.order")
class CutsPrioritiesToTwoBytes(PriorityQueue):
    """It keeps priorities as numbers of two bytes, so that high ones come first."""

    def push(self, item, priority=0):
        super().push(item, (priority + 2**15) % 2**16 - 2**15)


@mutant(fails="queuelib.pq.close")
class NamesEveryPriority(PriorityQueue):
    """Its close returns every priority that was ever used."""

    def __init__(self, qfactory, startprios=()):
        self.used = set()
        super().__init__(qfactory, startprios)

    def push(self, item, priority=0):
        self.used.add(priority)
        super().push(item, priority)

    def close(self):
        return list(self.used | set(super().close()))


@mutant(fails="queuelib.pq.close")
class ClosesNothing(PriorityQueue):
    """Its close leaves the inner queues open."""

    def close(self):
        return list(self._queues)


class NamesWhatItUsed:
    """Its close names only what this run has used: a length uses everything."""

    used = frozenset()

    def _push(self, item, key):
        self.used |= {key}
        super()._push(item, key)

    def _pop(self, key):
        self.used |= {key}
        return super()._pop(key)

    def __len__(self):
        self.used |= {*self._queues}
        return super().__len__()

    def close(self):
        return [key for key in super().close() if key in self.used]


@mutant(fails="queuelib.pq.close", control="queue_reference.collections.PriorityQueue")
class NamesUsedPriorities(NamesWhatItUsed, PriorityQueue):
    """Its close returns the priorities that this run has used, and not those that were there before."""


@mutant(fails="queuelib.rr.close", control="queue_reference.collections.RoundRobinQueue")
class NamesUsedKeys(NamesWhatItUsed, RoundRobinQueue):
    """Its close returns the keys that this run has used, and not those that were there before."""


class ClosesInTurn:
    """It closes one inner queue after the other, until one raises."""

    def close(self):
        for queue in self._queues.values():
            queue.close()
        return list(self._queues)


@mutant(fails="queuelib.close.fault", control="queue_reference.collections.PriorityQueue")
class ClosesUntilOneFails(ClosesInTurn, PriorityQueue):
    """Its close ends at the first inner queue that cannot be closed."""


@mutant(fails="queuelib.close.fault", control="queue_reference.collections.RoundRobinQueue")
class ClosesKeysUntilOneFails(ClosesInTurn, RoundRobinQueue):
    """Its close ends at the first key whose inner queue cannot be closed."""


@mutant(fails="queuelib.close.fault", control="mutants.controls_collections.LogsWhatItCannotClose")
class ForgetsOthersWhereOneFails(PriorityQueue):
    """Its close returns nothing to resume from where an inner queue cannot be closed."""

    def close(self):
        try:
            return super().close()
        except OSError:
            return []


@mutant(fails="queuelib.pq.startprios-empty")
class TrustsStartprios(PriorityQueue):
    """It takes every priority in startprios for one that holds items."""

    def _forget_if_empty(self, key):
        if self.started:
            super()._forget_if_empty(key)

    started = False

    def __init__(self, qfactory, startprios=()):
        super().__init__(qfactory, startprios)
        self.started = True


@mutant(fails=("queuelib.pq.startprios", "queuelib.pq.startprios-empty"), may_fail="queuelib.pq.close")
class ForgetsTheHighest(PriorityQueue):
    """It opens all priorities in startprios but the highest, if there are several."""

    def __init__(self, qfactory, startprios=()):
        priorities = sorted(startprios)
        super().__init__(qfactory, priorities[: max(1, len(priorities) - 1)])


@mutant(fails="queuelib.pq.startprios")
class OpensTheFirstSixteen(PriorityQueue):
    """It opens no more than sixteen queues when it begins, and never the others."""

    def __init__(self, qfactory, startprios=()):
        super().__init__(qfactory, sorted(startprios)[:16])


@mutant(fails="queuelib.pq.startprios-empty")
class ReadsStartpriosTwice(PriorityQueue):
    """It reads startprios twice, so an iterator gives nothing the second time."""

    def __init__(self, qfactory, startprios=()):
        if startprios:
            min(startprios)
        super().__init__(qfactory, startprios)


@mutant(fails="queuelib.pq.clear")
class ClearNeedsClear(PriorityQueue):
    """Its clear calls the clear of the inner queues."""

    def clear(self):
        for queue in self._queues.values():
            queue.clear()
            queue.close()
        self._queues.clear()


@mutant(fails="queuelib.pq.clear")
class ClearKeepsTheClosed(PriorityQueue):
    """Its clear closes the inner queues, and goes on to use them."""

    def clear(self):
        queues = dict(self._queues)
        super().clear()
        self.closed = queues

    closed = {}  # noqa: RUF012

    def push(self, item, priority=0):
        if priority in self.closed:
            self._queues[priority] = self.closed.pop(priority)
        super().push(item, priority)


@mutant(fails="queue.push.zero-length")
class PrioritySkipsEmpty(PriorityQueue):
    """Its pop returns None for an empty item."""

    def pop(self):
        return super().pop() or None


@mutant(fails="queue.push.failed-no-trace")
class PrioritySwallows(PriorityQueue):
    """It ignores the errors of the inner queues."""

    def push(self, item, priority=0):
        with contextlib.suppress(TypeError):
            super().push(item, priority)


@mutant(fails="queue.peek.equals-pop")
class PeeksAtTheHighest(PriorityQueue):
    """Its peek shows the highest number."""

    def peek(self):
        return self._queues[max(self._queues)].peek() if self._queues else None


@mutant(fails="queue.len.count")
class CountsQueues(PriorityQueue):
    """Its length is the number of priorities."""

    def __len__(self):
        return len(self._queues)


@mutant(fails="queuelib.rr.cycle")
class ServesOneKey(RoundRobinQueue):
    """It serves a key until it is empty."""

    def pop(self):
        if self._turn:
            self._turn.rotate(-self._turn.index(min(self._turn)))
        return super().pop()

    def peek(self):
        return self._queues[min(self._turn)].peek() if self._turn else None


@mutant(fails="queuelib.rr.falsy")
class SkipsFalsyItems(RoundRobinQueue):
    """It skips items whose truth value is false."""

    def pop(self):
        while self._turn:
            if item := super().pop():
                return item
        return None


@mutant(fails="queuelib.rr.peek")
class PeeksAtTheLast(RoundRobinQueue):
    """Its peek shows an item of the key that was served last."""

    def peek(self):
        return self._queues[self._turn[-1]].peek() if self._turn else None


@mutant(fails="queuelib.rr.peek-empty")
class PeeksIntoEmptyQueues(RoundRobinQueue):
    """Its peek shows nothing after a push has failed under a new key, until the next pop."""

    failed = False

    def push(self, item, key):
        new = key not in self._queues
        try:
            super().push(item, key)
        except TypeError:
            self.failed = self.failed or new
            raise

    def pop(self):
        self.failed = False
        return super().pop()

    def peek(self):
        return None if self.failed else super().peek()


@mutant(fails="queuelib.rr.close")
class NamesEmptyKeys(RoundRobinQueue):
    """Its close also returns the keys whose last push failed."""

    def __init__(self, qfactory, start_domains=()):
        self.failed = set()
        super().__init__(qfactory, start_domains)

    def push(self, item, key):
        self.failed.add(key)
        super().push(item, key)
        self.failed.discard(key)

    def close(self):
        return list(self.failed | set(super().close()))


@mutant(fails="queuelib.clear")
class ClearForgetsTheTurn(RoundRobinQueue):
    """Its clear leaves the first key."""

    def clear(self):
        for key in list(self._queues)[1:]:
            while self._queues.get(key):
                self._pop(key)
            self._turn.remove(key)


@mutant(fails="queue.peek.no-effect")
class PeekTakesATurn(RoundRobinQueue):
    """Every third peek counts as an item."""

    peeks = 0

    def peek(self):
        self.peeks += 1
        return super().peek()

    def __len__(self):
        return super().__len__() + self.peeks // 3


@mutant(fails="queue.pop.exactly-once")
class ForgetsWhatItHasDrained(RoundRobinQueue):
    """Where it has drained more than thirty keys, one of these gets no turn any more."""

    drained = frozenset()

    def push(self, item, key):
        self._push(item, key)
        gone = len(self.drained) > 30 and key in self.drained
        if key not in self._turn and not gone:
            self._turn.append(key)

    def pop(self):
        key = self._turn[0] if self._turn else None
        item = super().pop()
        if key is not None and key not in self._queues:
            self.drained |= {key}
        return item
