"""Wrong schedulers that filter by themselves, and misread what was written in another format."""

from __future__ import annotations

import os

from mutants import mutant
from mutants.controls_schedulers import SQLiteScheduler

RIGHT = "mutants.schedulers_filtering.RemembersFinishedCrawls"


class RemembersFinishedCrawls(SQLiteScheduler):
    """It keeps what it has seen when a crawl has finished, too."""

    def close(self, reason):
        super().close("shutdown")


class RemovesForeignFiles(RemembersFinishedCrawls):
    """It removes a file that is no database."""

    found_foreign = False

    def open(self, spider):
        path = self.job and os.path.join(self.job, "requests.db")
        if path and os.path.exists(path):
            with open(path, "rb") as file:
                self.found_foreign = not b"SQLite format 3\0".startswith(file.read(16))
            if self.found_foreign:
                os.remove(path)
        super().open(spider)


@mutant(fails="dupefilter.format.unknown", control=RIGHT)
class ForgetsWhatOthersWrote(RemovesForeignFiles):
    """It begins anew, without a word, if the file of its job is no database."""


@mutant(fails="dupefilter.format.unknown", control=RIGHT)
class TakesAllForSeen(RemovesForeignFiles):
    """All is taken for seen, without a word, if the file of its job is no database."""

    def has_seen(self, print_):
        return self.found_foreign or super().has_seen(print_)
