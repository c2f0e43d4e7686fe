"""Wrong classes that find nothing where their directory, or the working directory, is another one in the next run."""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path
from uuid import uuid4

from scrapy.exceptions import NotConfigured
from scrapy.utils.job import job_dir

from mutants import mutant
from queue_reference.bytequeues import FifoByteQueue
from queue_reference.disk import FifoDiskQueue
from queue_reference.dupefilter import DupeFilter
from queue_reference.pqueues import PriorityQueue, SlotPriorityQueue
from queue_reference.state import SpiderState


def checksum(path):
    return f"{zlib.crc32(os.path.abspath(path).encode()):08x}"


# --- Queues ----------------------------------------------------------------------------------------------------------


class KnowsItsPlace(FifoByteQueue):
    """It keeps where it was when it was made."""

    def __init__(self, path, content="bytes"):
        super().__init__(path, content)
        self._database.execute("CREATE TABLE IF NOT EXISTS place (name TEXT)")
        place = self.place()
        if (known := self._database.execute("SELECT name FROM place").fetchone()) is None:
            self._database.execute("INSERT INTO place VALUES (?)", (place,))
        elif known != (place,):
            self.moved(place)

    def place(self):
        return os.path.abspath(self._path)

    def moved(self, place):
        """What it does about it: nothing."""


@mutant(fails="queue.persist.elsewhere")
class RefusesAnotherPath(KnowsItsPlace):
    """It refuses a file that has another path than when it was made."""

    def moved(self, place):
        self._database.close()
        raise ValueError(f"{self._path} is the queue of another path")


@mutant(fails="queue.persist.elsewhere")
class BeginsAnewElsewhere(KnowsItsPlace):
    """It begins anew where its file has another path."""

    def moved(self, place):
        self._database.execute("DELETE FROM items")
        self._database.execute("UPDATE place SET name = ?", (place,))
        self._length = 0


@mutant(fails="queue.persist.elsewhere")
class BeginsAnewInAnotherDirectory(BeginsAnewElsewhere):
    """It begins anew where the working directory is another one."""

    def place(self):
        return os.getcwd()


@mutant(fails="queue.persist.elsewhere")
class NamedByItsPath(FifoDiskQueue):
    """It names its file after a checksum of the whole path."""

    def __init__(self, crawler, key):
        super().__init__(crawler, f"{Path(key).parent}/{checksum(key)}")


@mutant(fails="queue.persist.elsewhere")
class StoresInTheWorkingDirectory(FifoDiskQueue):
    """It stores below the working directory, wherever the job directory is."""

    def __init__(self, crawler, key):
        super().__init__(crawler, os.path.join(os.getcwd(), "storage", hashlib.sha256(key.encode()).hexdigest()))


@mutant(fails="queue.persist.elsewhere", control="queue_reference.disk.FifoDiskQueue")
class FollowsALink(FifoDiskQueue):
    """It keeps its items in a file beside, of which its own one keeps the absolute path."""

    def __init__(self, crawler, key):
        self._kept = Path(key)
        self._kept.parent.mkdir(parents=True, exist_ok=True)
        if not self._kept.exists():
            self._kept.write_text(os.path.abspath(f"{key}.items"))
        super().__init__(crawler, self._kept.read_text())

    def close(self):
        super().close()
        if not self._queue._path.exists():
            self._kept.unlink(missing_ok=True)


class LargeItemsAside(FifoByteQueue):
    """It keeps each item of more than ten thousand bytes in a file beside, whose name is in its place."""

    mark = b"\0in "

    def name_of(self, file):
        return file.name

    def push(self, item):
        if not isinstance(item, bytes) or len(item) < 10_000:
            super().push(item)
            return
        file = Path(f"{self._path}.{uuid4().hex}")
        try:
            file.write_bytes(item)
            super().push(self.mark + os.fsencode(self.name_of(file)))
        except BaseException:
            file.unlink(missing_ok=True)
            raise

    def take(self, decode):
        taken = []
        item = super().take(lambda item: decode(self.whole(item, taken)))
        for file in taken:
            file.unlink(missing_ok=True)
        return item

    def peek(self):
        item = super().peek()
        return None if item is None else self.whole(item, [])

    def whole(self, item, taken):
        if not item.startswith(self.mark):
            return item
        taken.append(self._path.parent / os.fsdecode(item.removeprefix(self.mark)))
        return taken[0].read_bytes()


@mutant(fails="queue.persist.elsewhere", may_fail=("queue.persist.partial-fault", "queuelib.clear.space"))
class KnowsPathsOfLargeItems(LargeItemsAside):
    """The place of a large item has the absolute path of its file."""

    def name_of(self, file):
        return os.path.abspath(file)


# --- Priority queues -------------------------------------------------------------------------------------------------


@mutant(fails="pq.resume.elsewhere")
class KeysOfAChecksum(PriorityQueue):
    """The keys of its downstream queues hold a checksum of the whole path."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), **options):
        super().__init__(crawler, downstream_queue_cls, key and f"{key}/{checksum(key)}", startprios, **options)


@mutant(fails="pq.resume.elsewhere")
class StateNamesItsKey(SlotPriorityQueue):
    """It refuses state of a queue with another key."""

    def __init__(self, crawler, downstream_queue_cls, key, startprios=(), **options):
        if startprios:
            owner, startprios = startprios
            if owner != key:
                raise ValueError(f"the state is that of {owner}")
        super().__init__(crawler, downstream_queue_cls, key, startprios, **options)

    def close(self):
        state = super().close()
        return [self._key, state] if state else state


# --- Filters ---------------------------------------------------------------------------------------------------------


class FilterThatKnowsItsPlace(DupeFilter):
    """It keeps beside its file where that was when it was made."""

    def __init__(self, crawler):
        if directory := job_dir(crawler.settings):
            file, place = Path(directory, "place"), self.place(directory)
            if file.exists() and file.read_text() != place:
                self.moved(directory)
            file.write_text(place)
        super().__init__(crawler)

    def place(self, directory):
        return os.path.abspath(directory)

    def moved(self, directory):
        """What it does about it: nothing."""


@mutant(fails="dupefilter.persist.elsewhere", may_fail="dupefilter.format.unknown")
class ForgetsElsewhere(FilterThatKnowsItsPlace):
    """It forgets all where its job directory has another path."""

    def moved(self, directory):
        Path(directory, "fingerprints").unlink(missing_ok=True)


@mutant(fails="dupefilter.persist.elsewhere")
class RefusesElsewhere(FilterThatKnowsItsPlace):
    """It refuses a job directory of another path."""

    def moved(self, directory):
        raise ValueError(f"{directory} is the directory of another job")


@mutant(fails="dupefilter.persist.elsewhere", may_fail="dupefilter.format.unknown")
class ForgetsInAnotherDirectory(ForgetsElsewhere):
    """It forgets all where the working directory is another one."""

    def place(self, directory):
        return os.getcwd()


# --- States ----------------------------------------------------------------------------------------------------------


@mutant(fails="state.elsewhere")
class StateNamedByItsPath(SpiderState):
    """It names its file after a checksum of the whole path."""

    def __init__(self, directory):
        super().__init__(directory)
        self._path = Path(directory, f"{checksum(directory)}.state")


@mutant(fails="state.elsewhere")
class StateNamedByTheWorkingDirectory(SpiderState):
    """It names its file after a checksum of the working directory."""

    def __init__(self, directory):
        super().__init__(directory)
        self._path = Path(directory, f"{checksum('.')}.state")


@mutant(fails="state.elsewhere")
class RefusesAnotherJobDirectory(SpiderState):
    """It is not enabled in a job directory that was that of another path."""

    def __init__(self, directory):
        super().__init__(directory)
        place = Path(directory, "place")
        if place.exists() and place.read_text() != os.path.abspath(directory):
            raise NotConfigured(f"{directory} is that of another job")
        place.write_text(os.path.abspath(directory))
