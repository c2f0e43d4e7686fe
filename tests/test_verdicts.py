"""From observations to verdicts: nothing that was not covered counts as passed."""

import pytest

from queue_conformance.engine.outcomes import Observation, Outcome, Violation
from queue_conformance.engine.verdicts import RuleVerdict, RunVerdict, Verdict, conclude, judge
from queue_conformance.specification import parse

RULES = parse(
    {
        "id": f"queue.test.{name}",
        "level": level,
        "sentence": "It works.",
        "source": "somewhere",
        "basis": "kit" if level == "SHOULD" else "claim",
        "why": "Otherwise it does not.",
        "profiles": ["scrapy"],
        "kinds": ["downstream-queue"],
        "hints": ["Look."],
        **({} if {"untestable", "untested"} & further.keys() else {"how": "Tries it."}),
        **further,
    }
    for name, level, further in (
        ("one", "MUST", {}),
        ("two", "MUST", {}),
        ("should", "SHOULD", {}),
        ("persistent", "MUST", {"needs": ["persistent"]}),
        ("untestable", "SHOULD", {"untestable": "too hard"}),
        ("later", "SHOULD", {"needs": ["persistent"], "untested": "needs crashes"}),
        ("provisional", "MUST", {"provisional": "999.0"}),
    )
)


def seen(name, outcome, reason="", operations=()):
    violation = Violation(f"queue.test.{name}", "this", "that", tuple(operations), "") if outcome is Outcome.FAILED else None
    return Observation(f"queue.test.{name}", outcome, "check", reason, violation)


def verdicts(*observations, capabilities=frozenset(), unusable=""):
    attributed = judge(RULES, frozenset(capabilities), {}, observations, unusable)
    return {verdict.rule.id.removeprefix("queue.test."): verdict for verdict in attributed}


def test_a_rule_that_nothing_tested_is_not_covered():
    verdict = verdicts()["one"]
    assert verdict.verdict is Verdict.NOT_COVERED
    assert verdict.reason == "its check was not run"


def test_a_rule_whose_needs_are_not_met_is_not_applicable():
    assert verdicts()["persistent"].verdict is Verdict.NOT_APPLICABLE
    assert verdicts()["persistent"].reason == "needs persistent"


def test_a_rule_that_has_no_check_yet_is_not_covered():
    verdict = verdicts(capabilities={"persistent"})["later"]
    assert (verdict.verdict, verdict.reason) == (Verdict.NOT_COVERED, "needs crashes")


def test_an_untestable_rule_says_why():
    assert (verdicts()["untestable"].verdict, verdicts()["untestable"].reason) == (Verdict.UNTESTABLE, "too hard")


def test_every_rule_is_blocked_if_the_class_is_unusable():
    assert verdicts(unusable="blocked by x")["one"].verdict is Verdict.BLOCKED


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ([Outcome.PASSED], Verdict.PASSED),
        ([Outcome.PASSED, Outcome.FAILED], Verdict.FAILED),
        ([Outcome.PASSED, Outcome.BLOCKED], Verdict.BLOCKED),
        ([Outcome.PASSED, Outcome.NOT_COVERED], Verdict.PASSED),
        ([Outcome.NOT_COVERED, Outcome.NOT_APPLICABLE], Verdict.NOT_APPLICABLE),
        ([Outcome.NOT_COVERED], Verdict.NOT_COVERED),
        ([Outcome.BLOCKED, Outcome.FAILED], Verdict.FAILED),
    ],
)
def test_the_worst_that_was_seen_counts(outcomes, verdict):
    assert verdicts(*(seen("one", outcome) for outcome in outcomes))["one"].verdict is verdict


def test_the_shortest_evidence_is_kept():
    long, short = seen("one", Outcome.FAILED, operations="abc"), seen("one", Outcome.FAILED, operations="a")
    assert verdicts(long, short)["one"].violation == short.violation


def test_a_run_without_all_its_checks_is_not_called_conformant():
    passed, failed = (RuleVerdict(RULES["queue.test.one"], verdict) for verdict in (Verdict.PASSED, Verdict.FAILED))
    assert [conclude([one], whole=False) for one in (passed, failed)] == [RunVerdict.PARTIAL, RunVerdict.NON_CONFORMANT]


def run_verdict(**named):
    return conclude(RuleVerdict(RULES[f"queue.test.{name}"], verdict) for name, verdict in named.items())


@pytest.mark.parametrize(
    ("named", "verdict"),
    [
        ({"one": Verdict.PASSED, "two": Verdict.PASSED}, RunVerdict.CONFORMANT),
        ({"one": Verdict.PASSED, "two": Verdict.NOT_APPLICABLE, "untestable": Verdict.UNTESTABLE}, RunVerdict.CONFORMANT),
        ({"one": Verdict.PASSED, "should": Verdict.FAILED}, RunVerdict.CONFORMANT),
        ({"one": Verdict.PASSED, "should": Verdict.NOT_COVERED}, RunVerdict.CONFORMANT),
        ({"one": Verdict.PASSED, "two": Verdict.NOT_COVERED}, RunVerdict.PARTIAL),
        ({"one": Verdict.PASSED, "two": Verdict.BLOCKED}, RunVerdict.PARTIAL),
        ({"one": Verdict.PASSED, "two": Verdict.FAILED}, RunVerdict.NON_CONFORMANT),
        ({"one": Verdict.PASSED, "provisional": Verdict.FAILED}, RunVerdict.CONFORMANT),
        ({"one": Verdict.PASSED, "provisional": Verdict.BLOCKED}, RunVerdict.CONFORMANT),
        ({"one": Verdict.PASSED, "provisional": Verdict.NOT_COVERED}, RunVerdict.CONFORMANT),
        ({"one": Verdict.NOT_COVERED, "provisional": Verdict.PASSED}, RunVerdict.INCONCLUSIVE),
        ({"one": Verdict.NOT_COVERED, "should": Verdict.PASSED}, RunVerdict.INCONCLUSIVE),
        ({"one": Verdict.NOT_APPLICABLE}, RunVerdict.INCONCLUSIVE),
        ({}, RunVerdict.INCONCLUSIVE),
    ],
)
def test_the_verdict_of_a_run_depends_on_its_must_rules(named, verdict):
    assert run_verdict(**named) is verdict
