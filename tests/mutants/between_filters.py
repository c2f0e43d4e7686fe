"""Filters in a file that several processes use, and what is wrong between two statements of them."""

from __future__ import annotations

import fcntl
import sqlite3
import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from scrapy.utils.job import job_dir

from mutants import mutant
from queue_reference.dupefilter import DupeFilter


class SharedInAFile(DupeFilter):
    """A right one: a table of SQLite, in which one statement asks and records."""

    def __init__(self, crawler):
        super().__init__(crawler)
        path = job_dir(crawler.settings)
        self._connection = sqlite3.connect(Path(path, "seen.db") if path else ":memory:", isolation_level=None)
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.execute("CREATE TABLE IF NOT EXISTS seen (fingerprint BLOB PRIMARY KEY)")

    def _resumed(self, path):
        return None

    def request_seen(self, request):
        adding = "INSERT OR IGNORE INTO seen VALUES (?)"
        return not self._connection.execute(adding, (self._fingerprint(request),)).rowcount

    def close(self, reason):
        self._connection.close()


shared = partial(mutant, control="mutants.between_filters.SharedInAFile", claims={"shared": "yes"})


@shared(fails="dupefilter.shared.atomic")
class SelectsThenInserts(SharedInAFile):
    """Asks by one statement, and records by another one."""

    def request_seen(self, request):
        fingerprint = self._fingerprint(request)
        if self._connection.execute("SELECT 1 FROM seen WHERE fingerprint = ?", (fingerprint,)).fetchone():
            return True
        self._connection.execute("INSERT OR IGNORE INTO seen VALUES (?)", (fingerprint,))
        return False


@mutant(
    fails=("dupefilter.persist.resume", "dupefilter.seen.no-false-positive"),
    may_fail="dupefilter.close.releases",
    control="mutants.between_filters.SharedInAFile",
    hint="End each transaction",
)
class KeepsItsTransaction(SharedInAFile):
    """Its close leaves the connection open, and with it the transaction in which it records."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._connection.execute("PRAGMA busy_timeout = 50")

    def request_seen(self, request):
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
        return super().request_seen(request)

    def close(self, reason):
        pass


@shared(fails="dupefilter.shared.atomic", hint="Let the database wait")
class WaitsForNoLock(SharedInAFile):
    """Raises «database is locked» at once where it should wait."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._connection.execute("PRAGMA busy_timeout = 0")

    def request_seen(self, request):
        self._connection.execute("BEGIN IMMEDIATE")
        seen = super().request_seen(request)
        self._connection.execute("COMMIT")
        return seen


@shared(fails="dupefilter.shared.atomic")
class InsertsTwice(SharedInAFile):
    """Raises where another process has recorded what it was about to record."""

    def request_seen(self, request):
        fingerprint = self._fingerprint(request)
        if self._connection.execute("SELECT 1 FROM seen WHERE fingerprint = ?", (fingerprint,)).fetchone():
            return True
        self._connection.execute("INSERT INTO seen VALUES (?)", (fingerprint,))
        return False


@shared(fails="dupefilter.shared.atomic")
class KnowsWhatWasThere(SharedInAFile):
    """Reads what was seen when it is opened, and looks there."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._known = {row[0] for row in self._connection.execute("SELECT fingerprint FROM seen")}

    def request_seen(self, request):
        fingerprint = self._fingerprint(request)
        if fingerprint in self._known:
            return True
        self._known.add(fingerprint)
        super().request_seen(request)
        return False


class SharedLog(DupeFilter):
    """A right one: a file to which each process appends, under a lock, once it has read what others have appended."""

    def __init__(self, crawler):
        super().__init__(crawler)
        self._known, self._read = set(), 0
        path = job_dir(crawler.settings)
        self._log = open(Path(path, "seen.log"), "a+b") if path else tempfile.TemporaryFile("a+b")  # noqa: SIM115
        self._log.write(b"\n")  # ends a line that a crash has cut

    def _resumed(self, path):
        return None

    def request_seen(self, request):
        with self._locked():
            self._catch_up()
            return self._add(self._line(request))

    def _line(self, request):
        return self._fingerprint(request).hex().encode() + b"\n"

    @contextmanager
    def _locked(self):
        fcntl.flock(self._log, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._log, fcntl.LOCK_UN)

    def _catch_up(self):
        self._log.seek(self._read)
        self._known.update(self._log)
        self._read = self._log.tell()

    def _add(self, line):
        if line in self._known:
            return True
        self._known.add(line)
        self._log.write(line)
        self._log.flush()
        self._read = self._log.tell()
        return False

    def close(self, reason):
        self._log.close()


@shared(
    fails="dupefilter.shared.atomic",
    may_fail="dupefilter.format.unknown",
    control="mutants.between_filters.SharedLog",
    hint="Read what others",
)
class PassesOverWhatCameBetween(SharedLog):
    """It reads before it locks, and goes on behind what it has written itself."""

    def request_seen(self, request):
        self._catch_up()
        with self._locked():
            self._log.seek(self._read)
            return self._line(request) in self._log or self._add(self._line(request))
