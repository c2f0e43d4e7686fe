"""The reference priority queues work in Scrapy's own scheduler; the kit tells the kinds apart and builds them as Scrapy does."""

import json

import pytest
from kit import (
    RELEASES,
    REQUEST_PRIORITY,
    SLOT_PRIORITY,
    alone,
    context,
    examine,
    failed_rules,
    further,
    implementation,
    run_script,
)
from packaging.version import Version
from scrapy import Request
from scrapy.core.scheduler import Scheduler

from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import RuleFailed
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.environments.crawling import make_crawler
from queue_conformance.kinds import PRIORITY_QUEUE
from queue_conformance.kinds.priority_queue.driver import MARKED, PLACES

EXTERNAL = {"profile": "external-queue"}


def scheduler(path, directory):
    crawler = make_crawler({"SCHEDULER_PRIORITY_QUEUE": path, "JOBDIR": str(directory)})
    found = Scheduler.from_crawler(crawler)
    found.open(crawler.spider)
    return found


def work_in_the_released_scheduler(path, tmp_path):
    first = scheduler(path, tmp_path)
    for number in range(5):
        start = {"is_start_request": True} if number == 1 else {}
        first.enqueue_request(Request(f"https://a.example/{number}", priority=number % 3, meta=start))
    first.enqueue_request(Request("https://a.example/5", meta={"lock": lambda: None}))  # which only memory can hold
    assert first.next_request().url == "https://a.example/5"
    assert first.next_request().url == "https://a.example/2"
    first.close("shutdown")
    assert json.loads((tmp_path / "requests.queue" / "active.json").read_text())
    second = scheduler(path, tmp_path)
    assert len(second) == 4
    came = [second.next_request().url[-1] for _ in range(4)]
    assert came == ["4", "1", "3", "0"]
    assert second.next_request() is None
    second.close("finished")
    assert not json.loads((tmp_path / "requests.queue" / "active.json").read_text())


@pytest.mark.parametrize("path", [REQUEST_PRIORITY, SLOT_PRIORITY])
def test_a_reference_works_in_the_released_scheduler(path, tmp_path):
    alone(lambda: work_in_the_released_scheduler(path, tmp_path))


@pytest.mark.parametrize("path", [REQUEST_PRIORITY, SLOT_PRIORITY])
def test_a_reference_keeps_the_rules_on_external_queues(path):
    report = examine(path, EXTERNAL)
    assert not failed_rules(report)
    assert "pq.ctor.fail-early" in {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.PASSED}


def test_what_a_class_offers_is_found():
    assert implementation(REQUEST_PRIORITY).kind is PRIORITY_QUEUE
    assert implementation(REQUEST_PRIORITY).capabilities.names == {"persistent", "peek"}
    assert implementation(SLOT_PRIORITY).capabilities.names == {"persistent", "peek", "slots", "by-slot"}


def test_the_number_of_an_item_tells_its_place():
    with context(REQUEST_PRIORITY) as found:
        for number in (0, 1, 17, 40, MARKED):
            item = found.driver.item(number)
            place = found.driver.place(number)
            assert found.driver.identify(item.value) == number
            assert item.value.priority == place.priority
            assert item.value.meta.get("is_start_request", False) is place.start
            assert item.value.url.startswith(f"https://{place.slot}/")
        assert found.driver.place(MARKED) not in PLACES


@pytest.mark.skipif(Version(RELEASES["scrapy"]) < Version("2.13.1"), reason="start requests came first in Scrapy 2.13.0")
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("push:1 push_refused:0 pop", "pq.push.failed-no-trace"),
        ("push:1 push:0 peek pop pop", "pq.peek.equals-pop"),
        ("push:0 pop push_refused:0 push:2 reopen pop", "pq.push.failed-no-trace"),
    ],
)
def test_a_failing_program_is_attributed(text, rule):
    with context("scrapy.pqueues.ScrapyPriorityQueue") as found, pytest.raises(RuleFailed) as caught:
        run(found, text)
    assert caught.value.rule == rule


def test_two_mistakes_in_one_program_do_not_hide_each_other():
    text = "push:0 push:0 pop_none push_refused:4 reopen_stale:1 pop pop"
    with context("scrapy.pqueues.DownloaderAwarePriorityQueue") as found, pytest.raises(RuleFailed) as caught:
        run(found, text)
    assert caught.value.rule in ("pq.push.failed-no-trace", "pq.resume.stale")


def test_claims_that_are_false_are_shown():
    report = examine(REQUEST_PRIORITY, {"slots": "yes"}, only="pq.len.sum")
    assert failed_rules(report) == {"claims.true"}


RIGHT = (
    "StateOfItsOwn",
    "RefusesOtherTypes",
    "PriorityWithoutPeek",
    "AsksAnother",
    "PriorityThenSlot",
    "PriorityAndStartThenSlot",
    "CountsRefusals",
    "HostsInTurn",
)


@pytest.mark.parametrize("name", [RIGHT[0], *further(*RIGHT[1:])])
def test_other_right_classes_keep_every_rule(name):
    report = examine(f"mutants.controls_pqueues.{name}")
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT


def test_a_class_may_compute_slots_of_its_own():
    checks = ("smoke", "pq.slot.key", "pq.slot.collision", "pq.slot.least-active", "machine")
    report = examine("mutants.controls_pqueues.ServesDomains", only=checks, examples=20)
    assert failed_rules(report) == {"pq.slot.key"}
    assert report.verdict is not RunVerdict.NON_CONFORMANT  # it is a SHOULD for what is not Scrapy's


def test_slots_may_be_served_in_turns_whatever_the_downloader_does():
    found = implementation("mutants.controls_pqueues.HostsInTurn").capabilities
    assert PRIORITY_QUEUE.describe(found) == "persistent, peek, slots in turns"
    assert not implementation(REQUEST_PRIORITY).capabilities.turns


@pytest.mark.further
def test_the_claim_that_slots_count_for_nothing_is_believed_where_they_only_are_asked_for():
    path = "mutants.controls_pqueues.CountsWhatIsBusy"
    assert "slots" in implementation(path).capabilities.held
    report = examine(path, {"slots": "no"})
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT


def test_the_report_tells_what_was_found():
    found = implementation(SLOT_PRIORITY).capabilities
    assert PRIORITY_QUEUE.describe(found) == "persistent, peek, slots"


@pytest.mark.parametrize(("path", "claim"), [(REQUEST_PRIORITY, "slots"), ("mutants.controls_pqueues.KeepsItsOwn", "persistent")])
def test_the_script_on_a_false_claim_fails_on_the_class_and_passes_on_a_right_one(path, claim, tmp_path):
    report = examine(path, {claim: "yes"}, only="pq.len.sum")
    (claims,) = [verdict for verdict in report.verdicts if verdict.rule.id == "claims.true"]
    script = claims.violation.script
    assert run_script(script, tmp_path).returncode != 0
    module, _, name = path.rpartition(".")
    right = script.replace(f"from {module} import {name}\n", f"from queue_reference.pqueues import SlotPriorityQueue as {name}\n")
    assert right != script
    assert run_script(right, tmp_path).returncode == 0


def test_a_push_that_asks_no_downstream_queue_is_one_for_a_peek_before_it():
    def passes():
        with context("mutants.controls_pqueues.KeepsItsOwn") as one:
            run(one, "push_refused:0 peek push_refused:9 pop")
        return True

    assert alone(passes)
