"""What stores by itself, with as little around it as a queue needs: the limits that queues are compared with."""

from __future__ import annotations

import pickle
import sqlite3
from collections import deque
from pathlib import Path

from redis import Redis as Client
from scrapy.utils.request import request_from_dict


class Deque:
    """A deque, as it is."""

    def __init__(self):
        self._requests = deque()

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls()

    def push(self, request):
        self._requests.append(request)

    def pop(self):
        return self._requests.popleft() if self._requests else None

    def close(self):
        pass

    def __len__(self):
        return len(self._requests)


class Pickles:
    """What stores bytes stores pickles of requests."""

    def __init__(self, crawler, key):
        self._spider = crawler.spider

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def push(self, request):
        self._put(pickle.dumps(request.to_dict(spider=self._spider)))

    def pop(self):
        data = self._take()
        return None if data is None else request_from_dict(pickle.loads(data), spider=self._spider)


class SQLite(Pickles):
    """A table of SQLite, one transaction for each call."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        Path(key).parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(f"{key}.sqlite", isolation_level=None)
        self._database.execute("CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, item BLOB)")
        (self._length,) = self._database.execute("SELECT COUNT(*) FROM items").fetchone()

    def _put(self, data):
        self._database.execute("INSERT INTO items (item) VALUES (?)", (data,))
        self._length += 1

    def _take(self):
        found = self._database.execute("SELECT id, item FROM items ORDER BY id LIMIT 1").fetchone()
        if found is None:
            return None
        self._database.execute("DELETE FROM items WHERE id = ?", found[:1])
        self._length -= 1
        return found[1]

    def close(self):
        self._database.close()

    def __len__(self):
        return self._length


class Redis(Pickles):
    """A list of Redis."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._client, self._key = Client.from_url(crawler.settings["REDIS_URL"]), key

    def _put(self, data):
        self._client.rpush(self._key, data)

    def _take(self):
        return self._client.lpop(self._key)

    def close(self):
        self._client.close()

    def __len__(self):
        return self._client.llen(self._key)
