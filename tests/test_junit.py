"""A report as JUnit XML is what servers of continuous integration read."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from kit import FIFO_MEMORY

from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.reports import Origin, Report, failure, junit
from queue_conformance.specification import Level

MUST = "mutants.memory.PeeksAtTheNewest"
SHOULD = "mutants.memory.ClosesOnce"


@pytest.fixture(scope="module")
def found(recorded):
    return {path: recorded(path) for path in (FIFO_MEMORY, MUST, SHOULD)}


@pytest.fixture(scope="module")
def root(found):
    text = junit.render(Report((*found.values(),), ("no class",), Origin(created="2030-01-02T03:04:05+00:00"), ("drop `x`",)))
    assert text.startswith('<?xml version="1.0" encoding="utf-8"?>\n<testsuites ')
    return ET.fromstring(text)


def suite_of(report):
    (suite,) = ET.fromstring(junit.render(Report((report,))))
    return suite


def changed(report, **changes):
    """Return a report whose failed rules have these fields."""
    return replace(report, verdicts=tuple(replace(v, **changes) if v.violation else v for v in report.verdicts))


def test_there_is_a_suite_per_implementation_and_a_case_per_rule(root, found):
    suites = {suite.get("name"): suite for suite in root}
    assert list(suites) == [*found, junit.NAME]
    for path, report in found.items():
        cases = suites[path].findall("testcase")
        assert [case.get("name") for case in cases] == [verdict.rule.id for verdict in report.verdicts]
        assert {case.get("classname") for case in cases} == {path}
        assert suites[path].get("timestamp") == "2030-01-02T03:04:05+00:00"


def test_the_counts_are_those_of_the_cases(root):
    for element, cases in [(root, root.findall("testsuite/testcase")), *((suite, suite.findall("testcase")) for suite in root)]:
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(element.get(attribute)) == sum(case.find(tag) is not None for case in cases)
        assert int(element.get("tests")) == len(cases)


def test_only_a_rule_that_is_kept_passes(root, found):
    for suite, report in zip(root, found.values(), strict=False):
        for case, verdict in zip(suite.findall("testcase"), report.verdicts, strict=True):
            assert (len(case) == 0) == (verdict.verdict is Verdict.PASSED)


def test_a_broken_rule_that_fails_the_run_is_a_failure(root, found):
    (case,) = [case for case in root.iter("testcase") if case.find("failure") is not None]
    (verdict,) = [verdict for verdict in found[MUST].verdicts if verdict.violation]
    fault = case.find("failure")
    assert (case.get("classname"), case.get("name")) == (MUST, "queue.peek.equals-pop")
    assert fault.get("type") == "MUST failed"
    assert fault.get("message") == f"expected {verdict.violation.expected}, got {verdict.violation.actual}"
    assert fault.text == failure.render(verdict.rule, verdict.violation)


def test_a_broken_rule_that_does_not_fail_the_run_is_skipped_with_its_evidence(root):
    (case,) = root.findall(f"testsuite[@name='{SHOULD}']/testcase[@name='queue.close.twice']")
    skipped = case.find("skipped")
    assert skipped.get("message").startswith("SHOULD failed, does not fail this run: AttributeError(")
    assert "  script\n" in skipped.text


def test_it_is_a_failure_where_its_level_fails_the_run(found):
    suite = suite_of(replace(found[SHOULD], level=Level.SHOULD))
    assert suite.get("failures") == "1"
    assert suite.find("testcase[@name='queue.close.twice']/failure") is not None


def test_a_rule_that_is_known_to_be_broken_is_skipped_and_says_why(found):
    suite = suite_of(changed(found[MUST], known="to be fixed in 2.0"))
    assert suite.get("failures") == "0"
    skipped = suite.find("testcase[@name='queue.peek.equals-pop']/skipped")
    assert skipped.get("message").startswith("MUST failed, known: to be fixed in 2.0: expected ")


def test_a_rule_that_was_not_tested_is_skipped_and_says_why(root, recorded):
    case = suite_of(recorded("mutants.memory.AcceptsFour")).find("testcase[@name='queue.push.large']")
    assert case.find("skipped").get("message") == "blocked: blocked by queue.push.accept"
    for skipped in root.iter("skipped"):
        assert skipped.get("message").partition(": ")[2]
        assert skipped.text


def test_what_could_not_be_tested_and_a_stale_baseline_are_errors(root):
    cases = root.findall(f"testsuite[@name='{junit.NAME}']/testcase")
    assert [(case.get("classname"), case.get("name")) for case in cases] == [
        ("implementation", "no class"),
        ("baseline", "drop `x`"),
    ]
    assert [case.find("error").get("message") for case in cases] == ["no class", "drop `x`"]


def test_an_implementation_of_which_nothing_is_known_is_not_green(found):
    suite = suite_of(replace(found[FIFO_MEMORY], verdicts=(), verdict=RunVerdict.INCONCLUSIVE))
    assert suite.get("errors") == "1"
    message = suite.find("testcase[@name='verdict']/error").get("message")
    assert message == "INCONCLUSIVE: no MUST rule passed, so nothing is proven"


def test_a_case_takes_as_long_as_the_check_of_its_name(found):
    report = found[FIFO_MEMORY]
    seconds = {check.name: check.seconds for check in report.checks}
    suite = suite_of(report)
    times = {case.get("name"): float(case.get("time")) for case in suite.findall("testcase")}
    assert times == {verdict.rule.id: seconds.get(verdict.rule.id, 0.0) for verdict in report.verdicts}
    assert any(times.values())
    assert float(suite.get("time")) == pytest.approx(sum(seconds.values()), abs=0.001)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("a\0b\x1b[1m", "a\\x00b\\x1b[1m"),
        ("\ud800 and \ufffe", "\\ud800 and \\ufffe"),
        ("<a> & \"b\" ]]> 'c'", "<a> & \"b\" ]]> 'c'"),
        ("two\nlines\tand a tab, ü, 🕷", "two\nlines\tand a tab, ü, 🕷"),
    ],
)
def test_any_text_is_valid_xml(found, text, read):
    (verdict,) = [verdict for verdict in found[MUST].verdicts if verdict.violation]
    report = changed(found[MUST], violation=replace(verdict.violation, actual=text, script=text))
    suite = suite_of(replace(report, name=text))
    assert suite.get("name") == read
    assert suite.find("testcase/failure").get("message").endswith(f", got {read}")
    assert ET.fromstring(junit.render(Report((), (text,)))).find("testsuite/testcase/error").text == read


def test_an_empty_report_is_valid():
    root = ET.fromstring(junit.render(Report(())))
    assert (root.get("tests"), len(root)) == ("0", 0)
