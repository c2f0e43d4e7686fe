"""Broken dupefilters."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import re
import time
from calendar import timegm
from collections import deque
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit
from zlib import crc32

from redis import Redis
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.job import job_dir
from scrapy.utils.request import fingerprint
from twisted.internet.threads import deferToThread

from mutants import mutant
from mutants.controls_stores import FewFilesOpen
from queue_reference.dupefilter import HEADER, DupeFilter, ForeignFileError, record

RIGHT = "queue_reference.dupefilter.DupeFilter"

logger = logging.getLogger(__name__)


# --- Interface -------------------------------------------------------------------------------------------------------


@mutant(fails="dupefilter.iface", hint="Inherit scrapy.dupefilters.BaseDupeFilter; its")
class CannotLog(DupeFilter):
    """It has no method log."""

    log = None


@mutant(fails=("dupefilter.iface", "dupefilter.seen.first"))
class CannotLogAndForgets(DupeFilter):
    """It has no method log, and forgets everything whenever it knows 200 fingerprints."""

    log = None

    def request_seen(self, request):
        if len(self._seen) == 200:
            self._seen.clear()
        return super().request_seen(request)


@mutant(fails="dupefilter.iface", hint="Inherit scrapy.dupefilters.BaseDupeFilter, whose")
class WithoutClose(DupeFilter):
    """It has no close."""

    close = None


@mutant(fails=("dupefilter.iface", "dupefilter.seen.first"))
class ForgetsWithoutClose(CannotLogAndForgets):
    """It has no close, and forgets everything whenever it knows 200 fingerprints."""

    log, close = DupeFilter.log, None


@mutant(fails="dupefilter.iface", hint="The scheduler builds the class")
class WantsAPath(DupeFilter):
    """It cannot be built from a crawler alone."""

    @classmethod
    def from_crawler(cls, crawler, path):
        return cls(crawler)


@mutant(fails="dupefilter.open.result")
class OpensInACoroutine(DupeFilter):
    """Its open is a coroutine function."""

    async def open(self):
        pass


@mutant(fails="dupefilter.open.result")
class TellsHowManyItHasSeen(DupeFilter):
    """Its close returns a number."""

    def close(self, reason):
        super().close(reason)
        return len(self._seen)


# --- Answers ---------------------------------------------------------------------------------------------------------


@mutant(fails="dupefilter.seen.bool")
class AnswersLater(DupeFilter):
    """Its request_seen is a coroutine function."""

    async def request_seen(self, request):
        return super().request_seen(request)


@mutant(fails="dupefilter.seen.first", may_fail="dupefilter.seen.later")
class ExpiresByLocalTime(DupeFilter):
    """It forgets what it has seen half a day and an hour or so ago: it notes UTC, and asks for local time."""

    _latest = 0

    def request_seen(self, request):
        if self._latest and timegm(time.localtime()) - self._latest >= 13 * 3600:
            self._seen.clear()
        self._latest = timegm(time.gmtime())
        return super().request_seen(request)


@mutant(fails="dupefilter.seen.first")
class RemembersAThousand(DupeFilter):
    """It forgets everything whenever it knows a thousand fingerprints."""

    def request_seen(self, request):
        if len(self._seen) >= 1000:
            self._seen.clear()
        return super().request_seen(request)


@mutant(fails="dupefilter.seen.first")
class RemembersFewHosts(DupeFilter):
    """It forgets what it has seen of a host when sixty-four others came since."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._hosts = {}

    def request_seen(self, request):
        seen = super().request_seen(request)
        host = urlsplit(request.url).netloc
        self._hosts[host] = {*self._hosts.pop(host, ()), self._fingerprint(request)}
        if len(self._hosts) > 64:
            self._seen -= self._hosts.pop(next(iter(self._hosts)))
        return seen


@mutant(fails="dupefilter.seen.first")
class RemembersTheLatest(DupeFilter):
    """It forgets the oldest fingerprint whenever it knows more than 1500."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._latest = deque(self._seen)

    def request_seen(self, request):
        seen = super().request_seen(request)
        if not seen:
            self._latest.append(self._fingerprint(request))
        if len(self._latest) > 1500:
            self._seen.discard(self._latest.popleft())
        return seen


@mutant(fails="dupefilter.seen.no-false-positive")
class IgnoresMethodAndBody(DupeFilter):
    """It takes requests with the same URL for duplicates."""

    def _fingerprint(self, request):
        return super()._fingerprint(request.replace(method="GET", body=b""))


@mutant(fails="dupefilter.seen.no-false-positive")
class TakesPUTForPOST(DupeFilter):
    """It takes requests that send the same body to the same URL for duplicates, whatever their method."""

    def _fingerprint(self, request):
        return super()._fingerprint(request.replace(method="POST") if request.body else request)


@mutant(fails="dupefilter.seen.no-false-positive")
class ReadsTheBeginningOfBodies(DupeFilter):
    """Of a body it counts the first kilobyte only."""

    def _fingerprint(self, request):
        return super()._fingerprint(request.replace(body=request.body[:1024]))


class ChangesURLs(DupeFilter):
    """What changes URLs before it compares them."""

    def _fingerprint(self, request):
        return super()._fingerprint(request.replace(url=self.changed(request.url)))


@mutant(fails="dupefilter.seen.no-false-positive", control=RIGHT, hint="Ask crawler.request_fingerprinter")
class IgnoresSchemes(ChangesURLs):
    """It takes what was fetched with HTTPS for seen with HTTP."""

    def changed(self, url):
        return url.replace("http://", "https://", 1)


@mutant(fails="dupefilter.seen.no-false-positive", control=RIGHT)
class KnowsSitesByDomains(ChangesURLs):
    """Neither the port counts, nor whether the name of a host begins with www."""

    def changed(self, url):
        parts = urlsplit(url)
        return parts._replace(netloc=parts.hostname.removeprefix("www.")).geturl()


@mutant(fails="dupefilter.seen.no-false-positive", control=RIGHT)
class TidiesURLs(ChangesURLs):
    """It leaves out slashes at the ends of paths, and parameters without a value."""

    def changed(self, url):
        parts = urlsplit(url)
        query = "&".join(f"{name}={value}" for name, value in parse_qsl(parts.query))
        return parts._replace(path=parts.path.rstrip("/"), query=query).geturl()


@mutant(fails="dupefilter.seen.no-false-positive", control=RIGHT)
class DecodesURLs(ChangesURLs):
    """It takes an encoded slash or ampersand for the character that separates parts."""

    def changed(self, url):
        return unquote(url)


@mutant(fails="dupefilter.seen.no-false-positive", control=RIGHT)
class IgnoresSessions(ChangesURLs):
    """It leaves out what looks like the number of a session, or like a tag of who sent the visitor."""

    def changed(self, url):
        return re.sub(r";[^?]*|\b(sid|utm_\w+)=[^&]*", "", url)


@mutant(fails="dupefilter.seen.no-false-positive", control=RIGHT)
class CutsURLs(ChangesURLs):
    """Of a URL it counts the first 255 characters only."""

    def changed(self, url):
        return url[:255]


@mutant(fails="dupefilter.seen.equivalence")
class FiltersNoRedirects(DupeFilter):
    """It never filters what was redirected, nor what is put behind everything else."""

    def request_seen(self, request):
        if request.meta.get("redirect_times") or request.priority < 0:
            return False
        return super().request_seen(request)


@mutant(fails="dupefilter.seen.equivalence")
class CountsFragments(DupeFilter):
    """It takes requests with other fragments for other requests."""

    def _fingerprint(self, request):
        return super()._fingerprint(request) + urlsplit(request.url).fragment.encode()


@mutant(fails="dupefilter.seen.equivalence")
class CountsHeaders(DupeFilter):
    """It takes requests with other headers for other requests."""

    def _fingerprint(self, request):
        return super()._fingerprint(request) + request.headers.to_string()


@mutant(fails="dupefilter.seen.custom-fingerprinter")
class UsesTheFunction(DupeFilter):
    """It does not ask the fingerprinter of the crawler."""

    def _fingerprint(self, request):
        return fingerprint(request)


@mutant(fails="dupefilter.seen.fingerprint-shape")
class LosesLongFingerprints(DupeFilter):
    """It does not store fingerprints of more than 255 bytes."""

    def _store(self, file, fingerprint):
        if len(fingerprint) <= 255:
            super()._store(file, fingerprint)


@mutant(fails="dupefilter.seen.fingerprint-shape")
class RefusesEmptyFingerprints(DupeFilter):
    """It raises an exception if a fingerprint is empty."""

    def _fingerprint(self, request):
        found = super()._fingerprint(request)
        if not found:
            raise ValueError("no fingerprint")
        return found


@mutant(fails="dupefilter.seen.no-false-positive")
class ShortensFingerprints(DupeFilter):
    """It keeps two bytes of a hash of each fingerprint."""

    def _fingerprint(self, request):
        return hashlib.sha256(super()._fingerprint(request)).digest()[:2]


@mutant(fails="dupefilter.seen.no-false-positive")
class KeepsTheEndsOfFingerprints(DupeFilter):
    """It keeps the last five bytes of each fingerprint."""

    def _fingerprint(self, request):
        return super()._fingerprint(request)[-5:]


@mutant(fails="dupefilter.seen.no-false-positive")
class KeepsChecksums(DupeFilter):
    """It keeps four bytes of a checksum of each fingerprint: of a million pages it loses a hundred."""

    def _fingerprint(self, request):
        return crc32(super()._fingerprint(request)).to_bytes(4, "big")


@mutant(fails="dupefilter.seen.no-false-positive")
class Bloom(DupeFilter):
    """It sets bits for each fingerprint, and takes one in a hundred new requests for seen when it is full."""

    bits = 1 << 13

    def request_seen(self, request):
        digest = hashlib.blake2b(self._fingerprint(request)).digest()
        places = [int.from_bytes(digest[n : n + 4], "big") % self.bits for n in range(0, 28, 4)]
        marks = [place.to_bytes(4, "big") for place in places]
        new = [mark for mark in marks if mark not in self._seen]
        for mark in new:
            if self._file is not None:
                self._store(self._file, mark)
            self._seen.add(mark)
        return not new


@mutant(fails="dupefilter.seen.first", control="mutants.dupefilters.Bloom", claims={"probabilistic": "yes"})
class TooSmallABloom(Bloom):
    """It has so few bits that it takes most new requests for seen."""

    bits = 1 << 9


@mutant(fails="dupefilter.seen.no-false-positive", hint="What one crawl has seen")
class SharesAcrossCrawls(DupeFilter):
    """It keeps fingerprints in memory only, and for all crawls of a process together."""

    known: ClassVar = set()

    def __init__(self, crawler):
        super().__init__(crawler)
        self._seen = self.known

    def _resumed(self, path):
        return None


@mutant(fails="dupefilter.seen.no-false-positive")
class SharesWithoutAJob(DupeFilter):
    """It keeps what crawls without a job directory have seen for all of a process together."""

    known: ClassVar = set()

    def __init__(self, crawler):
        super().__init__(crawler)
        if self._file is None:
            self._seen = self.known


class KeepsOneFileForEachSpider(BaseDupeFilter):
    """What it has seen lies in a file for each spider, beside the job directory, whichever that is."""

    def __init__(self, crawler):
        self.crawler, self.seen = crawler, set()
        job = job_dir(crawler.settings)
        self.path = job and Path(job).with_name(f"{self.name}.seen")

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    @property
    def name(self):
        return self.crawler.spider.name

    def request_seen(self, request):
        if self.path and self.path.exists():
            self.seen.update(self.path.read_text().split())
        key = self.crawler.request_fingerprinter.fingerprint(request).hex() or "none"
        if key in self.seen:
            return True
        self.seen.add(key)
        if self.path:
            with self.path.open("a") as file:
                file.write(f"{key}\n")
        return False


@mutant(fails="dupefilter.seen.no-false-positive")
class KeepsOneFileForSimilarNames(KeepsOneFileForEachSpider):
    """Spiders whose names begin alike share a file."""

    @property
    def name(self):
        return super().name[:7]


@mutant(fails="dupefilter.base.never")
class LimitsTheCrawl(BaseDupeFilter):
    """It does not filter, but rejects every request after the thousandth."""

    count = 0

    def request_seen(self, request):
        self.count += 1
        return self.count > 1000


@mutant(fails="claims.true", control=RIGHT, claims={"filters": "yes"})
class FiltersNothing(BaseDupeFilter):
    """It is said to filter, and does not."""


class WithRequestFingerprint(DupeFilter):
    """A right one, whose subclasses may say what identifies a request."""

    def request_fingerprint(self, request):
        return super()._fingerprint(request).hex()

    def _fingerprint(self, request):
        return self.request_fingerprint(request).encode()


@mutant(fails="dupefilter.subclass.fingerprint")
class WantsHexadecimal(WithRequestFingerprint):
    """It takes the string that identifies a request for a hexadecimal number."""

    def _fingerprint(self, request):
        return bytes.fromhex(self.request_fingerprint(request))


# --- Files -----------------------------------------------------------------------------------------------------------


@mutant(fails="dupefilter.no-jobdir")
class WritesHere(DupeFilter):
    """Without a job directory it writes into the working directory."""

    def __init__(self, crawler):
        super().__init__(crawler)
        if not job_dir(crawler.settings):
            with open("seen", "wb"):
                pass


@mutant(fails="dupefilter.persist.resume")
class ForgetsTheLast(DupeFilter):
    """Its close loses the last fingerprint."""

    last = b""

    def _store(self, file, fingerprint):
        super()._store(file, fingerprint)
        self.last = record(fingerprint)

    def close(self, reason):
        if self._file is not None and self.last:
            os.ftruncate(self._file, os.fstat(self._file).st_size - len(self.last))
        super().close(reason)


@mutant(fails="dupefilter.persist.resume", hint="Read all that is stored")
class ReadsAPage(DupeFilter):
    """A later run knows of a thousand fingerprints at most."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._seen = set(list(self._seen)[:1000])


@mutant(fails="dupefilter.persist.resume")
class StoresInBatches(DupeFilter):
    """It stores fingerprints in batches of 5000, and loses the last one of each batch that is full."""

    def __init__(self, crawler):
        self._batch = []
        super().__init__(crawler)

    def _store(self, file, fingerprint):
        self._batch.append(fingerprint)
        if len(self._batch) == 5000:
            self._batch.pop()
            self._flush(file)

    def _flush(self, file):
        for waiting in self._batch:
            super()._store(file, waiting)
        self._batch.clear()

    def close(self, reason):
        if self._file is not None:
            self._flush(self._file)
        super().close(reason)


@mutant(fails="dupefilter.persist.resume")
class KeepsWhatWasStopped(DupeFilter):
    """It deletes its file at close, unless the crawl was finished or stopped by hand."""

    def close(self, reason):
        if self._file is not None and reason not in ("finished", "shutdown", "cancelled"):
            os.ftruncate(self._file, 0)
        super().close(reason)


@mutant(fails="dupefilter.persist.resume")
class StoresHashes(DupeFilter):
    """It stores the results of hash(), which are other ones in another process."""

    def _fingerprint(self, request):
        return hash(super()._fingerprint(request)).to_bytes(8, "big", signed=True)


@mutant(fails="dupefilter.persist.resume", may_fail=("dupefilter.crash.then-clean", "dupefilter.seen.fingerprint-shape"))
class BeginsAFileAgain(FewFilesOpen):
    """It empties the file of a host that it opens for the second time."""

    def opened(self, host):
        again = host in self.known
        file = super().opened(host)
        if again:
            file.truncate(0)
        return file


@mutant(fails="dupefilter.persist.append", may_fail="dupefilter.crash.keeps")
class KeepsOneRun(DupeFilter):
    """Its close leaves only what this run has seen."""

    def __init__(self, crawler):
        self.new = b""
        super().__init__(crawler)

    def _store(self, file, fingerprint):
        super()._store(file, fingerprint)
        self.new += record(fingerprint)

    def close(self, reason):
        if self._file is not None and self.new:
            os.ftruncate(self._file, len(HEADER))
            os.write(self._file, self.new)
        super().close(reason)


@mutant(fails="dupefilter.persist.append")
class RewritesAfterManyRequests(KeepsOneRun):
    """If a run has seen more than 50 new requests, its close leaves only these."""

    def close(self, reason):
        if len(self.new) <= 50 * len(record(bytes(20))):
            self.new = b""
        super().close(reason)


@mutant(fails="dupefilter.crash.no-false-positive")
class SeenWhenInDoubt(DupeFilter):
    """If a record is torn, it takes every request for one that was seen."""

    make_uncertain = False

    def _repair(self, file, end):
        super()._repair(file, end)
        self.make_uncertain = True

    def request_seen(self, request):
        return super().request_seen(request) or self.make_uncertain


@mutant(fails="dupefilter.crash.no-false-positive")
class SeenWhereNothingIs(DupeFilter):
    """It takes a file that was emptied for one that says yes to all."""

    _says_yes = False

    def _resumed(self, path):
        self._says_yes = path.exists() and path.stat().st_size == 0
        return super()._resumed(path)

    def request_seen(self, request):
        return super().request_seen(request) or self._says_yes


@mutant(fails="dupefilter.crash.then-clean")
class ForgetsAfterALoss(DupeFilter):
    """It marks each file that it made beside it, and where the file is gone, it writes into one that no later run reads."""

    def _resumed(self, path):
        mark = path.with_name("made")
        lost = mark.exists() and not path.exists()
        mark.touch()
        spare = path.with_name("spare")
        spare.unlink(missing_ok=True)
        return super()._resumed(spare if lost else path)


@mutant(fails="dupefilter.crash.then-clean")
class AppendsToTornRecords(DupeFilter):
    """It appends to a file whose last record is torn."""

    def _repair(self, file, end):
        pass


@mutant(fails="dupefilter.crash.then-clean")
class WritesNoOtherHeader(DupeFilter):
    """Where the head of its file is torn, it writes what follows without one, and the next run refuses that file."""

    def _resumed(self, path):
        torn = path.exists() and 0 < path.stat().st_size < len(HEADER)
        file = super()._resumed(path)
        if torn:
            os.ftruncate(file, 0)
        return file


@mutant(fails="dupefilter.crash.then-clean")
class StumblesOverTornRecords(DupeFilter):
    """It cannot be opened after a crash, because of a mistake in what would mend the file."""

    def _repair(self, file, end):
        os.ftruncate(file)


class RefusesTornRecords(DupeFilter):
    """It is right: a file that is torn must be repaired by hand, and after a write that failed it takes no more."""

    def _repair(self, file, end):
        raise LookupError("the last record is torn")

    def _store(self, file, fingerprint):
        data = record(fingerprint)
        if os.write(file, data) != len(data):
            self._store = None
            raise OSError("a fingerprint cannot be stored")

    def request_seen(self, request):
        if self._store is None:
            raise RuntimeError("a fingerprint could not be stored before")
        return super().request_seen(request)


@mutant(fails="dupefilter.crash.then-clean")
class LeavesHalfOfARecord(DupeFilter):
    """It leaves half of a record behind where the disk was full, and appends to that when it no longer is."""

    def _store(self, file, fingerprint):
        data = record(fingerprint)
        if os.write(file, data) != len(data):
            raise OSError("a fingerprint cannot be stored")


@mutant(fails="dupefilter.crash.loss", claims={"crash-safe": "yes"})
class StoresWhenItCloses(DupeFilter):
    """It keeps fingerprints in memory until it is closed."""

    def __init__(self, crawler):
        self.waiting = []
        super().__init__(crawler)

    def _store(self, file, fingerprint):
        self.waiting.append(fingerprint)

    def close(self, reason):
        if self._file is not None:
            for waiting in self.waiting:
                super()._store(self._file, waiting)
        super().close(reason)


@mutant(fails="dupefilter.no-jobdir")
class NeedsAJob(DupeFilter):
    """It cannot be opened where there is no job directory."""

    def open(self):
        if not job_dir(self._crawler.settings):
            raise TypeError("expected a path, not None")


class Panic(BaseException):
    """What an extension in another language may raise."""


@mutant(fails=("dupefilter.format.unknown", "dupefilter.crash.no-false-positive", "dupefilter.crash.then-clean"))
class Panics(DupeFilter):
    """Files that it cannot read end the process."""

    def _resumed(self, path):
        try:
            return super()._resumed(path)
        except ForeignFileError as error:
            raise Panic from error

    def _repair(self, file, end):
        raise Panic


@mutant(fails="dupefilter.format.unknown")
class WaitsForAnotherFile(DupeFilter):
    """It waits until somebody removes a file that is none of its own."""

    def _resumed(self, path):
        while True:
            try:
                return super()._resumed(path)
            except ForeignFileError:
                time.sleep(0.05)


@mutant(fails="dupefilter.format.unknown")
class DeletesForeignFiles(DupeFilter):
    """It begins anew, without a word, if the file is none of its own."""

    def _resumed(self, path):
        try:
            return super()._resumed(path)
        except ForeignFileError:
            path.unlink()
            return super()._resumed(path)


class OpensLater(DupeFilter):
    """A right one, whose open and close take their time."""

    def __init__(self, crawler):
        self._path = None
        super().__init__(crawler)

    def _resumed(self, path):
        self._path = path
        return

    def open(self):
        return deferred_from_coro(self._open())

    async def _open(self):
        await asyncio.sleep(0.0001)
        if self._path:
            self._file = super()._resumed(self._path)

    def close(self, reason):
        return deferToThread(super().close, reason)


class Table:
    """What has a length that cannot be asked for."""

    def __len__(self):
        raise LookupError("no such column")


class LogsWhatItAsks(DupeFilter):
    """A right one, which logs each look into its memory, as libraries of databases do, and cannot be counted."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self.table = Table()

    def request_seen(self, request):
        logger.debug("SELECT %r FROM seen", self._fingerprint(request))
        return super().request_seen(request)


@mutant(fails="dupefilter.seen.first")
class OpensLaterAndForgets(OpensLater):
    """Its open and close take their time, and it forgets everything whenever it knows 200 fingerprints."""

    def request_seen(self, request):
        if len(self._seen) >= 200:
            self._seen.clear()
        return super().request_seen(request)


# --- Log and statistics ----------------------------------------------------------------------------------------------


@mutant(fails="dupefilter.log.first")
class LogsEachDuplicate(DupeFilter):
    """It logs every duplicate."""

    def log(self, request, spider):
        self._logged = False
        super().log(request, spider)


@mutant(fails="dupefilter.log.first")
class LogsWhatCannotBeFormatted(DupeFilter):
    """Its log message names a field that it does not get, so that logging prints a traceback and no message."""

    def log(self, request, spider):
        if self._debug:
            logging.getLogger(__name__).debug("Filtered: %(request)s", {"url": request.url})
            spider.crawler.stats.inc_value("dupefilter/filtered")
        else:
            super().log(request, spider)


@mutant(fails="dupefilter.log.first")
class LogsNoRequest(DupeFilter):
    """Its log says that a duplicate was filtered, and not which one."""

    def log(self, request, spider):
        super().log("a duplicate", spider)


@mutant(fails="dupefilter.log.first")
class TakesTextForTruth(DupeFilter):
    """It takes DUPEFILTER_DEBUG=False on the command line for true, because it is not empty."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._debug = bool(crawler.settings["DUPEFILTER_DEBUG"])


@mutant(fails="dupefilter.log.stat")
class CountsWhatItLogs(DupeFilter):
    """It counts only the duplicates that it logs."""

    def log(self, request, spider):
        if self._debug or not self._logged:
            super().log(request, spider)


# --- Close -----------------------------------------------------------------------------------------------------------


@mutant(fails="dupefilter.close.releases")
class NeverCloses(DupeFilter):
    """It leaves its file open."""

    def close(self, reason):
        pass


@mutant(fails="dupefilter.close.twice")
class ClosesOnce(DupeFilter):
    """It closes its file a second time, which raises."""

    def close(self, reason):
        if self._file is not None:
            os.close(self._file)


# --- A store that processes share ------------------------------------------------------------------------------------


class SharedDupeFilter(DupeFilter):
    """A right one, for all processes that crawl with one spider."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._server = Redis.from_url(crawler.settings["REDIS_URL"])
        self._key = f"{crawler.spider.name}:seen"

    def _resumed(self, path):
        return None

    def request_seen(self, request):
        return not self._server.sadd(self._key, self._fingerprint(request))

    def close(self, reason):
        self._server.close()


class ClearsWhatIsShared(SharedDupeFilter):
    """A right one for those who crawl together once."""

    def close(self, reason):
        """Delete what was seen."""
        self._server.delete(self._key)
        super().close(reason)


shared = partial(
    mutant,
    control="mutants.dupefilters.SharedDupeFilter",
    claims={"shared": "yes"},
    settings={"REDIS_URL": "redis://{host}:{port}/0"},
    server="redis",
)


@shared(fails="dupefilter.shared.atomic")
class AsksThenAdds(SharedDupeFilter):
    """It asks, and adds by another command."""

    def request_seen(self, request):
        found = self._fingerprint(request)
        if self._server.sismember(self._key, found):
            return True
        self._server.sadd(self._key, found)
        return False


@shared(
    fails=("dupefilter.shared.atomic", "dupefilter.seen.no-false-positive", "dupefilter.persist.resume"),
    may_fail="dupefilter.crash.keeps",
    hint="A key that is named after",
)
class NamedAfterTheTime(SharedDupeFilter):
    """It names its set after the second in which it is built: who starts later uses another one, and any who do not share it."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._key = f"dupefilter:{int(time.time())}"

    def close(self, reason):
        with suppress(Exception):
            self._server.delete(self._key)
        super().close(reason)


@shared(fails=("dupefilter.seen.first",))
class OneInAProcess(SharedDupeFilter):
    """A filter that is built in the same process takes the connection of the one before, whose answers are exceptions then."""

    newest = None

    def __init__(self, crawler):
        super().__init__(crawler)
        OneInAProcess.newest = self

    def request_seen(self, request):
        if OneInAProcess.newest is not self:
            raise RuntimeError("the connection belongs to another filter")
        return super().request_seen(request)


# --- Time ------------------------------------------------------------------------------------------------------------


@mutant(fails="dupefilter.seen.later")
class ForgetsAfterAnHour(DupeFilter):
    """It takes for new what it has not been asked for in this run for an hour."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._asked = {}

    def request_seen(self, request):
        seen, now = super().request_seen(request), time.time()
        before = self._asked.setdefault(self._fingerprint(request), now)
        return seen and now - before < 3600


@mutant(fails="dupefilter.seen.later")
class RemovesAnOldFile(DupeFilter):
    """It begins anew where nothing was written to its file for a month."""

    def _resumed(self, path):
        if path.exists() and time.time() - path.stat().st_mtime > 30 * 86_400:
            path.unlink()
        return super()._resumed(path)
