"""Asynchronous queues in a file that several processes use, and what is wrong between two statements of them."""

from __future__ import annotations

from functools import partial

from mutants import mutant
from mutants.async_controls_stores import SQLite

FIRST = "SELECT * FROM requests ORDER BY priority DESC, number LIMIT 1"

shared = partial(mutant, fails="aqueue.shared", control="mutants.async_between.SharedSQLite", claims={"shared": "yes"})


class SharedSQLite(SQLite):
    """A right one: a statement takes and returns."""

    async def take(self):
        async with self.lock:
            first = "SELECT number FROM requests ORDER BY priority DESC, number LIMIT 1"
            found = self.ask(f"DELETE FROM requests WHERE number = ({first}) RETURNING *")
            if not found and not self._closed:
                self._arrival.clear()
        return found[0] if found else None


@shared()
class SelectsThenDeletes(SharedSQLite):
    """Looks by one statement, and takes by another one."""

    async def take(self):
        async with self.lock:
            found = self.ask(FIRST)
            if found:
                self.ask("DELETE FROM requests WHERE number = ?", found[0][:1])
            elif not self._closed:
                self._arrival.clear()
        return found[0] if found else None


@shared()
class InsistsOnWhatItSaw(SharedSQLite):
    """Raises where another process has taken what it saw."""

    async def take(self):
        async with self.lock:
            found = self.ask(FIRST)
            if found and not self.ask("DELETE FROM requests WHERE number = ? RETURNING 1", found[0][:1]):
                raise LookupError("somebody else was faster")
            if not found and not self._closed:
                self._arrival.clear()
        return found[0] if found else None
