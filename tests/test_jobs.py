"""Checks of jobs: what they attribute to whom, what they cannot test, and what they keep on other seeds."""

import random

import pytest
from kit import downloads, examine, failed_rules, run_script

from mutants.jobs import SETTINGS
from queue_conformance.engine.registry import checks_of
from queue_conformance.engine.verdicts import Verdict
from queue_conformance.environments import crawls
from queue_conformance.kinds import SCHEDULER
from queue_reference.scheduler import Scheduler

pytestmark = pytest.mark.skipif(not downloads(), reason="needs a Scrapy that can download")

REFERENCE = "queue_reference.scheduler.Scheduler"
WITH_STATE = {"EXTENSIONS": '{"scrapy.extensions.spiderstate.SpiderState": null, "queue_reference.state.SpiderState": 0}'}
JOBS = [check.name for check in checks_of(SCHEDULER) if check.name.startswith("job.")]
CRASH_SAFE = {"crash-safe": "yes"}


class ForgetsWhenStopped(Scheduler):
    """It removes what is pending when the crawl is not finished."""

    def close(self, reason):
        while reason != "finished" and len(self) and self._crawler.stats.get_value("response_received_count"):
            self.next_request()
        return super().close(reason)


class ForgetsWhenInterrupted(Scheduler):
    """It removes what is pending when a signal stops the crawl."""

    def close(self, reason):
        while reason == "shutdown" and len(self) and self._crawler.stats.get_value("response_received_count"):
            self.next_request()
        return super().close(reason)


class WithoutFilter(Scheduler):
    """It rejects nothing."""

    def enqueue_request(self, request):
        return super().enqueue_request(request.replace(dont_filter=True))


class NeverEnds(Scheduler):
    """It says that something is pending when there is nothing any more."""

    def has_pending_requests(self):
        return super().has_pending_requests() or bool(self._crawler.stats.get_value("response_received_count"))


def verdicts(report):
    return {verdict.rule.id: verdict for verdict in report.verdicts}


@pytest.mark.further
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", JOBS)
def test_the_reference_keeps_every_rule_on_other_seeds(name, seed):
    report = examine(REFERENCE, CRASH_SAFE, seed=seed, only=name, settings=SETTINGS | WITH_STATE)
    assert not failed_rules(report)
    assert verdicts(report)[name].verdict is Verdict.PASSED


@pytest.mark.further
def test_what_every_stop_loses_is_no_matter_of_signals():
    assert failed_rules(examine("test_jobs.ForgetsWhenStopped", only="job.resume.command", settings=SETTINGS)) == {
        "job.resume.command"
    }
    assert failed_rules(examine("test_jobs.ForgetsWhenStopped", only="job.resume.signal", settings=SETTINGS)) == {
        "job.resume.command"
    }


def test_what_close_loses_is_told_once_and_without_a_crawl():
    report = examine("mutants.schedulers_losing.NeverCommits", only=("job.resume.command", "scheduler.persist.evidence"))
    assert failed_rules(report) == {"scheduler.resume.all"}


@pytest.mark.further
def test_what_only_signals_lose_is():
    assert failed_rules(examine("test_jobs.ForgetsWhenInterrupted", only="job.resume.signal", settings=SETTINGS)) == {
        "job.resume.signal"
    }


@pytest.mark.further
def test_a_scheduler_that_rejects_nothing_is_not_blamed_for_what_comes_again():
    for name in ("job.resume.command", "job.resume.signal", "job.second-signal"):
        report = examine("test_jobs.WithoutFilter", only=name, settings=SETTINGS)
        assert not failed_rules(report)
        assert verdicts(report)[name].verdict is Verdict.PASSED
        assert verdicts(report)["job.resume.finished"].verdict is Verdict.NOT_APPLICABLE


def test_a_crawl_that_downloads_nothing_is_reported_with_its_error():
    settings = SETTINGS | {"DOWNLOAD_HANDLERS": '{"http": null}'}
    found = verdicts(examine(REFERENCE, only="job.resume.command", settings=settings))["job.resume.command"]
    assert found.verdict is Verdict.FAILED
    assert found.violation.expected == "a crawl that downloads page 0"
    assert "scrapy.exceptions.NotSupported: " in found.violation.actual


@pytest.mark.further
def test_a_crawl_that_does_not_end_is_reported(monkeypatch, tmp_path):
    monkeypatch.setattr(crawls, "TIMEOUT", 5.0)
    report = examine("test_jobs.NeverEnds", only="job.resume.command", settings=SETTINGS, time_limit=1.0)
    assert failed_rules(report) == {"job.resume.command"}
    violation = verdicts(report)["job.resume.command"].violation
    assert (violation.expected, violation.actual) == ("'finished'", "'still running when the time was over' from run.ending")
    impatient = violation.script.replace("\nscratch = ", "\nSite.limit = 5\nscratch = ", 1)
    assert "Site.limit" in impatient
    assert run_script(impatient, tmp_path).returncode != 0
    right = violation.script.replace("from test_jobs import NeverEnds\n", "").replace("test_jobs.NeverEnds", REFERENCE)
    assert run_script(right, tmp_path).returncode == 0


def test_where_scrapy_cannot_crawl_nothing_is_said(monkeypatch):
    monkeypatch.setattr(crawls, "_executed", lambda command: 1)
    found = verdicts(examine(REFERENCE, only="job.resume.command", settings=SETTINGS))["job.resume.command"]
    assert found.verdict is Verdict.NOT_COVERED
    assert found.reason.startswith("`scrapy crawl` does not work here with Scrapy's own scheduler either")


def test_what_a_kill_leaves_is_noted_where_nothing_is_promised():
    (note,) = [note for note in examine(REFERENCE, only="noted.sigkill", settings=SETTINGS).notes if "SIGKILL" in note]
    assert note.startswith("job: after SIGKILL ")
    assert note.endswith("downloaded again")


@pytest.mark.parametrize("seed", range(3))
def test_a_tree_has_one_way_to_each_page(seed):
    pages = crawls.draw_pages(random.Random(seed), 15)
    links = [link for found in crawls.tree(pages).values() for link in found]
    assert sorted(links) == list(range(1, 15))
