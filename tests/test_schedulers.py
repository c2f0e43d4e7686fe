"""Schedulers: right ones of every kind keep every rule, and what is found of them is what they are."""

import unittest
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis.stateful import run_state_machine_as_test
from kit import SCHEDULER, examine, failed_rules, further, run_script, untested, without_crawls, without_jobs
from test_stateful import QUICK

from mutants.controls_schedulers import SQLiteScheduler
from queue_conformance import kinds
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.frontends.stateful import state_machine
from queue_conformance.implementation.capabilities import Capabilities

REDIS = {"settings": {"REDIS_URL": "redis://{host}:{port}/0"}, "server": "redis"}
CRASH_SAFE = {
    "SCHEDULER_DISK_QUEUE": "queue_reference.disk.LifoDiskQueue",
    "SCHEDULER_START_DISK_QUEUE": "queue_reference.disk.FifoDiskQueue",
}
FIFO = {
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
}


@pytest.mark.parametrize("name", [*further("RootedScheduler", "PlainScheduler", "HesitantScheduler", "DeferringScheduler")])
def test_a_scheduler_with_the_minimal_interface_is_held_to_no_more(name, examples, pytestconfig):
    """The scheduler that derives from nothing, in ``test_bare.py``, stands for these."""
    jobs = pytestconfig.getoption("--everything")  # whole crawls, which take 40 CPU s
    report = examine(
        f"mutants.controls_schedulers.{name}", examples=examples, meets=lambda number, check: jobs or without_jobs(number, check)
    )
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT
    at_once = name in ("RootedScheduler", "PlainScheduler")
    assert untested(report) == (set() if at_once else {"scheduler.scale.kept"})  # not asked of what hands nothing out at once
    assert report.offers <= {"length"}


@pytest.mark.parametrize("name", ["LendsWhatItHandsOut", "LendsWithoutSource"])
def test_what_is_handed_out_may_stay_until_it_was_downloaded(name):
    names = ("scheduler.pending.exact", "scheduler.resume.no-dup", "scheduler.next.unreadable")
    report = examine(f"mutants.controls_schedulers.{name}", only=names)
    found = {v.rule.id: v.verdict for v in report.verdicts}
    assert {found[name] for name in names} == {Verdict.PASSED}
    assert not failed_rules(report)


def test_a_scheduler_may_give_nothing_for_a_while_between_two_requests():
    report = examine("mutants.controls_schedulers.PoliteScheduler", only=("resume.order", "e2e.all-once"), settings=CRASH_SAFE)
    assert not failed_rules(report)
    assert {v.rule.id: v.verdict for v in report.verdicts}["e2e.all-once"] is Verdict.PASSED


@pytest.mark.further
def test_a_scheduler_may_be_meant_to_look_at_no_priority():
    path = "mutants.controls_schedulers.FirstComeScheduler"
    unclaimed = examine(path, meets=without_jobs)
    assert failed_rules(unclaimed) == {"scheduler.next.priority", "e2e.priority"}
    assert not untested(unclaimed)
    (violation,) = [found.violation for found in unclaimed.verdicts if found.violation and found.rule.id != "e2e.priority"]
    assert len(violation.operations) == 5  # it is opened, two are enqueued, one comes: the wrong one
    report = examine(path, {"priority": "none"}, meets=without_jobs)
    assert not failed_rules(report)
    assert not untested(report)
    assert report.verdict is RunVerdict.CONFORMANT


@pytest.mark.parametrize("checks", [("machine", "machine-in-memory"), *further(None)])
def test_slots_may_take_turns_among_requests_of_equal_priority(checks):
    report = examine("mutants.controls_schedulers.FullestSlotFirst", only=checks, settings=CRASH_SAFE, meets=without_crawls)
    assert not failed_rules(report)
    assert "slots" not in report.offers


@pytest.mark.parametrize("rule", ["scheduler.open.incompatible", "scheduler.close.after-failed-open"])
def test_files_may_have_other_names_in_each_run(rule):
    report = examine("mutants.stored.ZipsRequests", only=rule)  # it calls the file of each request by a UUID
    (verdict,) = (verdict for verdict in report.verdicts if verdict.rule.id == rule)
    assert verdict.verdict is Verdict.PASSED


class CallsItsFileAnew(SQLiteScheduler):
    """After each run its one file has another name."""

    def open(self, spider):
        for file in Path(self.job).glob("*.kept") if self.job else ():
            file.rename(Path(self.job, "requests.db"))
        super().open(spider)

    def close(self, reason):
        super().close(reason)
        if self.job:
            Path(self.job, "requests.db").rename(Path(self.job, f"{uuid4().hex}.kept"))


@pytest.mark.parametrize("rule", ["scheduler.open.incompatible", "scheduler.close.after-failed-open"])
def test_what_could_not_be_damaged_is_not_covered(rule):
    report = examine("test_schedulers.CallsItsFileAnew", only=rule)
    (verdict,) = (verdict for verdict in report.verdicts if verdict.rule.id == rule)
    assert (verdict.verdict, verdict.reason) == (Verdict.NOT_COVERED, "its files have other names in each run")


def test_slots_take_no_turns_where_the_settings_name_a_queue_without_slots():
    settings = {**CRASH_SAFE, "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
    report = examine("mutants.controls_schedulers.FullestSlotFirst", only="machine-in-memory", settings=settings)
    assert failed_rules(report) == {"scheduler.next.default-order"}


def test_priorities_bind_the_scheduler_of_which_the_documents_speak():
    report = examine("mutants.controls_schedulers.FirstComeScheduler", only=("smoke", "scheduler.next.priority"))
    assert report.verdict is not RunVerdict.NON_CONFORMANT


def test_priorities_bind_a_scheduler_whose_docstring_says_so():
    path = "mutants.schedulers_promising.PromisesAnOrder"
    report = examine(path, only=("smoke", "next.priorities"))
    assert failed_rules(report) == {"scheduler.next.priority"}
    assert report.verdict is RunVerdict.NON_CONFORMANT


def test_a_report_says_what_a_scheduler_offers():
    assert kinds.SCHEDULER.describe(Capabilities()) == "the minimal interface"
    found = Capabilities(configurable=True, persistent=True, slots=True)
    said = "takes its queues from the settings, persistent, serves the slots of the downloader in turn"
    assert kinds.SCHEDULER.describe(found) == said


@pytest.mark.further
def test_a_scheduler_that_stores_in_a_server_is_tested_with_it():
    report = examine("mutants.controls_schedulers.RedisScheduler", {"shared": "yes"}, examples=25, **REDIS)
    assert failed_rules(report) == {"e2e.shared.restarted", "e2e.shared.cut-off"}  # what it cannot store at once is gone
    assert not untested(report)
    assert report.offers == {"filters", "length", "persistent", "server"}
    passed = {v.rule.id for v in report.verdicts if v.verdict is Verdict.PASSED}
    assert {"scheduler.ctor.fail-early", "scheduler.shared", "scheduler.next.frozen", "scheduler.close.persist"} <= passed


def test_a_server_that_goes_away_is_no_end_of_the_requests():
    path = "mutants.controls_schedulers.PatientRedisScheduler"
    report = examine(path, {"profile": "external-queue"}, only="scheduler.next.outage", **REDIS)
    assert not failed_rules(report)
    (outage,) = [v for v in report.verdicts if v.rule.id == "scheduler.next.outage"]
    assert outage.verdict is Verdict.PASSED
    report = examine(
        "mutants.controls_schedulers.RedisScheduler", {"profile": "external-queue"}, only="scheduler.next.outage", **REDIS
    )
    assert failed_rules(report) == {"scheduler.next.outage"}


@pytest.mark.further
def test_the_reference_keeps_the_rules_on_temporary_problems_and_crashes_too():
    report = examine(SCHEDULER, {"profile": "external-queue", "crash-safe": "yes"}, settings=CRASH_SAFE, meets=without_jobs)
    assert not failed_rules(report)
    assert not untested(report)
    passed = {v.rule.id for v in report.verdicts if v.verdict is Verdict.PASSED}
    assert {"scheduler.crash.safe", "scheduler.crash.no-limbo", "scheduler.next.outage"} <= passed
    assert "scheduler.enqueue.fallback-transient" in passed


@pytest.mark.further
@pytest.mark.parametrize("settings", [FIFO, {"SCHEDULER_START_DISK_QUEUE": "", "SCHEDULER_START_MEMORY_QUEUE": ""}])
def test_the_reference_keeps_every_rule_with_other_queues(settings):
    report = examine(SCHEDULER, settings=settings, meets=without_jobs)
    assert not failed_rules(report)
    assert not untested(report)


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("profile", ["scrapy", "external-queue"])
def test_the_reference_keeps_every_rule_in_other_programs(profile, seed):
    assert not failed_rules(
        examine(SCHEDULER, {"profile": profile}, seed=seed, only="machine", settings=FIFO if seed % 2 else {})
    )


def test_the_machine_can_be_extended():
    machine = state_machine("scrapy.core.scheduler.Scheduler")
    assert issubclass(machine.TestCase, unittest.TestCase)
    assert {"enqueue", "next", "pending", "length", "reopen"} <= set(dir(machine))


def test_a_request_whose_callback_is_gone_may_be_skipped_if_the_log_says_so():
    report = examine("mutants.controls_schedulers.LogsWhatItCannotRebuild", only="scheduler.next.missing-callback")
    (rule,) = [v for v in report.verdicts if v.rule.id == "scheduler.next.missing-callback"]
    assert rule.verdict is Verdict.PASSED


@pytest.mark.parametrize("path", [SCHEDULER, "mutants.controls_schedulers.PlainScheduler"])
def test_a_right_scheduler_passes_as_a_state_machine(path):
    run_state_machine_as_test(state_machine(path), settings=QUICK)


CRAWL = """
from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.http import Response

class Handler:
    lazy = False

    def __init__(self, *arguments): ...

    @classmethod
    def from_crawler(cls, crawler):
        return cls()

    async def download_request(self, request, *arguments):
        return Response(request.url)

    async def close(self): ...

class Pages(Spider):
    name = "pages"
    start_urls = ["https://example.com/a", "https://example.org/b", "https://example.com/a"]
    custom_settings = {"DOWNLOAD_HANDLERS": {"https": Handler}, "LOG_LEVEL": "WARNING", "TELNETCONSOLE_ENABLED": False}

    def parse(self, response):
        if len(response.url) < 27:
            for letter in "xyz":
                yield response.follow(response.url + letter)

process = AsyncCrawlerProcess({"SCHEDULER": "queue_reference.scheduler.Scheduler", "JOBDIR": None})
crawler = process.create_crawler(Pages)
process.crawl(crawler)
process.start()
stats = crawler.stats.get_stats()
print(stats["finish_reason"], stats["scheduler/enqueued"], stats["scheduler/dequeued"], stats["downloader/response_count"])
"""


@pytest.mark.further
@pytest.mark.parametrize("job", [True, *further(False)])
def test_the_reference_works_in_a_crawl(tmp_path, job):
    text = CRAWL.replace('"JOBDIR": None', '"JOBDIR": "job"') if job else CRAWL
    done = run_script(text, tmp_path)
    reason, *counts = done.stdout.split()
    assert reason == "finished", done.stderr
    assert len(set(counts)) == 1, counts
    assert int(counts[0]) > 50


def test_what_is_done_a_moment_later_is_not_kept():
    report = examine("mutants.controls_schedulers.NotesLater", only="scheduler.scale.kept")
    assert {verdict.rule.id: verdict.verdict for verdict in report.verdicts}["scheduler.scale.kept"] is Verdict.PASSED
