"""A downstream queue in a table of PostgreSQL, by psycopg 3, that gets over a server that goes away for a while.

Each operation is one statement that commits by itself, so that no transaction stays open. What is hard is the reply that never
comes: the server may have run the statement, or not, or may still run it. So ``pop`` only reads the next row, which is deleted
by the next ``pop``, or by ``close``, and by its id: that may be done twice. A lost reply costs no request, and doubles none. If
the process dies, or the server is away during ``close``, the next process gets the request that was popped last once more. After
a push without reply the request may be stored or not.

One queue object at a time may use a key; for several there is ``postgresql_shared``. Nor may one be used after a fork: two
processes would talk over one connection. Requests are pickled, so whoever can write to the table can run code in the crawler.
"""

from __future__ import annotations

import pickle
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any, ClassVar, Self

import psycopg
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.request import request_from_dict

from queue_conformance import SerializationError, TransientError

PASSING = ("08", "40", "57", "53300")  # codes of errors: the connection is lost, or the server is busy, starting or ending


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that waits some seconds for an answer; psycopg itself waits for ever."""

    seconds = 1.0

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        return super().wait(gen, interval, timeout or self.seconds)


class FifoPostgreSQLQueue:
    """The request that was pushed first is popped first.

    Settings:
        POSTGRESQL_DSN: the server, such as ``postgresql://user@host/database``; by default what ``PGHOST`` and so on say.
        POSTGRESQL_TIMEOUT: how many seconds to wait for an answer, by default 1, and for a connection, then at least 2.

    Raises:
        psycopg.Error: if the server does not answer; later, as from every method, if it refuses.
    """

    _create: ClassVar[str] = """
        SELECT pg_advisory_xact_lock(7237125);  -- two processes cannot create one table at the same time
        CREATE TABLE IF NOT EXISTS crawl_requests (
            key bytea, id bigint GENERATED ALWAYS AS IDENTITY, request bytea NOT NULL,
            consumer uuid, lease timestamptz,  -- of shared queues
            PRIMARY KEY (key, id)
        )
    """
    _confirm: ClassVar[str] = "DELETE FROM crawl_requests WHERE key = %(key)s AND id = %(delivered)s"
    _is_left: ClassVar[str] = "key = %(key)s AND id <> %(delivered)s AND id <> ALL(%(aside)s)"
    _next: ClassVar[str] = f"""
        WITH confirmed AS ({_confirm})
        SELECT id, request FROM crawl_requests WHERE {_is_left} ORDER BY id LIMIT 1
    """
    _count: ClassVar[str] = f"SELECT count(*) FROM crawl_requests WHERE {_is_left}"

    def __init__(self, crawler: Crawler, key: str) -> None:
        self._dsn, self._spider = crawler.settings.get("POSTGRESQL_DSN", ""), crawler.spider
        self._timeout = crawler.settings.getfloat("POSTGRESQL_TIMEOUT", 1.0)
        self._values: dict[str, Any] = {"key": key.encode(errors="surrogatepass"), "delivered": 0, "aside": []}
        self._connection = self._connect()  # that nothing answers is temporary only if something did before
        self._run(self._create)
        self._recount()

    @classmethod
    def from_crawler(cls, crawler: Crawler, key: str) -> Self:
        """Build the queue of a key."""
        return cls(crawler, key)

    def push(self, request: Request) -> None:
        """Store a request.

        Raises:
            SerializationError: if it cannot be serialized, or not be rebuilt: the scheduler then keeps it in memory.
            TransientError: if the server does not answer, likewise. The request may have been stored nevertheless.
        """
        try:
            value = pickle.dumps(request.to_dict(spider=self._spider))
            request_from_dict(pickle.loads(value), spider=self._spider)  # or else pop would fail, and keep the others
        except Exception as error:  # whatever the objects in a request raise
            raise SerializationError(f"cannot serialize {request}: {error!r}") from error
        try:
            self._run("INSERT INTO crawl_requests (key, request) VALUES (%(key)s, %(request)s)", request=value)
        except TransientError:
            self._is_known = False
            raise
        self._length += 1

    def pop(self) -> Request | None:
        """Take out the next request; ``None`` if there is none, or the server does not answer.

        Raises:
            Exception: if it cannot be rebuilt; it is set aside, and the next run tries it again.
        """
        try:
            row = self._run(self._next)
            self._values["delivered"] = 0
            if not self._is_known or (row is None and self._length):
                self._recount()
        except TransientError:
            return None
        if row is None:
            return None
        self._length -= 1
        try:
            request = request_from_dict(pickle.loads(row[1]), spider=self._spider)
        except Exception:
            self._values["aside"].append(row[0])
            raise
        self._values["delivered"] = row[0]
        return request

    def close(self) -> None:
        """Release the connection; an empty queue leaves no row behind. Never raises because of the server."""
        with suppress(TransientError, psycopg.Error):
            self._run(self._confirm)
        self._connection.close()

    def __len__(self) -> int:
        """Return the last known number. The server is asked only if a push had no reply."""
        if not self._is_known:
            with suppress(TransientError, psycopg.Error):
                self._recount()
        return self._length

    def _recount(self) -> None:
        self._length: int = self._run(self._count)[0]
        self._is_known = True

    def _connect(self) -> Connection:
        connection = Connection.connect(self._dsn, autocommit=True, connect_timeout=max(2, round(self._timeout)))
        connection.seconds = self._timeout
        return connection

    def _run(self, statement: str, **values: Any) -> Any:
        """Run a statement, by a new connection if the old one has ended; return the first row."""
        try:
            if self._connection.closed or wait([self._connection.fileno()], 0):  # what comes unasked is the end
                self._connection.close()
                self._connection = self._connect()
            cursor = self._connection.execute(statement.encode(), self._values | values)
            return cursor.fetchone() if cursor.description else None
        except psycopg.Error as error:
            self._connection.close()
            has_no_server = isinstance(error, psycopg.OperationalError) and not (error.pgconn and error.pgconn.needs_password)
            if error.sqlstate.startswith(PASSING) if error.sqlstate else has_no_server:
                raise TransientError(f"{type(error).__name__}: {error}") from error
            raise
