"""Wrong queues on PostgreSQL: transactions that stay open or fail, rows without a lock, and a connection of two processes."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from multiprocessing.connection import wait

import psycopg

from mutants import mutant
from queue_conformance import TransientError
from queue_reference.postgresql import FifoPostgreSQLQueue
from queue_reference.postgresql_shared import SharedFifoPostgreSQLQueue

alone = partial(
    mutant,
    control="queue_reference.postgresql.FifoPostgreSQLQueue",
    settings={"POSTGRESQL_TIMEOUT": "0.5"},
    server="postgresql",
)
shared = partial(
    mutant,
    control="queue_reference.postgresql_shared.SharedFifoPostgreSQLQueue",
    claims={"shared": "yes"},
    settings={"POSTGRESQL_TIMEOUT": "0.5", "POSTGRESQL_LEASE": "1"},
    server="postgresql",
)


# --- Transactions ----------------------------------------------------------------------------------------------------


class InTransactions(FifoPostgreSQLQueue):
    """Each statement begins a transaction, unless one has begun."""

    _begins = False

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._begins = True
        self._connection.autocommit = False

    def _connect(self):
        connection = super()._connect()
        connection.autocommit = not self._begins
        return connection


@alone(
    fails=(
        "queue.persist.reopen",
        "queue.close.keeps-fault",
        "queue.pop.reply-cut",
        "queue.pop.transient-keeps",
        "queue.push.failed-no-trace-fault",
    )
)
class ForgetsToCommit(InTransactions):
    """Commits nothing that it stores."""


@alone(fails="queue.persist.partial")
class ClosesBeforeTheCommit(FifoPostgreSQLQueue):
    """Deletes what was popped last in a transaction that it does not commit before it closes."""

    def close(self):
        with suppress(psycopg.Error):
            self._connection.autocommit = False
        super().close()


@alone(fails=("queue.push.failed-no-trace-fault", "queue.pop.transient-keeps"))
class StaysInAFailedTransaction(InTransactions):
    """Commits after each statement, and does not roll back after one that fails."""

    def _run(self, statement, **values):
        if self._connection.closed or wait([self._connection.fileno()], 0):
            self._connection.close()
            super()._run("SELECT 1")
        try:
            cursor = self._connection.execute(statement.encode(), self._values | values)
            row = cursor.fetchone() if cursor.description else None
            self._connection.commit()
        except psycopg.OperationalError as error:
            self._connection.close()
            raise TransientError(f"{error}") from error
        return row


# --- What is stored --------------------------------------------------------------------------------------------------


@alone(fails="queue.pop.unreadable")
class ForgetsWhatItSetAside(FifoPostgreSQLQueue):
    """Comes back to a row that cannot be rebuilt when the others are gone."""

    def pop(self):
        request = super().pop()
        if request is None and self._values["aside"]:
            self._values["aside"] = []
            self._recount()
            return super().pop()
        return request


# --- Several processes -----------------------------------------------------------------------------------------------


@shared(fails="queue.shared.once")
class SelectsWithoutALock(SharedFifoPostgreSQLQueue):
    """Selects the next row without a lock, and marks it as taken by another statement."""

    _select = f"""
        SELECT id, request FROM crawl_requests
        WHERE {SharedFifoPostgreSQLQueue._is_left} AND (lease IS NULL OR lease < now() OR consumer = %(consumer)s)
        ORDER BY id LIMIT 1
    """
    _mark = """
        UPDATE crawl_requests SET consumer = %(consumer)s, lease = now() + %(lease)s * interval '1 second'
        WHERE key = %(key)s AND id = %(id)s
    """

    def _run(self, statement, **values):
        if statement is not self._next:
            return super()._run(statement, **values)
        super()._run(self._confirm)
        row = super()._run(self._select)
        if row is not None:
            super()._run(self._mark, id=row[0])
        return row


@shared(fails="queue.shared.undisturbed")
class SharesItsConnection(SharedFifoPostgreSQLQueue):
    """Uses one connection for all queues of a process and of those forked from it, which mix what they send."""

    _one = None

    def _connect(self):
        cls = type(self)
        if cls._one is None or cls._one.closed:
            cls._one = super()._connect()
        return cls._one
