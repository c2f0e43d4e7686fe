"""Two reports are compared, and what got worse is told."""

from dataclasses import replace

import pytest
from kit import FIFO_MEMORY

from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.reports import Report
from queue_conformance.reports.comparison import Change, compare, render

MUST = "mutants.memory.PeeksAtTheNewest"
RULE = "queue.peek.equals-pop"


@pytest.fixture(scope="module")
def right(recorded):
    return recorded(FIFO_MEMORY)


@pytest.fixture(scope="module")
def wrong(recorded):
    return recorded(MUST)


def changed(report, rule, verdict, reason=""):
    """Return a report in which a rule has another verdict."""
    verdicts = [replace(v, verdict=verdict, reason=reason) if v.rule.id == rule else v for v in report.verdicts]
    return replace(report, verdicts=tuple(verdicts))


def without(report, *rules):
    return replace(report, verdicts=tuple(verdict for verdict in report.verdicts if verdict.rule.id not in rules))


def one(old, new):
    """Compare two implementations; return the change, and the text without the spaces of columns."""
    found = compare(Report((old,)), Report((new,)))
    return found, [" ".join(line.split()) for line in render(found)]


def by_change(found):
    (implementation,) = found.implementations
    return {change.change: change.verdict.rule.id for change in implementation.rules}


def test_a_report_is_no_worse_than_itself(right):
    found, lines = one(right, right)
    assert not found.worse
    assert lines == [
        "",
        FIFO_MEMORY,
        "verdict: CONFORMANT, as before",
        "",
        "nothing is worse, and no verdict changed",
    ]


def test_a_newly_broken_rule_is_worse_and_shows_its_evidence(right, wrong):
    found, lines = one(right, replace(wrong, name=FIFO_MEMORY))
    assert found.worse
    assert by_change(found)[Change.NEWLY_FAILED] == RULE
    assert "verdict: CONFORMANT -> NON-CONFORMANT" in lines
    index = lines.index(f"newly failed MUST {RULE} (passed before)")
    (violation,) = [verdict.violation for verdict in wrong.verdicts if verdict.violation]
    assert lines[index + 1].startswith(f"expected {violation.expected}, got")
    assert lines[-1] == "worse: 1 rule newly failed, 1 verdict lower"


def test_a_fixed_rule_is_better(right, wrong):
    found, lines = one(replace(wrong, name=FIFO_MEMORY), right)
    assert not found.worse
    assert "verdict: NON-CONFORMANT -> CONFORMANT" in lines
    assert f"newly passed MUST {RULE} (failed before)" in lines
    assert lines[-1] == "nothing is worse; better: 1 rule newly passed"


PASSED, FAILED, ERROR, BLOCKED, NOT_COVERED, NOT_APPLICABLE, UNTESTABLE = Verdict
BROKEN, SILENT, SEEN, MENDED, OTHER = (
    Change.NEWLY_FAILED,
    Change.NO_LONGER_PASSED,
    Change.NEWLY_SEEN,
    Change.NEWLY_PASSED,
    Change.OTHER,
)
NEW, GONE = Change.NEW, Change.GONE
BECAME = {
    # to:            none  passed  failed  error   blocked not covered, not applicable, untestable
    None:           (None, NEW,    NEW,    NEW,    NEW,    NEW,    NEW,    NEW),
    PASSED:         (GONE, None,   BROKEN, SILENT, SILENT, SILENT, OTHER,  OTHER),
    FAILED:         (GONE, MENDED, None,   OTHER,  OTHER,  OTHER,  OTHER,  OTHER),
    ERROR:          (GONE, MENDED, SEEN,   None,   OTHER,  OTHER,  OTHER,  OTHER),
    BLOCKED:        (GONE, MENDED, SEEN,   OTHER,  None,   OTHER,  OTHER,  OTHER),
    NOT_COVERED:    (GONE, MENDED, SEEN,   OTHER,  OTHER,  None,   OTHER,  OTHER),
    NOT_APPLICABLE: (GONE, MENDED, SEEN,   OTHER,  OTHER,  OTHER,  None,   OTHER),
    UNTESTABLE:     (GONE, MENDED, SEEN,   OTHER,  OTHER,  OTHER,  OTHER,  None),
}  # fmt: skip
"""What becomes of a rule with one verdict, or none in a report of another release, where it gets another one."""

PAIRS = [(old, new, change) for old, changes in BECAME.items() for new, change in zip(BECAME, changes, strict=True)]


@pytest.mark.parametrize(("old", "new", "change"), PAIRS)
def test_each_change_of_a_rule_is_worse_or_not(right, old, new, change):
    reports = [changed(right, RULE, verdict, "why") if verdict else without(right, RULE) for verdict in (old, new)]
    found, lines = one(*reports)
    assert by_change(found) == ({change: RULE} if change else {})
    assert found.worse is (change in (BROKEN, SILENT))
    shown = [line for line in lines if RULE in line]
    assert bool(shown) is bool(change)
    if change in (SILENT, SEEN, OTHER):
        assert shown == [f"{change} MUST {RULE} ({old} before, {new} now)"]
    if change in (BROKEN, MENDED):
        assert shown == [f"{change} MUST {RULE} ({old} before)"]


@pytest.mark.parametrize("new", RunVerdict)
@pytest.mark.parametrize("old", RunVerdict)
@pytest.mark.parametrize("rule", [(BLOCKED, FAILED), (PASSED, FAILED), (FAILED, PASSED)])
def test_a_verdict_that_falls_is_worse_whatever_becomes_of_a_rule(right, rule, old, new):
    reports = [replace(changed(right, RULE, verdict), verdict=of_run) for verdict, of_run in zip(rule, (old, new), strict=True)]
    falls = list(RunVerdict).index(new) > list(RunVerdict).index(old)
    assert one(*reports)[0].worse is (falls or rule == (PASSED, FAILED))


def test_what_the_first_failure_blocked_is_seen_and_not_worse(right):
    before = replace(changed(right, RULE, Verdict.FAILED), verdict=RunVerdict.NON_CONFORMANT)
    before = changed(before, "queue.peek.no-effect", Verdict.BLOCKED, f"blocked by {RULE}")
    found, lines = one(before, changed(right, "queue.peek.no-effect", Verdict.FAILED))
    assert not found.worse
    assert "verdict: NON-CONFORMANT -> CONFORMANT" in lines
    assert "newly seen MUST queue.peek.no-effect (blocked before, failed now)" in lines
    said = "nothing is worse; better: 1 rule newly passed; newly seen: 1 failed rule that nothing tested before"
    assert " ".join(lines).endswith(said)


def test_whoever_mends_what_blocked_all_is_not_told_that_what_fails_now_is_worse(recorded):
    made_by_nothing, made = recorded("mutants.memory.FactoryReturnsNone"), recorded("mutants.memory.ReturnsLength")
    found, lines = one(made_by_nothing, made)
    assert not found.worse
    assert "verdict: NON-CONFORMANT -> CONFORMANT" in lines
    assert "newly seen SHOULD queue.push.returns-none (blocked before, failed now)" in lines
    found, lines = one(made, made_by_nothing)
    assert found.worse
    assert "no longer passed MUST queue.pop.exactly-once (passed before, blocked now)" in lines


def test_new_rules_and_those_that_are_gone_are_listed(right):
    found, lines = one(without(right, RULE), without(right, "queue.len.count"))
    assert by_change(found) == {Change.NEW: RULE, Change.GONE: "queue.len.count"}
    assert not found.worse
    assert f"new, passed: {RULE}" in lines
    assert "gone: queue.len.count" in lines
    assert lines[-1] == "nothing is worse"


def test_a_new_rule_that_is_broken_is_worse_only_if_the_verdict_falls(wrong):
    old = without(wrong, RULE)
    found, lines = one(old, wrong)
    assert not found.worse
    assert f"new rule MUST {RULE} (failed)" in lines
    found, lines = one(replace(old, verdict=RunVerdict.CONFORMANT), wrong)
    assert found.worse
    assert lines[-1] == "worse: 1 verdict lower"


def test_implementations_are_matched_by_name(right, wrong):
    found = compare(Report((right, wrong)), Report((wrong, right)))
    assert [change.new.name for change in found.implementations] == [FIFO_MEMORY, MUST]
    assert not found.worse


def test_one_in_each_report_are_compared_whatever_they_are_called(right, wrong):
    found, lines = one(right, wrong)
    assert f"{FIFO_MEMORY} -> {MUST}" in lines
    assert found.worse


def test_an_implementation_that_is_gone_is_worse_and_a_new_one_is_not(right, wrong):
    found = compare(Report((right, wrong)), Report((right,)))
    assert (found.gone, found.worse) == ((MUST,), True)
    assert [*render(found)][-1] == "worse: 1 implementation not tested any more"
    found = compare(Report((right,)), Report((right, wrong)))
    assert ([added.name for added in found.added], found.worse) == ([MUST], False)
    assert "  not in the old report; verdict: NON-CONFORMANT" in [*render(found)]


def test_a_new_error_is_worse(right):
    found = compare(Report((right,), ("no a",)), Report((right,), ("no a", "no b"), gate=("drop x",)))
    assert (found.errors, found.worse) == (("no b", "drop x"), True)
    assert [*render(found)][-1] == "worse: 2 new errors"


def test_what_is_known_to_be_broken_is_said_so(right, wrong):
    known = tuple(replace(verdict, known="soon") if verdict.violation else verdict for verdict in wrong.verdicts)
    _, lines = one(right, replace(wrong, verdicts=known))
    assert f"newly failed MUST {RULE} (passed before; known: soon)" in lines


def test_what_else_differs_is_told(right):
    _, lines = one(right, replace(right, version="mine 2.0", found="LIFO"))
    assert "version: nothing -> mine 2.0" in lines
    assert f"found: {right.found} -> LIFO" in lines


def test_lines_fit_the_terminal(right, wrong):
    known = tuple(replace(verdict, known="soon " * 20) if verdict.violation else verdict for verdict in wrong.verdicts)
    found = compare(Report((right,)), Report((replace(wrong, name="my_package.queues.AnotherOne", verdicts=known),)))
    assert max(map(len, render(found, 80))) <= 80


def test_no_text_of_a_report_is_told_whole_however_long(right, wrong):
    long = "word " * 100_000
    old = replace(right, name=long, found=long, version=long)
    verdicts = [replace(v, violation=v.violation and replace(v.violation, actual=long)) for v in wrong.verdicts]
    new = replace(wrong, found="", verdicts=tuple(verdicts))
    lines = [*render(compare(Report((old,)), Report((new,), errors=(long,))))]
    assert len("".join(lines)) < 20_000


def test_a_lost_capability_is_worse_though_no_rule_on_it_can_fail(right):
    less = replace(right, offers=right.offers - {"peek", "fifo", "ordered"})
    found, lines = one(right, less)
    assert found.worse
    assert "lost: FIFO, peek" in lines
    assert lines[-1] == "worse: 2 capabilities lost"
    assert not one(less, right)[0].worse
    assert not one(right, replace(less, found=""))[0].worse
