"""What the next run finds: of right classes whose designs are easily wrong there."""

import pytest
from kit import examine, failed_rules

from mutants import QCRAWL
from queue_conformance.engine.verdicts import Verdict

CONTROLS = {
    "between_runs.ShardedScheduler": {"scheduler.close.persist"},
    "refused_starts.MakesItsDirectoryLate": {"state.created", "state.refused-start-keeps"},
    "refused_starts.SavesWhatItLoaded": {"state.created", "state.refused-start-keeps"},
    "refused_starts.WritesAtClose": {"dupefilter.persist.created", "dupefilter.persist.refused-start"},
    "refused_starts.CountsItsRequests": {"scheduler.open.refused-keeps"},
    "segments.Segments": {"reopen.counts", "pop.many"},
    "rewriting.ReplacesItsLog": {"disk.rewrite"},
    "rewriting.Snapshots": {"disk.rewrite.push"},
}
"""By a right class, the checks that are about its design."""


@pytest.mark.parametrize(("name", "checks"), CONTROLS.items())
def test_a_right_class_of_another_design_keeps_what_the_next_run_needs(name, checks):
    report = examine(f"mutants.controls_{name}", only={"smoke", *checks})
    assert not failed_rules(report)
    assert any(verdict.verdict is Verdict.PASSED for verdict in report.verdicts)


def test_another_process_may_fail_as_it_exits_since_it_closes_nothing():
    report = examine("mutants.controls_between_runs.EndsBadly", only="scheduler.close.persist")
    assert {verdict.rule.id: verdict.verdict for verdict in report.verdicts}["scheduler.resume.seen"] is Verdict.PASSED


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
def test_an_asynchronous_scheduler_may_remember_what_it_has_seen():
    report = examine("mutants.async_controls_seen.RemembersInAFile", only="machine")
    assert not failed_rules(report)


def test_what_every_start_forgets_is_not_laid_on_a_start_that_is_refused():
    report = examine("mutants.refused_starts.ForgetsAtEveryStart", only="scheduler.open.refused-keeps")
    assert {verdict.rule.id: verdict.verdict for verdict in report.verdicts}["scheduler.open.refused-keeps"] is Verdict.BLOCKED
