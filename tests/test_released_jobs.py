"""Jobs with the released scheduler of Scrapy: every failed rule of this table was looked at by hand."""

import pytest
import scrapy.squeues
from kit import downloads, examine, failed_rules

from queue_conformance import kinds
from queue_conformance.engine.registry import checks_of
from queue_conformance.engine.verdicts import Verdict

pytestmark = [pytest.mark.further, pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download")]

SCHEDULER = "scrapy.core.scheduler.Scheduler"
PRIORITY_QUEUES = ("ScrapyPriorityQueue", "DownloaderAwarePriorityQueue")
SQLITE = tuple(sorted(name for name in vars(scrapy.squeues) if name.startswith("Pickle") and "SQLiteQueue" in name))
JOBS = [check.name for check in checks_of(kinds.SCHEDULER) if check.name.startswith("job.")]

# Without active.json it takes the job for a new one; nor does a queue of queuelib miss its info.json.
# active.json and info.json are opened with "w", which cuts them before anything is written.
METADATA = {"job.torn-metadata", "job.atomic-metadata"}
# What a LIFO queue of queuelib has written of a request before the disk was full stays between the others.
DEFAULT = METADATA | {"job.disk-full"}


def settings(priority_queue, queue=None):
    queues = dict.fromkeys(("SCHEDULER_DISK_QUEUE", "SCHEDULER_START_DISK_QUEUE"), f"scrapy.squeues.{queue}") if queue else {}
    return {"SCHEDULER_PRIORITY_QUEUE": f"scrapy.pqueues.{priority_queue}", **queues}


@pytest.mark.parametrize("name", PRIORITY_QUEUES)
def test_jobs_on_the_queues_of_queuelib_break_what_they_are_known_to_break(name):
    report = examine(SCHEDULER, only=JOBS, settings=settings(name))
    assert failed_rules(report) == DEFAULT
    passed = {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.PASSED}
    assert set(JOBS) - DEFAULT - {"job.sigkill"} <= passed


@pytest.mark.parametrize("queue", SQLITE)
@pytest.mark.parametrize("name", PRIORITY_QUEUES)
def test_jobs_on_databases_break_what_they_are_known_to_break(name, queue):
    assert failed_rules(examine(SCHEDULER, only=JOBS, settings=settings(name, queue))) == METADATA


@pytest.mark.skipif(not SQLITE, reason="needs Scrapy 2.19")
def test_a_job_on_databases_is_not_crash_safe_as_a_whole():
    # The priorities are only written, and what was seen is only flushed, when the crawl ends.
    found = settings("ScrapyPriorityQueue", "PickleLifoSQLiteQueue")
    assert failed_rules(examine(SCHEDULER, {"crash-safe": "yes"}, only="job.sigkill", settings=found)) == {"job.sigkill"}
