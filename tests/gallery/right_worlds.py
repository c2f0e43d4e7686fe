"""Right schedulers that use the world around them: none of them may be reported."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path

from scrapy.utils.job import job_dir
from scrapy.utils.request import request_from_dict


class StoresWhereItWorks:
    """It keeps its requests in a database below the working directory, whatever the job."""

    def __init__(self, crawler):
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    def path(self):
        return Path("state.db")

    def open(self, spider):
        self.spider = spider
        self.db = sqlite3.connect(self.path(), isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS requests (id INTEGER PRIMARY KEY, priority INTEGER, data BLOB)")
        self.db.execute("CREATE TABLE IF NOT EXISTS seen (fingerprint BLOB PRIMARY KEY)")

    def close(self, reason):
        self.db.close()

    def enqueue_request(self, request):
        data = pickle.dumps(request.to_dict(spider=self.spider))
        fingerprint = self.crawler.request_fingerprinter.fingerprint(request)
        with self.db:
            self.db.execute("BEGIN IMMEDIATE")
            if not request.dont_filter:
                new = self.db.execute("INSERT OR IGNORE INTO seen VALUES (?)", (fingerprint,)).rowcount
                if not new:
                    return False
            self.db.execute("INSERT INTO requests (priority, data) VALUES (?, ?)", (-request.priority, data))
        return True

    def next_request(self):
        first = "SELECT id FROM requests ORDER BY priority, id LIMIT 1"
        row = self.db.execute(f"DELETE FROM requests WHERE id = ({first}) RETURNING data").fetchone()
        return request_from_dict(pickle.loads(row[0]), spider=self.spider) if row else None

    def has_pending_requests(self):
        return len(self) > 0

    def __len__(self):
        return self.db.execute("SELECT count(*) FROM requests").fetchone()[0]


class NeedsAJob(StoresWhereItWorks):
    """It keeps them in the job directory, and there must be one."""

    def path(self):
        return Path(job_dir(self.crawler.settings)) / "state.db"
