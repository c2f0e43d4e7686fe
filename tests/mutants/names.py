"""Wrong classes that do not look at all of a name, or not as far as priorities go."""

from __future__ import annotations

import unicodedata
from hashlib import md5
from urllib.parse import quote
from zlib import crc32

from scrapy.utils.misc import build_from_crawler

from mutants import mutant
from mutants.controls_schedulers import SQLiteScheduler
from queue_reference.disk import FifoDiskQueue
from queue_reference.pqueues import SlotPriorityQueue


@mutant(fails="pq.slot.collision")
class NormalisesNames(SlotPriorityQueue):
    """Slots whose names are the same after Unicode normalisation share their keys."""

    def _path_of(self, slot):
        return super()._path_of(unicodedata.normalize("NFC", slot))


@mutant(fails="pq.slot.collision")
class CutsNames(SlotPriorityQueue):
    """Slots whose names agree in their first 200 characters share their keys."""

    def _path_of(self, slot):
        return super()._path_of(slot[:200])


@mutant(fails="pq.slot.collision")
class CutsHashes(SlotPriorityQueue):
    """Slots have directories of short names: the first eight digits of a hash."""

    def _path_of(self, slot):
        return f"{self._key}/{md5(slot.encode(errors='surrogatepass')).hexdigest()[:8]}"


@mutant(fails="pq.slot.collision")
class SumsUpNames(SlotPriorityQueue):
    """Slots have numbers for directories: a checksum of their names."""

    def _path_of(self, slot):
        return f"{self._key}/{crc32(slot.encode(errors='surrogatepass'))}"


@mutant(fails="pq.slot.collision")
class NotesNamesInLowerCase(SlotPriorityQueue):
    """Its state has the names of slots in lower case, so that of two that differ in nothing else one is there."""

    def close(self):
        return {slot.lower(): ranks for slot, ranks in super().close().items()}

    def _path_of(self, slot):
        return super()._path_of(slot.lower()) + ("-upper" if slot != slot.lower() else "")


class Joined:
    """Builds a downstream queue whose key has nothing between the slot and the priority."""

    def __init__(self, cls):
        self.cls = cls

    def from_crawler(self, crawler, key):
        slot, _, priority = key.rpartition("/")
        return build_from_crawler(self.cls, crawler, slot + priority)


@mutant(fails="pq.slot.collision")
class JoinsNamesAndPriorities(SlotPriorityQueue):
    """The key of a queue is the name of its slot with the priority behind it."""

    def _queue(self, place):
        if type(self._classes[place.start]) is not Joined:
            self._classes[place.start] = Joined(self._classes[place.start])
        return super()._queue(place)

    def _path_of(self, slot):
        return f"{self._key}/{quote(slot, safe='')}" if len(slot) < 50 and slot.isprintable() else super()._path_of(slot)


@mutant(fails="queue.ctor.key-isolation")
class RemovesByPattern(FifoDiskQueue):
    """An empty queue removes all files whose names begin like its own, for a database has several: that of key 0 those of 0s."""

    def close(self):
        super().close()
        path = self._queue._path
        for each in [] if path.exists() else path.parent.glob(f"{path.name}*"):
            if each.is_file():
                each.unlink()


@mutant(fails="queue.ctor.key-isolation")
class CutsItsKey(FifoDiskQueue):
    """Each directory of its key has at most 128 characters, as a column of a table may."""

    def __init__(self, crawler, key):
        super().__init__(crawler, "/".join(part[:128] for part in key.split("/")))


@mutant(fails="queue.ctor.key-isolation")
class JoinsItsKey(FifoDiskQueue):
    """The name of its file is the end of its key without the slash."""

    def __init__(self, crawler, key):
        directory, slot, priority = key.rsplit("/", 2)
        super().__init__(crawler, f"{directory}/{slot}{priority}" if slot.startswith("shop") else key)


@mutant(fails="scheduler.enqueue.true")
class KnowsTheHighest(SQLiteScheduler):
    """It looks for requests up to the priority 10**9."""

    def next_request(self):
        with self.db:
            self.db.execute("UPDATE requests SET priority = NULL WHERE priority > 1000000000")
            self.db.execute("DELETE FROM requests WHERE priority IS NULL")
        return super().next_request()


@mutant(fails="scheduler.next.priority", may_fail="scheduler.next.roundtrip")
class BoundsPriorities(SQLiteScheduler):
    """It takes priorities below -10**9 for equal."""

    def enqueue_request(self, request):
        bounded = max(request.priority, -(10**9))
        return super().enqueue_request(request if bounded == request.priority else request.replace(priority=bounded))
