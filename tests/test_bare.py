"""Right classes that derive from nothing, and have the fewest methods: no internal error, no failed MUST, and a verdict."""

import pytest
from kit import LEAN, failed_rules, without_jobs

from mutants import QCRAWL, controls_bare
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.specification import Level

CLAIMS = {"Delegates": {"kind": "downstream-queue"}}
TOLERATED = {
    "BareDiskQueue": {"queue.pop.missing-callback", "queue.close.keeps-fault"},
    "BareBytePriorityQueue": {"queue.ctor.base-queue", "queuelib.close.fault"},
    "BareRoundRobinQueue": {"queue.ctor.base-queue", "queuelib.close.fault"},
    "BarePriorityQueue": {"pq.pop.cleanup-error", "pq.close.fault", "pq.close.twice", "pq.scale.buckets"},
    "NestedState": {"pq.pop.cleanup-error", "pq.close.fault", "pq.close.twice", "pq.scale.buckets", "pq.resume.foreign-state"},
    "BareSpiderState": {"state.created"},
    "BareDupeFilter": {"dupefilter.seen.custom-fingerprinter", "dupefilter.log.first", "dupefilter.log.stat"},
}
"""The rules that are no MUST, and ask for more than the fewest lines do."""

HELPERS = ("Registered", "HoldsRequests")
NAMES = [name for name, cls in vars(controls_bare).items() if getattr(cls, "__module__", "") == controls_bare.__name__]
ASYNC = ("BareQueue", "SlottedQueue", "BareScheduler")


@pytest.mark.parametrize("name", [name for name in NAMES if name not in HELPERS])
def test_a_class_that_derives_from_nothing_keeps_every_must_rule(name):
    report = LEAN.examine(f"mutants.controls_bare.{name}", CLAIMS.get(name, {}), examples=10, meets=without_jobs)
    assert failed_rules(report) == TOLERATED.get(name, set())
    assert report.verdict is RunVerdict.CONFORMANT


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
@pytest.mark.parametrize("name", ASYNC)
def test_an_asynchronous_class_that_derives_from_nothing_keeps_every_rule(name):
    report = LEAN.examine(f"mutants.async_controls_bare.{name}", examples=20)
    assert not failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT
    optional = {verdict.rule.id for verdict in report.verdicts if verdict.rule.needs & {"iterates", "context"}}
    left_out = {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.NOT_APPLICABLE}
    assert optional <= left_out


def test_whole_crawls_with_a_scheduler_that_derives_from_nothing_reach_every_page():
    report = LEAN.examine("mutants.controls_bare.BareScheduler", {"kind": "crawl"}, examples=20)
    assert not {verdict.rule.id for verdict in report.verdicts if verdict.rule.level is Level.MUST} & failed_rules(report)
    assert report.verdict is RunVerdict.CONFORMANT
