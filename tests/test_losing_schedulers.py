"""Schedulers that lose nothing are not blamed; those that lose requests are in the mutants, each with the rules that say so."""

import pytest
from kit import examine, further, without_crawls

from mutants import all_mutants
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.specification import Level, load

LOSING = {
    "RaisesAfterNoting": {"scheduler.enqueue.answers", "scheduler.enqueue.refused-not-seen"},
    "ForgetsCallbacks": {"scheduler.next.roundtrip"},
    "KeepsThreeFields": {"scheduler.next.roundtrip"},
    "DropsInSilence": {"scheduler.enqueue.true"},
    "NeverCommits": {"scheduler.resume.all", "scheduler.resume.seen"},
}


def test_what_loses_requests_is_in_the_mutants_and_breaks_a_must_rule():
    known = {mutant.path: mutant.fails for mutant in all_mutants()}
    for name, rules in LOSING.items():
        assert known[f"mutants.schedulers_losing.{name}"] == rules
        assert any(load()[rule].level is Level.MUST for rule in rules)


@pytest.mark.further
def test_the_released_scheduler_loses_nothing_but_its_turn():
    report = examine("scrapy.core.scheduler.Scheduler", examples=25, meets=without_crawls)
    # A push that fails leaves an empty queue (or slot) behind, which is asked next, and has nothing.
    must = {v.rule.id for v in report.verdicts if v.verdict is Verdict.FAILED and v.rule.level is Level.MUST}
    assert must == {"scheduler.next.no-spurious-none"}
    assert report.verdict is RunVerdict.NON_CONFORMANT


@pytest.mark.parametrize("seed", [0, *further(1, 2)])
@pytest.mark.parametrize("name", ["FilteringScheduler", *further("SQLiteScheduler", "LendsWhatItHandsOut", "OpensLater")])
def test_a_right_scheduler_of_another_design_keeps_every_rule(name, seed):
    def meets(number, check):  # other seeds are for what is drawn, which is sequences most of all
        return without_crawls(number, check) and (check.is_machine or seed == 0)

    report = examine(f"mutants.controls_schedulers.{name}", seed=seed, examples=25, meets=meets)
    assert [v.rule.id for v in report.verdicts if v.verdict in (Verdict.FAILED, Verdict.BLOCKED)] == []


@pytest.mark.parametrize("seed", [0, *further(1, 2)])
def test_a_scheduler_may_say_that_it_does_not_store_a_large_request(seed):
    report = examine("mutants.controls_schedulers.RejectsLongOnes", seed=seed, only="scheduler.next.roundtrip")
    assert not [v for v in report.verdicts if v.verdict in (Verdict.FAILED, Verdict.BLOCKED)]
