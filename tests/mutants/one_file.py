"""Queues of several keys in one file, and those that think of one key alone."""

from __future__ import annotations

import pickle
import sqlite3
from collections import Counter
from pathlib import Path
from typing import ClassVar

from scrapy.utils.request import request_from_dict

from mutants import mutant


class OneFile:
    """A right queue, first in, first out: all keys of a directory have their requests in one table of one file."""

    _waiting = "FROM requests WHERE key = ? AND id NOT IN aside"

    def __init__(self, crawler, key):
        self._spider = crawler.spider
        self._path = Path(key).parent / "requests.db"
        self._key = Path(key).name
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._database = self._opened()

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def _opened(self):
        database = sqlite3.connect(self._path, isolation_level=None)
        database.execute("CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT, data BLOB)")
        database.execute("CREATE TEMPORARY TABLE aside (id INTEGER PRIMARY KEY)")  # what cannot be rebuilt in this run
        return database

    def push(self, request):
        try:
            data = pickle.dumps(request.to_dict(spider=self._spider))
            self._rebuild(data)
        except Exception as error:
            raise ValueError(str(error)) from error
        self._database.execute("INSERT INTO requests (key, data) VALUES (?, ?)", (self._key, data))

    def pop(self):
        found = self._first()
        if found is None:
            return None
        try:
            request = self._rebuild(found[1])
        except Exception:
            self._database.execute("INSERT INTO aside VALUES (?)", found[:1])
            raise
        self._gone(found[0])
        return request

    def _gone(self, number):
        self._database.execute("DELETE FROM requests WHERE id = ?", (number,))

    def peek(self):
        found = self._first()
        return None if found is None else self._rebuild(found[1])

    def close(self):
        self._database.close()

    def __len__(self):
        return self._database.execute(f"SELECT count(*) {self._waiting}", (self._key,)).fetchone()[0]

    def _first(self):
        return self._database.execute(f"SELECT id, data {self._waiting} ORDER BY id LIMIT 1", (self._key,)).fetchone()

    def _rebuild(self, data):
        return request_from_dict(pickle.loads(data), spider=self._spider)


@mutant(fails="queue.ctor.key-identity", may_fail="queue.pop.missing-callback")
class RemovesTheFileOfAll(OneFile):
    """The last close removes the file if its own requests are all gone, though another key may have some there."""

    opened: ClassVar = Counter()
    _closed = False

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self.opened[self._path] += 1

    def close(self):
        if not self._closed:
            self._closed = True
            self.opened[self._path] -= 1
            empty = not len(self)
            super().close()
            if empty and not self.opened[self._path]:
                self._path.unlink()


@mutant(
    fails="queue.ctor.key-isolation",
    may_fail=("queue.ctor.empty-clean", "queue.push.failed-no-trace-fault", "queue.close.empty-removes"),
)
class JoinsKeysAndNumbers(OneFile):
    """The name of a request is its key with a number behind it, and what has the same name is replaced."""

    def _opened(self):
        database = super()._opened()
        database.execute("CREATE TABLE IF NOT EXISTS names (name TEXT PRIMARY KEY, key TEXT, id INTEGER)")
        return database

    def push(self, request):
        super().push(request)
        run = self._database.execute
        (id_,) = run("SELECT max(id) FROM requests").fetchone()
        (number,) = run("SELECT count(*) FROM names WHERE key = ?", (self._key,)).fetchone()
        name = f"{self._key}{number}"
        run("DELETE FROM requests WHERE id = (SELECT id FROM names WHERE name = ?)", (name,))
        run("REPLACE INTO names VALUES (?, ?, ?)", (name, self._key, id_))
