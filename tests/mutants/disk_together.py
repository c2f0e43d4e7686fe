"""Wrong downstream queues on disk, which only show it when requests are many or large, or look like each other."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import ClassVar

from scrapy.utils.request import fingerprint

from mutants import mutant
from mutants.disk import Changes, WithSerializer
from queue_reference.disk import FifoDiskQueue

FIFO = "queue_reference.disk.FifoDiskQueue"


# --- Requests that look like each other ------------------------------------------------------------------------------


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class InheritsFields(Changes):
    """What a request lacks of meta, keyword arguments, headers, cookies and flags, it gets from the one before."""

    def changed(self, request):
        names = ("meta", "cb_kwargs", "headers", "cookies", "flags")
        last = self.__dict__.setdefault("last", {})
        last.update({name: getattr(request, name) for name in names if getattr(request, name)})
        return request.replace(**last)


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class SharesHeaders(Changes):
    """Requests whose headers have the same names get the values of the first of them."""

    def changed(self, request):
        known = self.__dict__.setdefault("known", {})
        return request.replace(headers=known.setdefault(tuple(request.headers), request.headers))


@mutant(
    fails="queue.pop.roundtrip", may_fail=("queue.pop.exactly-once", "queue.persist.partial-fault", "queue.persist.elsewhere")
)
class SharesLargeBodies(FifoDiskQueue):
    """It stores a body of more than 16 KiB once, and removes it with the first request that had it."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self.key = key

    def push(self, request):
        if len(request.body) > 1 << 14:
            file = Path(f"{self.key}-{sha256(request.body).hexdigest()}")
            file.write_bytes(request.body)
            request = request.replace(body=b"", meta={**request.meta, "body": str(file)})
        super().push(request)

    def pop(self):
        request = super().pop()
        if request is not None and "body" in request.meta:
            file = Path(request.meta.pop("body"))
            request = request.replace(body=file.read_bytes() if file.exists() else b"")
            file.unlink(missing_ok=True)
        return request

    peek = None


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class NamesByFingerprint(WithSerializer):
    """It stores the bytes of a request once for each fingerprint, which knows nothing of meta and headers."""

    def serialize(self, request):
        known = self.__dict__.setdefault("known", {})
        return known.setdefault(fingerprint(request), super().serialize(request))


@mutant(fails=("queue.push.snapshot", "queue.pop.exactly-once"), may_fail="queue.persist.reopen", control=FIFO)
class RemembersObjects(WithSerializer):
    """It remembers the bytes of each request by its id, which another one may have later."""

    def serialize(self, request):
        known = self.__dict__.setdefault("known", {})
        return known.setdefault(id(request), super().serialize(request))


@mutant(fails="queue.pop.roundtrip")
class EndsAtBlankLines(FifoDiskQueue):
    """When it is opened, it takes a blank line for the end of a request."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        database, end = self._queue._database, b"\n\n\r\n"
        for number, data in database.execute("SELECT id, item FROM items").fetchall():
            if end in data:
                database.execute("UPDATE items SET item = ? WHERE id = ?", (data.partition(end)[0], number))


# --- Large ones ------------------------------------------------------------------------------------------------------


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class CutsLongUrls(Changes):
    """It keeps 2048 characters of a URL, as a column of a database may."""

    def changed(self, request):
        return request.replace(url=request.url[:2048])


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class CutsLongTexts(Changes):
    """It keeps 65 535 characters of a text in meta."""

    def changed(self, request):
        return request.replace(meta={k: value[:65535] if type(value) is str else value for k, value in request.meta.items()})


@mutant(fails="queue.persist.reopen")
class ReadsUpToAMebibyte(FifoDiskQueue):
    """When it is opened, a request of more than a MiB ends what it reads."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        database = self._queue._database
        long = f"SELECT id FROM items WHERE length(item) > {1 << 20} ORDER BY id LIMIT 1"
        database.execute(f"DELETE FROM items WHERE id >= ({long})")
        (self._queue._length,) = database.execute("SELECT COUNT(*) FROM items").fetchone()


@mutant(fails="queue.persist.reopen")
class TakesPagesForFree(FifoDiskQueue):
    """When it is opened, it takes for free what is beyond the first KiB of a request: the next push writes there."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        (self._stored,) = self._queue._database.execute("SELECT max(id) FROM items").fetchone()

    def push(self, request):
        super().push(request)
        if self._stored:
            self._queue._database.execute("UPDATE items SET item = substr(item, 1, 1024) WHERE id <= ?", (self._stored,))
            self._stored = None


# --- Many ------------------------------------------------------------------------------------------------------------


@mutant(fails="queue.persist.partial", may_fail="queue.persist.reopen")
class CompactsAtClose(FifoDiskQueue):
    """Its close writes the file anew once two hundred were popped, and leaves out the newest request."""

    popped = 0

    def pop(self):
        request = super().pop()
        self.popped += request is not None
        return request

    def close(self):
        if self.popped >= 200 and len(self) and not self._queue._closed:
            self._queue._database.execute("DELETE FROM items WHERE id = (SELECT max(id) FROM items)")
        super().close()


@mutant(fails="queue.pop.order-reopen")
class SortsItsSegments(FifoDiskQueue):
    """It puts fifty requests each into a numbered segment, and finds them in the order of their names when it is opened."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        database = self._queue._database
        rows = database.execute("SELECT id, item FROM items ORDER BY id").fetchall()
        rows.sort(key=lambda row: str(row[0] // 50))
        with database:  # all or nothing
            database.execute("BEGIN IMMEDIATE")
            for (number, _), (_, data) in zip(sorted(rows), rows, strict=True):
                database.execute("UPDATE items SET item = ? WHERE id = ?", (data, number))


# --- Beside others ---------------------------------------------------------------------------------------------------


@mutant(fails="queue.ctor.key-isolation")
class FindsByPrefix(FifoDiskQueue):
    """When it is opened, it also reads what is stored under keys that are its own and a digit."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        for path in sorted(Path(key).parent.glob(f"{Path(key).name}[0-9]")):
            other = FifoDiskQueue(crawler, str(path))
            while (request := other.pop()) is not None:
                self.push(request)
            other.close()


@mutant(fails="queue.ctor.key-isolation")
class SharesItsBlobs(FifoDiskQueue):
    """What is equal is kept once for all keys, until the first of them has popped it."""

    blobs: ClassVar = set()

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self.blobs.update(self.own())

    def own(self):
        return {data for (data,) in self._queue._database.execute("SELECT item FROM items")}

    def push(self, request):
        super().push(request)
        self.blobs.update(self.own())

    def pop(self):
        data = self._queue.peek()
        if data is not None and data not in self.blobs:
            raise FileNotFoundError("the blob of a request")
        request = super().pop()
        if data not in self.own():
            self.blobs.discard(data)
        return request
