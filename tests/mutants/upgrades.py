"""Mutants: later versions of the reference queue and filter, which misbehave with what those, the earlier ones, stored."""

from __future__ import annotations

import os
from pathlib import Path

from mutants import mutant
from queue_reference.bytequeues import WrongStorageError
from queue_reference.disk import FifoDiskQueue
from queue_reference.dupefilter import HEADER, DupeFilter, records
from queue_reference.pqueues import PriorityQueue

QUEUE, FILTER = "queue_reference.disk.FifoDiskQueue", "queue_reference.dupefilter.DupeFilter"
"""The earlier versions."""

CLAIMS = {"upgrades": "yes"}
SAFE, WHOLE = "upgrade.no-silent-loss", "upgrade.recovers-all"


class Later(FifoDiskQueue):
    """A control: it writes a version into its files, and goes on with what the earlier one wrote."""

    older = False

    def __init__(self, crawler, key):
        try:
            self._crawler = crawler
            self._queue = self._storage(key, content="pickled requests, version 2")
        except WrongStorageError:
            super().__init__(crawler, key)
            self.older = True
            self.begin(key)

    def begin(self, key):
        """Begin with what the earlier one wrote."""


@mutant(fails=SAFE, claims=CLAIMS, kept=QUEUE)
class DeletesWhatIsOlder(Later):
    """It deletes what an earlier version wrote, and begins anew."""

    def begin(self, key):
        self._queue.close()
        os.remove(key)
        self.__init__(self._crawler, key)


@mutant(fails=SAFE, claims=CLAIMS, kept=QUEUE)
class LosesTheFirst(Later):
    """It takes the first record of an earlier version for a header."""

    def begin(self, key):
        self._queue.take(bytes)


@mutant(fails=SAFE, claims=CLAIMS, kept=QUEUE)
class TurnsPriorities(Later):
    """It takes the priorities of an earlier version for those of one whose signs are the other way round."""

    def _rebuild(self, data):
        request = super()._rebuild(data)
        return request.replace(priority=-request.priority) if self.older else request


@mutant(fails=SAFE, claims=CLAIMS, kept=QUEUE)
class MovesTheFirst(Later):
    """It puts the first request of an earlier version behind all others."""

    def begin(self, key):
        self._queue.push(self._queue.take(bytes))


@mutant(fails=SAFE, claims=CLAIMS, kept=QUEUE)
class RepeatsTheFirst(Later):
    """It copies the first request of an earlier version, and keeps the original."""

    def begin(self, key):
        self._queue.push(self._queue.peek())


@mutant(fails=SAFE, claims=CLAIMS, kept=QUEUE, hint="Write the version into what is stored, and let")
class KnowsNoOlder(Later):
    """It comes upon the lack of a field that an earlier version did not write."""

    def begin(self, key):
        self.offset = {}["offset"]


@mutant(fails=SAFE, claims=CLAIMS, kept=QUEUE)
class RefusesTooLate(Later):
    """It refuses what an earlier version wrote when it has begun to convert it."""

    def begin(self, key):
        self._queue.take(bytes)
        self._queue.close()
        raise ValueError(f"{key} is of version 1; drain it with that one")


@mutant(fails=WHOLE, claims=CLAIMS, kept=QUEUE)
class RefusesWhatIsOlder(Later):
    """It refuses what an earlier version wrote, and changes nothing."""

    def begin(self, key):
        self._queue.close()
        raise ValueError(f"{key} is of version 1; drain it with that one")


class LaterFilter(DupeFilter):
    """A control: it has a file of another name, and knows what an earlier version has seen."""

    def _resumed(self, path):
        if path.exists():
            self.begin(path.read_bytes())
        return super()._resumed(path.with_name("fingerprints-2"))

    def begin(self, data):
        """Begin with what an earlier version wrote."""
        self._seen.update(records(data, len(HEADER)))


@mutant(fails=SAFE, claims=CLAIMS, kept=FILTER)
class ForgetsWhatIsOlder(LaterFilter):
    """It looks for its own file only."""

    def begin(self, data):
        pass


@mutant(fails=SAFE, claims=CLAIMS, kept=FILTER)
class TakesAllForSeen(LaterFilter):
    """It takes what an earlier version wrote for a filter that is full, and all for seen."""

    full = False

    def begin(self, data):
        self.full = True

    def request_seen(self, request):
        return self.full or super().request_seen(request)


class LaterPriorityQueue(PriorityQueue):
    """A control: it writes its version beside its queues, and goes on with those of the earlier one."""

    older = False

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), **others):
        super().__init__(crawler, downstream_queue_cls, key, startprios, **others)
        if key:
            file = Path(key, "version")
            self.older = bool(startprios) and not file.exists()
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("2")


@mutant(fails=SAFE, claims=CLAIMS, kept="queue_reference.pqueues.PriorityQueue")
class TurnsTheOrder(LaterPriorityQueue):
    """It takes the ranks of an earlier version for priorities, and serves the least urgent first."""

    def _next(self):
        places = [*self._open, *self._parked]
        return max(places, default=None) if self.older else super()._next()
