"""Asynchronous queues in a file that several processes use, and what is wrong between two statements of them."""

from __future__ import annotations

import asyncio
from functools import partial

from mutants import mutant
from mutants.async_controls_stores import SQLite

FIRST = "SELECT * FROM requests ORDER BY priority DESC, number LIMIT 1"

claimed = partial(mutant, control="mutants.async_between.SharedSQLite", claims={"shared": "yes"})
shared = partial(claimed, fails="aqueue.shared")
visible = partial(claimed, fails="aqueue.shared-visible")


class SharedSQLite(SQLite):
    """A right one: a statement takes and returns, and who waits looks again after a moment."""

    def wait(self):
        if not self._closed:
            self._arrival.clear()
            asyncio.get_running_loop().call_later(0.02, self._arrival.set)

    async def take(self):
        async with self.lock:
            first = "SELECT number FROM requests ORDER BY priority DESC, number LIMIT 1"
            found = self.ask(f"DELETE FROM requests WHERE number = ({first}) RETURNING *")
            if not found:
                self.wait()
        return found[0] if found else None


@shared()
class SelectsThenDeletes(SharedSQLite):
    """Looks by one statement, and takes by another one."""

    async def take(self):
        async with self.lock:
            found = self.ask(FIRST)
            if found:
                self.ask("DELETE FROM requests WHERE number = ?", found[0][:1])
            else:
                self.wait()
        return found[0] if found else None


@shared()
class InsistsOnWhatItSaw(SharedSQLite):
    """Raises where another process has taken what it saw."""

    async def take(self):
        async with self.lock:
            found = self.ask(FIRST)
            if found and not self.ask("DELETE FROM requests WHERE number = ? RETURNING 1", found[0][:1]):
                raise LookupError("somebody else was faster")
            if not found:
                self.wait()
        return found[0] if found else None


@visible()
class WaitsForItsOwn(SharedSQLite):
    """Who waits is woken by its own process only."""

    def wait(self):
        if not self._closed:
            self._arrival.clear()


@visible()
class CountsItsOwn(SharedSQLite):
    """Counts when it is opened, and then only what it puts and gets itself."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        self.known = super().count()

    async def store(self, priority, data):
        await super().store(priority, data)
        self.known += 1

    async def take(self):
        found = await super().take()
        self.known -= found is not None
        return found

    async def give_back(self, row):
        await super().give_back(row)
        self.known += 1

    async def clear(self):
        await super().clear()
        self.known = 0

    def count(self):
        return max(0, self.known)


@visible(may_fail="aqueue.scale.stored")
class TakesBehindTheLastOne(SharedSQLite):
    """Numbers a request before it stores it, and looks only behind the one of its priority that it took last."""

    def __init__(self, path, maxsize=0):
        super().__init__(path, maxsize)
        self.ask("CREATE TABLE IF NOT EXISTS numbers (number INTEGER PRIMARY KEY AUTOINCREMENT)")
        self.last = {}

    async def store(self, priority, data):
        async with self.lock:
            if self._maxsize and self.count() >= self._maxsize:
                raise asyncio.QueueFull
            number = self.ask("INSERT INTO numbers DEFAULT VALUES RETURNING number")[0][0]
            self.ask("INSERT INTO requests VALUES (?, ?, ?)", (number, priority, data))
        self._arrival.set()

    async def take(self):
        async with self.lock:
            listed = self.ask("SELECT priority, number FROM requests ORDER BY priority DESC, number")
            behind = [number for priority, number in listed if number > self.last.get(priority, 0)][:1]
            found = self.ask("DELETE FROM requests WHERE number = ? RETURNING *", behind) if behind else []
            if found:
                self.last[found[0][1]] = found[0][0]
            else:
                self.wait()
        return found[0] if found else None

    async def give_back(self, row):
        self.last[row[1]] = row[0] - 1
        await super().give_back(row)
