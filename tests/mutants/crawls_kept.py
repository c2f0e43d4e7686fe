"""Mutants: later versions of the reference scheduler, whose crawls misbehave with a job that was left by that one."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from scrapy.utils.job import job_dir

from mutants import mutant
from mutants.crawls import SETTINGS
from mutants.upgrades import SAFE, WHOLE
from queue_reference.scheduler import Scheduler

EARLIER, LATER = "queue_reference.scheduler.Scheduler", "mutants.crawls_kept.Later"

crawled = partial(
    mutant,
    control=LATER,
    claims={"kind": "crawl", "upgrades": "yes"},
    settings={**SETTINGS, "JOBDIR": "job"},
    kept=EARLIER,
)


class Later(Scheduler):
    """A control: it writes its version into the job, and goes on with what the earlier one left."""

    older = False

    def __init__(self, crawler):
        if job := job_dir(crawler.settings):
            file = Path(job, "version")
            self.older = not file.exists() and Path(job, "requests.queue").exists()
            if self.older:
                self.begin(Path(job))
            file.write_text("2")
        super().__init__(crawler)

    def begin(self, job):
        """Begin with what the earlier one left."""


@crawled(fails=SAFE)
class DropsWhatWaits(Later):
    """It does not give out what waited in a job of an earlier version."""

    def open(self, spider):
        opened = super().open(spider)
        while self.older and super().next_request():
            pass
        return opened


@crawled(fails=SAFE)
class ForgetsWhatWasSeen(Later):
    """It looks for what was seen in a file that an earlier version has not."""

    def begin(self, job):
        (job / "fingerprints").unlink()


@crawled(fails=SAFE)
class EmptiesTheState(Later):
    """It begins the state of the spider anew where an earlier version left one."""

    def begin(self, job):
        (job / "spider.state").unlink(missing_ok=True)


@crawled(fails=SAFE)
class MisreadsCallbacks(Later):
    """What an earlier version left comes without the callbacks, so that another one gets the response."""

    def next_request(self):
        request = super().next_request()
        return request.replace(callback=None) if request and self.older else request


@crawled(fails=SAFE)
class BreaksOff(Later):
    """It comes upon the lack of a file that an earlier version did not write."""

    def begin(self, job):
        json.loads((job / "slots.json").read_text())


@crawled(fails=SAFE)
class RefusesWhenItHasMoved(Later):
    """It refuses the job of an earlier version when it has moved the queues of that away."""

    def begin(self, job):
        (job / "requests.queue").rename(job / "queues")
        raise ValueError(f"{job} was left by version 1; let that finish it")


@crawled(fails=WHOLE)
class RefusesTheJob(Later):
    """It refuses the job of an earlier version, and changes nothing."""

    def begin(self, job):
        raise ValueError(f"{job} was left by version 1; let that finish it")
