"""A downstream queue in a table of PostgreSQL that several processes use at the same time, and that loses nothing if one dies.

Whoever pops takes a lease of the next row, by ``FOR UPDATE SKIP LOCKED``: nobody waits for a row that another one is just taking.
The row is deleted by the next ``pop``, or by ``close``: until then the crawl may not have got the request, or may have died with
it. A lease that has run out may be taken by another process. What was taken by a statement whose reply was lost is this
consumer's own, and comes next. ``len()`` asks the server, and counts what others have taken, because that may come back.

The price: while another process works on the last request, ``pop`` returns ``None`` although ``len()`` is 1, so a crawl ends no
sooner than its slowest process. A process that pops nothing for longer than the lease is taken for dead; its last request goes
to another one as well: make the lease longer than the longest pause. For the rest see ``postgresql``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import ClassVar
from uuid import uuid4

import psycopg
from scrapy.crawler import Crawler

from queue_conformance import TransientError
from queue_reference.postgresql import FifoPostgreSQLQueue


class SharedFifoPostgreSQLQueue(FifoPostgreSQLQueue):
    """The request that was pushed first is popped first, by whichever process asks next.

    Settings:
        POSTGRESQL_LEASE: after how many seconds a request that was taken goes to another process, by default 60. The others are
            those of :class:`~queue_reference.postgresql.FifoPostgreSQLQueue`.
    """

    _next: ClassVar[str] = f"""
        WITH confirmed AS ({FifoPostgreSQLQueue._confirm}), next AS (
            SELECT id FROM crawl_requests
            WHERE {FifoPostgreSQLQueue._is_left} AND (lease IS NULL OR lease < now() OR consumer = %(consumer)s)
            ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
        )
        UPDATE crawl_requests AS taken SET consumer = %(consumer)s, lease = now() + %(lease)s * interval '1 second'
        FROM next WHERE taken.key = %(key)s AND taken.id = next.id RETURNING taken.id, request
    """
    _release: ClassVar[str] = """
        UPDATE crawl_requests SET consumer = NULL, lease = NULL
        WHERE key = %(key)s AND consumer = %(consumer)s AND id <> %(delivered)s
    """

    def __init__(self, crawler: Crawler, key: str) -> None:
        super().__init__(crawler, key)
        self._values |= {"consumer": uuid4(), "lease": crawler.settings.getfloat("POSTGRESQL_LEASE", 60.0)}

    def close(self) -> None:
        """Give back what was taken and not delivered, and release the connection. Never raises because of the server."""
        with suppress(TransientError, psycopg.Error):
            self._run(self._release)
        super().close()

    def __len__(self) -> int:
        """Return how many requests are stored, or the last known number if the server does not tell."""
        with suppress(TransientError, psycopg.Error):
            self._recount()
        return max(0, self._length)
