"""Filters in a file that several processes use, and what is wrong between two statements of them."""

from __future__ import annotations

import sqlite3
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
