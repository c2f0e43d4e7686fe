"""Scrapy's scheduler over its priority queues and disk queues: every failed rule of this table was looked at by hand."""

import pytest
from kit import RELEASES, examine, failed_rules, further, without_crawls
from packaging.version import Version

from queue_conformance.engine.verdicts import Verdict

SCHEDULER = "scrapy.core.scheduler.Scheduler"
SLOTS = "DownloaderAwarePriorityQueue"

ALWAYS = {
    # ScrapyPriorityQueue takes the slots in the state of DownloaderAwarePriorityQueue for priorities, and finds nothing.
    "scheduler.open.incompatible",
    # The filter has recorded a request by the time that it cannot be stored.
    "scheduler.enqueue.failed-not-seen",
    # A push that fails leaves an empty queue (or slot) behind, which is asked next, and has nothing.
    "scheduler.next.no-spurious-none",
    # Whatever is in memory comes before anything that is on disk (scrapy issue 3666).
    "scheduler.next.priority-across",
    # What is lost with the memory stays in requests.seen.
    "scheduler.close.memory-unseen",
    # close() uses self.dqs, which open() has not set when it raises.
    "scheduler.close.after-failed-open",
    # The state does not say that there are start requests; without SCHEDULER_START_DISK_QUEUE nobody looks for them.
    "scheduler.resume.settings-changed",
}
if Version(RELEASES["scrapy"]) >= Version("2.19"):
    # RFPDupeFilter takes a file that an earlier release wrote for one of its own, and knows nothing that it lists.
    ALWAYS |= {"dupefilter.format.unknown"}
# ScrapyPriorityQueue closes its queues again, and those of queuelib but one raise then. DownloaderAwarePriorityQueue says
# the second time that nothing is left, and the scheduler writes that down.
TWICE = {"scheduler.close.twice"}


@pytest.mark.parametrize(
    ("pqueue", "queue"),
    [
        ("ScrapyPriorityQueue", "PickleLifoDiskQueue"),
        *further(
            ("ScrapyPriorityQueue", "MarshalFifoDiskQueue"),
            (SLOTS, "PickleFifoDiskQueue"),
            (SLOTS, "MarshalLifoDiskQueue"),
        ),
    ],
)
def test_the_scheduler_breaks_what_it_is_known_to_break(pqueue, queue, examples):
    settings = {
        "SCHEDULER_PRIORITY_QUEUE": f"scrapy.pqueues.{pqueue}",
        "SCHEDULER_DISK_QUEUE": f"scrapy.squeues.{queue}",
    }
    report = examine(SCHEDULER, settings=settings, examples=examples, meets=without_crawls)
    keeps = pqueue != SLOTS and "Fifo" in queue
    assert failed_rules(report) == (ALWAYS if keeps else ALWAYS | TWICE)
    assert ("slots" in report.offers) == (pqueue == SLOTS)
    untested = [v.rule.id for v in report.verdicts if v.verdict in (Verdict.BLOCKED, Verdict.NOT_COVERED)]
    assert all(rule.startswith(("job.", "e2e.")) for rule in untested)


@pytest.mark.further
def test_the_scheduler_knows_no_transient_error():
    report = examine(SCHEDULER, {"profile": "external-queue"}, meets=without_crawls)
    known = ALWAYS | TWICE | {"scheduler.enqueue.fallback-transient"}
    assert failed_rules(report) == known - {"dupefilter.format.unknown"}  # which the profile does not ask


@pytest.mark.further
def test_the_scheduler_is_not_safe_against_crashes():
    report = examine(SCHEDULER, {"crash-safe": "yes"}, only="scheduler.crash.safe")
    assert failed_rules(report) == {"scheduler.crash.safe"}
