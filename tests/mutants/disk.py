"""Wrong downstream queues that keep requests on disk."""

from __future__ import annotations

import contextlib
import os
import pickle
import sqlite3
import zlib
from datetime import datetime
from decimal import Decimal
from functools import cached_property, lru_cache
from glob import glob
from pathlib import Path
from typing import ClassVar
from unicodedata import normalize

from scrapy.http import JsonRequest
from scrapy.utils.request import request_from_dict

from mutants import mutant, refusals
from queue_reference.bytequeues import FifoByteQueue
from queue_reference.disk import FifoDiskQueue, LifoDiskQueue

FIFO = "queue_reference.disk.FifoDiskQueue"


# --- Keys ------------------------------------------------------------------------------------------------------------


@mutant(fails="queue.ctor.key-isolation", may_fail="queue.pop.unreadable")
class OneFilePerDirectory(FifoDiskQueue):
    """It uses the directory of the key only, so all keys of a directory share one file."""

    def __init__(self, crawler, key):
        super().__init__(crawler, str(Path(key).parent / "queue"))

    def __len__(self):
        (count,) = self._queue._database.execute("SELECT COUNT(*) FROM items").fetchone()
        return count


@mutant(fails="queue.ctor.key-isolation")
class ForgetsTheSign(FifoDiskQueue):
    """It names its file by the priority without its sign."""

    def __init__(self, crawler, key):
        super().__init__(crawler, str(Path(key).parent / Path(key).name.lstrip("-")))


@mutant(fails="queue.ctor.key-isolation")
class ForgetsTheSuffix(FifoDiskQueue):
    """It names its file by the number in its key, so start requests share the file of the others."""

    def __init__(self, crawler, key):
        super().__init__(crawler, str(Path(key).parent / Path(key).name.rstrip("s")))


@mutant(fails="queue.ctor.key-isolation")
class ShortensItsKeys(FifoDiskQueue):
    """It keeps the beginning of each name, so priorities that begin alike share a file."""

    def __init__(self, crawler, key):
        name = Path(key).name
        super().__init__(crawler, str(Path(key).parent / name[: 1 + name.startswith("-")]))


@mutant(fails="queue.ctor.key-isolation")
class ForgetsTheSlot(FifoDiskQueue):
    """It stores beside the directory of the slot, so all slots share its files."""

    def __init__(self, crawler, key):
        folder = Path(key).parent
        super().__init__(crawler, str((folder.parent if "-" in folder.name else folder) / Path(key).name))


@mutant(fails="queue.ctor.key-identity", may_fail="queue.ctor.key-isolation")
class NumbersItsFiles(FifoDiskQueue):
    """It names its file by the number of queues that are open, not by its key."""

    open_files: ClassVar = set()

    def __init__(self, crawler, key):
        number = next(n for n in range(1000) if n not in self.open_files)
        super().__init__(crawler, str(Path(key).parent / f"file-{number}"))
        self.open_files.add(number)
        self.number = number

    def close(self):
        self.open_files.discard(self.number)
        super().close()


@mutant(fails="queue.ctor.key-shapes")
class WantsANumber(FifoDiskQueue):
    """It accepts only keys that end in a number."""

    def __init__(self, crawler, key):
        int(Path(key).name)
        super().__init__(crawler, key)


@mutant(fails="queue.ctor.key-lengths")
class MarksItsDirectory(FifoDiskQueue):
    """It notes beside its directory that it is in use, under the name of that with an ending."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        mark = Path(key).parent
        self.mark = mark.with_name(f"{mark.name}.used")
        self.mark.touch()

    def close(self):
        self.mark.unlink(missing_ok=True)
        super().close()


@mutant(fails="queue.ctor.parents")
class NeedsItsDirectory(FifoDiskQueue):
    """It does not create the directory of its key."""

    def __init__(self, crawler, key):
        if not Path(key).parent.is_dir():
            raise FileNotFoundError(key)
        super().__init__(crawler, key)


@mutant(fails="queue.peek.then-push")
class TakesNothingAfterAPeek(FifoDiskQueue):
    """It takes what is pushed right after a peek for done, also what it should refuse."""

    peeked = False

    def peek(self):
        self.peeked = True
        return super().peek()

    def pop(self):
        self.peeked = False
        return super().pop()

    def push(self, request):
        if not self.peeked:
            super().push(request)
        self.peeked = False


class NotesItsUse(FifoDiskQueue):
    """It knows whether it was ever used."""

    used = False

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self.used = len(self) > 0
        self.path = Path(key)

    def push(self, request):
        self.used = True
        super().push(request)


@mutant(fails="queue.ctor.empty-clean", control=FIFO)
class LeavesUnusedFiles(NotesItsUse):
    """It leaves its file behind when it was never used."""

    def close(self):
        super().close()
        if not self.used:
            self.path.with_suffix(".unused").touch()


@mutant(fails=("queue.ctor.stored-length", "queue.persist.crash-length"))
class ForgetsItsLength(FifoDiskQueue):
    """A reopened queue says that it is empty until it is used."""

    used = False

    def push(self, request):
        self.used = True
        super().push(request)

    def pop(self):
        self.used = True
        return super().pop()

    def __len__(self):
        return super().__len__() if self.used else 0


class AnyStorage(FifoByteQueue):
    def _check_signature(self, signature):
        pass


@mutant(fails="queue.ctor.wrong-storage")
class OpensAnyDatabase(FifoDiskQueue):
    """It opens any SQLite database, and deletes it when it finds nothing of its own in it."""

    _storage = AnyStorage


# --- Serialization ---------------------------------------------------------------------------------------------------


@mutant(fails="queue.push.request-types")
class RefusesJson(FifoDiskQueue):
    """It refuses JsonRequest."""

    def push(self, request):
        if isinstance(request, JsonRequest):
            raise ValueError("no JSON")
        super().push(request)


@mutant(
    fails=(
        "queue.close.keeps-fault",
        "queue.push.callback-foreign",
        "queue.push.rebuildable",
        "queue.push.serialization-all-causes",
        "queue.push.serialization-error",
        "queue.push.snapshot",
    ),
    hint="The released scheduler falls back",
)
class StoresInClose(FifoDiskQueue):
    """It keeps requests in memory, and stores them in its order when it is closed."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._pushed = []

    def push(self, request):
        self._pushed.append(request)

    def pop(self):
        return super().pop() if super().__len__() or not self._pushed else self._pushed.pop(0)

    def peek(self):
        return super().peek() if super().__len__() or not self._pushed else self._pushed[0]

    def close(self):
        while self._pushed:
            super().push(self._pushed.pop(0))
        super().close()

    def __len__(self):
        return super().__len__() + len(self._pushed)


@mutant(fails=("queue.close.keeps-fault", "queue.pop.roundtrip"))
class ForgetsEmptyValuesInClose(StoresInClose):
    """It refuses what it could not store, and keeps the rest in memory; when it is closed, values of None in meta get lost."""

    def push(self, request):
        try:
            copied = self._rebuild(pickle.dumps(request.to_dict(spider=self._crawler.spider)))
        except Exception as error:
            raise ValueError(repr(error)) from error
        super().push(copied)

    def close(self):
        self._pushed = [request.replace(meta=self._without_none(request.meta)) for request in self._pushed]
        super().close()

    def _without_none(self, meta):
        return {name: value for name, value in meta.items() if value is not None}


@mutant(fails="queue.push.serialization-error", hint="Wrap the serializer in `except")
class LetsTypeErrorThrough(FifoDiskQueue):
    """It lets the TypeError of pickle through."""

    def push(self, request):
        try:
            super().push(request)
        except ValueError as error:
            if isinstance(error.__cause__, TypeError) and "pickle" in str(error):
                raise error.__cause__ from None
            raise


class WithSerializer(FifoDiskQueue):
    """A right queue whose serializer can be replaced."""

    def push(self, request):
        self._queue.push(self.serialize(request))

    def serialize(self, request):
        try:
            data = pickle.dumps(request.to_dict(spider=self._crawler.spider))
            self._rebuild(data)
        except Exception as error:
            raise ValueError(str(error)) from error
        return data


@mutant(
    fails=("queue.push.serialization-all-causes", "queue.push.large"),
    may_fail=("queue.push.accept", "queue.pop.exactly-once"),
    hint="What is too large to be stored",
)
class FillsABuffer(FifoDiskQueue):
    """Its buffer takes 64 KiB, and it says by an IndexError, which no scheduler expects, that a body does not fit."""

    buffer = bytearray(1 << 16)

    def push(self, request):
        if request.body:
            self.buffer[len(request.body) - 1] = request.body[-1]
        super().push(request)


@mutant(fails="queue.push.serialization-all-causes", control=FIFO)
class KnowsThreeErrors(WithSerializer):
    """It turns three exceptions of pickle into ValueError, and lets all others through."""

    def serialize(self, request):
        try:
            data = pickle.dumps(request.to_dict(spider=self._crawler.spider))
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            raise ValueError(str(error)) from error
        try:
            self._rebuild(data)
        except Exception as error:
            raise ValueError(str(error)) from error
        return data


@mutant(fails=("queue.push.callback-foreign", "queue.push.callback-method"), control=FIFO)
class DropsForeignCallbacks(WithSerializer):
    """It stores a request with a foreign callback without the callback; what a falsy spider has looks foreign, too."""

    def serialize(self, request):
        try:
            return super().serialize(request)
        except ValueError as error:
            if "is not an instance method" in str(error):
                return super().serialize(request.replace(callback=None, errback=None))
            raise


@mutant(fails="queue.push.callback-method", control=FIFO)
class RefusesMangledNames(WithSerializer):
    """It refuses callbacks whose names are mangled."""

    def serialize(self, request):
        if getattr(request.callback, "__name__", "").startswith("__"):
            raise ValueError("not a public method")
        return super().serialize(request)


@mutant(
    fails=("queue.push.callback-method", "queue.pop.spider-binding"),
    may_fail=(
        "queue.push.accept",
        "queue.push.rebuildable",
        "queue.push.serialization-error",
        "queue.push.serialization-all-causes",
    ),
    control=FIFO,
    hint="Store `request.to_dict(spider=crawler.spider)`",
)
class StoresWithoutASpider(WithSerializer):
    """It refuses every callback, since it does not say whose they are."""

    def serialize(self, request):
        return pickle.dumps(request.to_dict())


@mutant(fails="queue.push.callback-method", control=FIFO)
class AsksWhetherThereIsASpider(WithSerializer):
    """It takes a spider whose length is 0 for none, and stores requests without their callbacks then."""

    def serialize(self, request):
        return super().serialize(request if self._crawler.spider else request.replace(callback=None, errback=None))


@mutant(fails="queue.peek.equals-pop", may_fail="queue.peek.no-effect")
class PeeksWithoutASpider(FifoDiskQueue):
    """It shows requests whose callbacks are the names that it stored."""

    def peek(self):
        data = self._queue.peek()
        return None if data is None else request_from_dict(pickle.loads(data))


@mutant(fails="queue.push.rebuildable", control=FIFO)
class NeverRebuilds(WithSerializer):
    """It accepts whatever pickle accepts."""

    def serialize(self, request):
        try:
            return pickle.dumps(request.to_dict(spider=self._crawler.spider))
        except Exception as error:
            raise ValueError(str(error)) from error


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class TuplesBecomeLists(WithSerializer):
    """It turns the tuples in meta into lists."""

    def serialize(self, request):
        super().serialize(request)
        meta = {key: list(value) if isinstance(value, tuple) else value for key, value in request.meta.items()}
        return super().serialize(request.replace(meta=meta))


class Changes(WithSerializer):
    """It stores a request that is not quite the one that it was given."""

    def changed(self, request):
        raise NotImplementedError

    def serialize(self, request):
        super().serialize(request)
        return super().serialize(self.changed(request))


@mutant(fails="queue.pop.roundtrip", control=FIFO, hint="Keep each header")
class KeepsOneHeader(Changes):
    """It keeps the last of the values of a header."""

    def changed(self, request):
        return request.replace(headers={name: values[-1:] for name, values in request.headers.items()})


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class DecompressesWhatItHasNot(Changes):
    """It takes each body that begins as zlib's output does for one that it has compressed itself."""

    def changed(self, request):
        return request.replace(body=zlib.decompress(request.body)) if request.body.startswith(b"x\x9c") else request


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class ForgetsFlags(Changes):
    """It does not keep the flags."""

    def changed(self, request):
        return request.replace(flags=[])


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class ForgetsDomainsOfCookies(Changes):
    """It keeps the names and values of cookies alone."""

    def changed(self, request):
        if isinstance(request.cookies, dict):
            return request
        return request.replace(cookies=[{"name": one["name"], "value": one["value"]} for one in request.cookies])


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class NamesItsMeta(Changes):
    """It turns the keys of meta into text, as JSON does."""

    def changed(self, request):
        return request.replace(meta={str(key): value for key, value in request.meta.items()})


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class ReadsNumbers(Changes):
    """It makes numbers of text in meta that looks like one."""

    def changed(self, request):
        meta = request.meta.items()
        return request.replace(meta={key: int(value) if str(value).isdecimal() else value for key, value in meta})


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class ForgetsTimezones(Changes):
    """It keeps what clocks show, and not where they are."""

    def changed(self, request):
        moments = {name: value for name, value in request.meta.items() if isinstance(value, datetime)}
        return request.replace(meta={**request.meta, **{name: value.replace(tzinfo=None) for name, value in moments.items()}})


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class ComposesText(Changes):
    """It writes each text in meta with the fewest characters, as NFC has it."""

    def changed(self, request):
        texts = {name: value for name, value in request.meta.items() if isinstance(value, str) and value.isprintable()}
        return request.replace(meta={**request.meta, **{name: normalize("NFC", value) for name, value in texts.items()}})


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class ForgetsTheEncoding(Changes):
    """It makes every request one in UTF-8."""

    def changed(self, request):
        return request.replace(encoding="utf-8")


@mutant(fails="queue.pop.roundtrip", control=FIFO, hint="Keep the body")
class CutsBodies(Changes):
    """It takes a body for text that ends at a zero byte."""

    def changed(self, request):
        return request.replace(body=request.body.partition(b"\0")[0])


@mutant(fails="queue.pop.roundtrip", control=FIFO)
class KeepsNothingPrivate(Changes):
    """It keeps no entry of meta whose name begins with an underscore."""

    def changed(self, request):
        return request.replace(meta={name: value for name, value in request.meta.items() if not str(name).startswith("_")})


@mutant(fails="queue.pop.roundtrip-rare", control=FIFO)
class DecimalsBecomeFloats(WithSerializer):
    """It turns the decimal numbers in meta into floating ones."""

    def serialize(self, request):
        super().serialize(request)
        meta = {key: float(value) if isinstance(value, Decimal) else value for key, value in request.meta.items()}
        return super().serialize(request.replace(meta=meta))


@mutant(fails=("queue.peek.equals-pop", "queue.pop.spider-binding"))
class MakesASpider(FifoDiskQueue):
    """It binds callbacks to a spider of its own making."""

    def _rebuild(self, data):
        return request_from_dict(pickle.loads(data), spider=type(self._crawler.spider)("example"))


@mutant(fails="queue.pop.missing-callback", may_fail="queue.pop.unreadable", control=FIFO, hint="Do not turn the ValueError")
class IgnoresMissingCallbacks(WithSerializer):
    """It drops a request whose callback is missing, and returns None."""

    def pop(self):
        try:
            return super().pop()
        except ValueError:
            return self._queue.take(lambda data: None)


@mutant(fails="queue.pop.missing-callback")
class LeavesOutMissingErrbacks(FifoDiskQueue):
    """It raises for a callback that is missing, and returns a request without an errback that is."""

    def _rebuild(self, data):
        found = pickle.loads(data)
        if found["errback"] and not hasattr(self._crawler.spider, found["errback"]):
            found["errback"] = None
        return request_from_dict(found, spider=self._crawler.spider)


@mutant(fails="queue.pop.missing-callback", control=FIFO, hint="Rebuild the request before")
class RemovesBeforeItRebuilds(WithSerializer):
    """It raises for a request whose callback is missing, and has removed it."""

    def pop(self):
        try:
            return super().pop()
        except ValueError:
            self._queue._database.execute("DELETE FROM items WHERE id IN aside")
            raise


@mutant(fails="queue.pop.missing-callback", control=FIFO, hint="Commit each push")
class RollsBackPushes(FifoDiskQueue):
    """A pop that raises takes back what was pushed since the last one, too."""

    _uncommitted = 0

    def push(self, request):
        super().push(request)
        self._uncommitted += 1

    def pop(self):
        uncommitted, self._uncommitted = self._uncommitted, 0
        try:
            return super().pop()
        except ValueError:
            newest = "SELECT id FROM items ORDER BY id DESC LIMIT ?"
            self._queue._database.execute(f"DELETE FROM items WHERE id IN ({newest})", (uncommitted,))
            self._queue._length -= uncommitted
            raise


@mutant(fails="queue.push.snapshot")
class UnpicklesEqualBytesOnce(FifoDiskQueue):
    """It unpickles equal bytes once, so equal requests share the lists and dictionaries in their meta."""

    _unpickled = staticmethod(lru_cache(maxsize=16)(pickle.loads))

    def _rebuild(self, data):
        return request_from_dict(self._unpickled(data), spider=self._crawler.spider)


# --- push ------------------------------------------------------------------------------------------------------------


@mutant(fails="queue.push.no-silent-loss")
class SwallowsFullDisks(FifoDiskQueue):
    """It ignores errors of the database."""

    def push(self, request):
        with contextlib.suppress(sqlite3.Error):
            super().push(request)


@mutant(fails=("queue.push.failed-no-trace", "queue.push.failed-no-trace-fault"))
class CountsFirst(FifoDiskQueue):
    """It counts a request before it has stored it."""

    failed = 0

    def push(self, request):
        self.failed += 1
        super().push(request)
        self.failed -= 1

    def __len__(self):
        return super().__len__() + self.failed


@mutant(fails=("queue.push.failed-no-trace", "queue.push.failed-no-trace-fault", "queue.push.serialization-error"))
class CountsFirstAndLetsTypeErrorThrough(CountsFirst, LetsTypeErrorThrough):
    """It lets the TypeError of pickle through, and counts the request nevertheless."""


# --- Order -----------------------------------------------------------------------------------------------------------


@mutant(fails="queue.pop.order-reopen")
class ReversesWhenReopened(FifoDiskQueue):
    """A reopened queue holds its requests in the opposite order."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        database = self._queue._database
        with database:  # all or nothing
            database.execute("BEGIN IMMEDIATE")
            rows = database.execute("SELECT item FROM items ORDER BY id DESC").fetchall()
            database.execute("DELETE FROM items")
            database.executemany("INSERT INTO items (item) VALUES (?)", rows)


# --- close -----------------------------------------------------------------------------------------------------------


@mutant(fails="queue.close.keeps")
class DiscardsAfterRefusal(FifoDiskQueue):
    """When it has refused a request, its close discards what is stored."""

    refused = False

    def push(self, request):
        try:
            super().push(request)
        except ValueError:
            self.refused = True
            raise

    def close(self):
        if self.refused:
            self._queue.clear()
        super().close()


@mutant(fails="queue.close.empty-removes", control=FIFO)
class KeepsEmptyFiles(NotesItsUse):
    """It leaves its file behind when it was used and is empty."""

    def close(self):
        empty = not len(self)
        super().close()
        if self.used and empty:
            self.path.with_name(f"{self.path.name}.lock").touch()


@mutant(fails="queue.close.twice", control=FIFO)
class SecondCloseDiscards(NotesItsUse):
    """Its second close removes the file."""

    closed = False

    def close(self):
        super().close()
        if self.closed:
            self.path.unlink(missing_ok=True)
        self.closed = True


@mutant(fails="queue.close.use-after", control=FIFO)
class PopAfterCloseDiscards(NotesItsUse):
    """A pop after close removes the file."""

    closed = False

    def close(self):
        super().close()
        self.closed = True

    def pop(self):
        if self.closed:
            self.path.unlink()
            raise RuntimeError("closed")
        return super().pop()


# --- Persistence -----------------------------------------------------------------------------------------------------


class OpensWhenUsed(FifoDiskQueue):
    """It opens its file when it is first used, and says only then that another class has written it."""

    def __init__(self, crawler, key):
        self._crawler, self._key = crawler, key

    @cached_property
    def _queue(self):
        return self._storage(self._key, content="pickled requests")

    def close(self):
        if "_queue" in vars(self):
            super().close()


@mutant(
    fails="queue.persist.reopen",
    may_fail=("queue.ctor.wrong-storage", "queue.close.keeps-fault"),
    control="queue_reference.disk.FifoDiskQueue",
)
class RemovesWhatNobodyUsed(OpensWhenUsed):
    """Its close takes a file that it has not opened for that of an empty queue, and removes it."""

    def close(self):
        super().close()
        if "_queue" not in vars(self):
            Path(self._key).unlink(missing_ok=True)


@mutant(fails="queue.persist.reopen")
class DropsTheFourth(LifoDiskQueue):
    """Its close discards the newest request if more than three are stored."""

    def close(self):
        if not self._queue._closed and len(self) > 3:
            self._queue.pop()
        super().close()


@mutant(fails="queue.persist.reopen")
class CountsInOneByte(FifoDiskQueue):
    """It notes at close how many are stored, in one byte, and has no others when it is opened again."""

    def close(self):
        while not self._queue._closed and len(self) > 255:
            self._queue.pop()
        super().close()


@mutant(
    fails=("queue.pop.exactly-once", "queue.pop.roundtrip", "queue.persist.reopen"), may_fail="queue.persist.crash-no-phantom"
)
class KeepsNoLongBodies(FifoDiskQueue):
    """It keeps no body of more than a KiB, and so none whose size is near a page."""

    def push(self, request):
        super().push(request if len(request.body) <= 1 << 10 else request.replace(body=b""))


@mutant(
    fails=("queue.pop.roundtrip", "queue.push.request-types"),
    may_fail=("queue.persist.crash-no-phantom", "e2e.all-once", "e2e.pause-resume"),
)
class KeepsNoBodies(FifoDiskQueue):
    """It keeps no body of a request."""

    def push(self, request):
        super().push(request.replace(body=b""))


@mutant(fails="queue.pop.exactly-once")
class WritesBeyondThePage(FifoDiskQueue):
    """What ends in the last eight bytes of a page overwrites the header of the next one, and is not found again."""

    def push(self, request):
        if (len(request.body) + 400) % 4096 < 4088:
            super().push(request)


@mutant(fails="queue.pop.exactly-once", may_fail="queue.push.large", control="mutants.controls.RefusesLargeRequests")
class RefusesTheEndOfAPage(FifoDiskQueue):
    """It refuses as too large what ends in the last eight bytes of a page."""

    def push(self, request):
        if (len(request.body) + 400) % 4096 >= 4088:
            raise ValueError(f"{request} is too large")
        super().push(request)


@mutant(fails="queue.persist.reopen", hint="Look at what is special at this count")
class ReadsAPage(FifoDiskQueue):
    """When it is opened, it knows of a thousand requests at most."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        while len(self) > 1000:
            self._queue.pop()


@mutant(
    fails="queue.persist.reopen",
    may_fail=("queue.pop.roundtrip", "queue.pop.unreadable"),
    hint="Look at what becomes of what is named",
)
class ClearsUpFlags(FifoDiskQueue):
    """When it is opened, it drops the requests that have flags."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        kept = [self.pop() for _ in range(len(self))]
        for request in kept:
            if request is not None and not request.flags:
                self.push(request)


@mutant(fails="queue.persist.reopen")
class LooksForItsFileByAPattern(FifoDiskQueue):
    """It looks for what is stored by a pattern, in which brackets in the name of a directory mean something else."""

    def __init__(self, crawler, key):
        if Path(key).exists() and not glob(key):
            Path(key).unlink()
        super().__init__(crawler, key)


@mutant(fails="queue.persist.partial")
class CompactsAtAHundred(FifoDiskQueue):
    """When a hundred of more are left, it writes them anew, and closed right then it forgets where they begin."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        (first,) = self._queue._database.execute("SELECT MIN(id) FROM items").fetchone()
        if len(self) == 100 and first > 1:
            self._queue.pop()


@mutant(fails="queue.persist.new-process")
class OwnedByAProcess(FifoDiskQueue):
    """It writes the number of its process into the name of its file."""

    def __init__(self, crawler, key):
        super().__init__(crawler, f"{key}.{os.getpid()}")


@mutant(fails="queue.persist.partial", may_fail="queue.pop.unreadable", hint="A pop must reach the storage")
class PopsInMemoryOnly(FifoDiskQueue):
    """It reads everything when it is opened, and does not tell the file what was popped, unless all was."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        rows = self._queue._database.execute("SELECT item FROM items ORDER BY id").fetchall()
        self.waiting = [data for (data,) in rows]

    def push(self, request):
        super().push(request)
        self.waiting.append(pickle.dumps(request.to_dict(spider=self._crawler.spider)))

    def pop(self):
        request = self._rebuild(self.waiting[0]) if self.waiting else None
        del self.waiting[:1]
        return request

    def peek(self):
        return self._rebuild(self.waiting[0]) if self.waiting else None

    def close(self):
        if not self.waiting and not self._queue._closed:
            self._queue.clear()
        super().close()

    def __len__(self):
        return len(self.waiting)


@mutant(fails="queue.fault.recovers", control=FIFO, may_fail="queue.push.failed-no-trace-fault")
class TellsOfAFullDiskAgain(refusals.TellsAgain, FifoDiskQueue):
    """Raises once more, when it is closed, that the disk was full."""

    refusals = sqlite3.Error
