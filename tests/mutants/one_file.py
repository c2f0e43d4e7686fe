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
        request = self._rebuild(found[1])
        self._database.execute("DELETE FROM requests WHERE id = ?", found[:1])
        return request

    def peek(self):
        found = self._first()
        return None if found is None else self._rebuild(found[1])

    def close(self):
        self._database.close()

    def __len__(self):
        return self._database.execute("SELECT count(*) FROM requests WHERE key = ?", (self._key,)).fetchone()[0]

    def _first(self):
        query = "SELECT id, data FROM requests WHERE key = ? ORDER BY id LIMIT 1"
        return self._database.execute(query, (self._key,)).fetchone()

    def _rebuild(self, data):
        return request_from_dict(pickle.loads(data), spider=self._spider)


RIGHT = "mutants.one_file.OneFile"


@mutant(fails="queue.ctor.key-identity", control=RIGHT)
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
