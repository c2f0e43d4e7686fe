"""Schedulers that lose requests are not conformant, by a rule that says what is lost; those that lose nothing are not blamed."""

import pytest
from kit import examine, without_jobs

from queue_conformance.specification import Level
from queue_conformance.verdicts import RunVerdict, Verdict

LOSING = "gallery.schedulers_losing."

ROW = {
    f"{LOSING}RaisesAfterNoting": {"scheduler.enqueue.answers", "scheduler.enqueue.refused-not-seen"},
    f"{LOSING}ForgetsCallbacks": {"scheduler.next.roundtrip"},
    f"{LOSING}KeepsThreeFields": {"scheduler.next.roundtrip"},
    f"{LOSING}DropsInSilence": {"scheduler.enqueue.true"},
    f"{LOSING}NeverCommits": {"scheduler.persist.evidence", "scheduler.resume.all", "scheduler.resume.seen"},
    # A push that fails leaves an empty queue (or slot) behind, which is asked next, and has nothing.
    "scrapy.core.scheduler.Scheduler": {"scheduler.next.no-spurious-none"},
    "gallery.right_schedulers.SQLiteScheduler": set(),
}


@pytest.mark.parametrize("path", ROW)
def test_a_scheduler_is_conformant_unless_it_loses_something(path):
    report = examine(path, examples=25, meets=without_jobs)
    must = {v.rule.id for v in report.verdicts if v.verdict is Verdict.BROKEN and v.rule.level is Level.MUST}
    assert must == ROW[path]
    assert (report.verdict is RunVerdict.NON_CONFORMANT) == bool(must)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["SQLiteScheduler", "FilteringScheduler"])
def test_a_right_scheduler_of_another_design_keeps_every_rule(name, seed):
    report = examine(f"gallery.right_schedulers.{name}", seed=seed, examples=25, meets=without_jobs)
    assert [v.rule.id for v in report.verdicts if v.verdict in (Verdict.BROKEN, Verdict.BLOCKED)] == []


@pytest.mark.parametrize("seed", range(3))
def test_a_scheduler_may_say_that_it_does_not_store_a_large_request(seed):
    report = examine("gallery.right_schedulers.RejectsLongOnes", seed=seed, only="scheduler.next.roundtrip")
    assert not [v for v in report.verdicts if v.verdict in (Verdict.BROKEN, Verdict.BLOCKED)]
