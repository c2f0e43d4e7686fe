"""From observations to verdicts: nothing that was not exercised counts as kept."""

import pytest

from queue_conformance.engine.outcomes import Observation, Outcome, Violation
from queue_conformance.specification import parse
from queue_conformance.verdicts import RuleVerdict, RunVerdict, Verdict, conclude, judge

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
        **({} if {"untestable", "unexamined"} & further.keys() else {"how": "Tries it."}),
        **further,
    }
    for name, level, further in (
        ("one", "MUST", {}),
        ("two", "MUST", {}),
        ("should", "SHOULD", {}),
        ("persistent", "MUST", {"needs": ["persistent"]}),
        ("untestable", "SHOULD", {"untestable": "too hard"}),
        ("later", "SHOULD", {"needs": ["persistent"], "unexamined": "needs crashes"}),
        ("provisional", "MUST", {"provisional": "999.0"}),
    )
)


def seen(name, outcome, reason="", operations=()):
    violation = Violation(f"queue.test.{name}", "this", "that", tuple(operations), "") if outcome is Outcome.BROKEN else None
    return Observation(f"queue.test.{name}", outcome, "check", reason, violation)


def verdicts(*observations, capabilities=frozenset(), unusable=""):
    judged = judge(RULES, frozenset(capabilities), {}, observations, unusable)
    return {verdict.rule.id.removeprefix("queue.test."): verdict for verdict in judged}


def test_a_rule_that_nothing_examined_is_not_exercised():
    verdict = verdicts()["one"]
    assert verdict.verdict is Verdict.NOT_EXERCISED
    assert verdict.reason == "its check was not run"


def test_a_rule_whose_needs_are_not_met_is_not_applicable():
    assert verdicts()["persistent"].verdict is Verdict.NOT_APPLICABLE
    assert verdicts()["persistent"].reason == "needs persistent"


def test_a_rule_that_has_no_check_yet_is_not_exercised():
    verdict = verdicts(capabilities={"persistent"})["later"]
    assert (verdict.verdict, verdict.reason) == (Verdict.NOT_EXERCISED, "needs crashes")


def test_an_untestable_rule_says_why():
    assert (verdicts()["untestable"].verdict, verdicts()["untestable"].reason) == (Verdict.UNTESTABLE, "too hard")


def test_every_rule_is_blocked_if_the_class_is_unusable():
    assert verdicts(unusable="blocked by x")["one"].verdict is Verdict.BLOCKED


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ([Outcome.KEPT], Verdict.KEPT),
        ([Outcome.KEPT, Outcome.BROKEN], Verdict.BROKEN),
        ([Outcome.KEPT, Outcome.BLOCKED], Verdict.BLOCKED),
        ([Outcome.KEPT, Outcome.NOT_EXERCISED], Verdict.KEPT),
        ([Outcome.NOT_EXERCISED, Outcome.NOT_APPLICABLE], Verdict.NOT_APPLICABLE),
        ([Outcome.NOT_EXERCISED], Verdict.NOT_EXERCISED),
        ([Outcome.BLOCKED, Outcome.BROKEN], Verdict.BROKEN),
    ],
)
def test_the_worst_that_was_seen_counts(outcomes, verdict):
    assert verdicts(*(seen("one", outcome) for outcome in outcomes))["one"].verdict is verdict


def test_the_shortest_evidence_is_kept():
    long, short = seen("one", Outcome.BROKEN, operations="abc"), seen("one", Outcome.BROKEN, operations="a")
    assert verdicts(long, short)["one"].violation == short.violation


def run_verdict(**named):
    return conclude(RuleVerdict(RULES[f"queue.test.{name}"], verdict) for name, verdict in named.items())


@pytest.mark.parametrize(
    ("named", "verdict"),
    [
        ({"one": Verdict.KEPT, "two": Verdict.KEPT}, RunVerdict.CONFORMANT),
        ({"one": Verdict.KEPT, "two": Verdict.NOT_APPLICABLE, "untestable": Verdict.UNTESTABLE}, RunVerdict.CONFORMANT),
        ({"one": Verdict.KEPT, "should": Verdict.BROKEN}, RunVerdict.CONFORMANT),
        ({"one": Verdict.KEPT, "should": Verdict.NOT_EXERCISED}, RunVerdict.CONFORMANT),
        ({"one": Verdict.KEPT, "two": Verdict.NOT_EXERCISED}, RunVerdict.PARTIAL),
        ({"one": Verdict.KEPT, "two": Verdict.BLOCKED}, RunVerdict.PARTIAL),
        ({"one": Verdict.KEPT, "two": Verdict.BROKEN}, RunVerdict.NON_CONFORMANT),
        ({"one": Verdict.KEPT, "provisional": Verdict.BROKEN}, RunVerdict.CONFORMANT),
        ({"one": Verdict.KEPT, "provisional": Verdict.BLOCKED}, RunVerdict.CONFORMANT),
        ({"one": Verdict.KEPT, "provisional": Verdict.NOT_EXERCISED}, RunVerdict.CONFORMANT),
        ({"one": Verdict.NOT_EXERCISED, "provisional": Verdict.KEPT}, RunVerdict.INCONCLUSIVE),
        ({"one": Verdict.NOT_EXERCISED, "should": Verdict.KEPT}, RunVerdict.INCONCLUSIVE),
        ({"one": Verdict.NOT_APPLICABLE}, RunVerdict.INCONCLUSIVE),
        ({}, RunVerdict.INCONCLUSIVE),
    ],
)
def test_the_verdict_of_a_run_depends_on_its_must_rules(named, verdict):
    assert run_verdict(**named) is verdict
