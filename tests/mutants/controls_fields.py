"""Right implementations that keep requests in a form of their own, with all their fields."""

from __future__ import annotations

import base64
import bisect
import json
import sqlite3
from collections import deque
from pathlib import Path

from scrapy.core.scheduler import BaseScheduler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.request import request_from_dict

TEXT = "latin-1"


class JsonFifo:
    """A queue in memory of JSON texts; it refuses what JSON does not give back as it was."""

    def __init__(self, crawler, key):
        self._crawler = crawler
        self._texts = deque()

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def push(self, request):
        self._texts.append(self._written(request))

    def pop(self):
        return self._read(self._texts.popleft()) if self._texts else None

    def peek(self):
        return self._read(self._texts[0]) if self._texts else None

    def __len__(self):
        return len(self._texts)

    def close(self):
        """There is nothing to release."""

    def _written(self, request):
        try:
            parts = request.to_dict(spider=self._crawler.spider)
            parts["body"] = base64.b64encode(parts["body"]).decode()
            parts["headers"] = [[n.decode(TEXT), [v.decode(TEXT) for v in values]] for n, values in parts["headers"].items()]
            text = json.dumps(parts)
            if not _same(json.loads(text), parts):
                raise ValueError("JSON changes it")
            self._read(text)
        except Exception as error:
            raise ValueError(f"{request} cannot be stored: {error!r}") from error
        return text

    def _read(self, text):
        parts = json.loads(text)
        parts["body"] = base64.b64decode(parts["body"])
        parts["headers"] = {name.encode(TEXT): [v.encode(TEXT) for v in values] for name, values in parts["headers"]}
        return request_from_dict(parts, spider=self._crawler.spider)


def _same(one, other):
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return one == other


class JsonFileFifo(JsonFifo):
    """The same in a file, of which nothing is left when it is empty."""

    def __init__(self, crawler, key):
        super().__init__(crawler, key)
        self._path = Path(key)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._database = sqlite3.connect(self._path, isolation_level=None)
        self._database.execute("CREATE TABLE IF NOT EXISTS texts (number INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT)")

    def push(self, request):
        self._database.execute("INSERT INTO texts (text) VALUES (?)", (self._written(request),))

    def pop(self):
        if (found := self._first()) is None:
            return None
        self._database.execute("DELETE FROM texts WHERE number = ?", (found[0],))
        return self._read(found[1])

    def peek(self):
        found = self._first()
        return None if found is None else self._read(found[1])

    def __len__(self):
        return self._database.execute("SELECT COUNT(*) FROM texts").fetchone()[0]

    def close(self):
        if self._database is not None:
            is_empty = len(self) == 0
            self._database.close()
            self._database = None
            if is_empty:
                self._path.unlink()

    def _first(self):
        return self._database.execute("SELECT number, text FROM texts ORDER BY number LIMIT 1").fetchone()


class DictScheduler(BaseScheduler):
    """A scheduler in memory of dicts, with a filter in memory; the highest priority first, then the oldest."""

    def __init__(self, crawler):
        self._crawler = crawler
        self._filter = RFPDupeFilter(fingerprinter=crawler.request_fingerprinter)  # without a job, in which it would keep more
        self._waiting = []

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def open(self, spider):
        self._spider = spider
        return self._filter.open()

    def close(self, reason):
        return self._filter.close(reason)

    def enqueue_request(self, request):
        if not request.dont_filter and self._filter.request_seen(request):
            self._filter.log(request, self._spider)
            return False
        try:
            kept = request.to_dict(spider=self._spider)
        except ValueError:
            kept = request
        bisect.insort_left(self._waiting, (request.priority, kept), key=lambda pair: pair[0])
        return True

    def next_request(self):
        if not self._waiting:
            return None
        _, kept = self._waiting.pop()
        return request_from_dict(kept, spider=self._spider) if isinstance(kept, dict) else kept

    def has_pending_requests(self):
        return bool(self._waiting)

    def __len__(self):
        return len(self._waiting)
