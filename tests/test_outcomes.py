"""What every entrance and every report shows of each verdict on a rule, so that none of them tells more than is known."""

import json
import os
import xml.etree.ElementTree as ET

import pytest
from kit import FIFO_MEMORY, TESTS

from queue_conformance import examine
from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome, Violation
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.frontends.items import why_silent
from queue_conformance.reports import jsonl

OUTCOMES = {
    "queue.push.accept": Outcome.PASSED,
    "queue.peek.equals-pop": Outcome.FAILED,
    "queue.close.twice": Outcome.FAILED,  # SHOULD
    "queue.len.count": Outcome.ERROR,
    "queue.pop.fifo": Outcome.BLOCKED,
    "queue.push.duplicates": Outcome.NOT_COVERED,
    "queue.len.truth": Outcome.NOT_APPLICABLE,
}
"""By the names of checks that test one rule, which is called as they are, what each says of it."""

SHOWN = {
    Outcome.PASSED: "PASSED",
    Outcome.FAILED: "FAILED",
    Outcome.ERROR: "FAILED",
    Outcome.BLOCKED: "SKIPPED",
    Outcome.NOT_COVERED: "SKIPPED",
    Outcome.NOT_APPLICABLE: "SKIPPED",
}
COUNTS = {"passed": 1, "failed": 2, "tolerated": 1, "skipped": 3}

IN_JUNIT = {
    "queue.push.accept": None,
    "queue.peek.equals-pop": "failure",
    "queue.close.twice": "skipped",
    "queue.len.count": "error",
    "queue.pop.fifo": "skipped",
    "queue.push.duplicates": "skipped",
    "queue.len.truth": "skipped",
}

CONFTEST = """
import json
from pathlib import Path
from queue_conformance.frontends.items import check_of
from queue_conformance.frontends.implementation_run import ImplementationRun
from test_outcomes import result_of

OUTCOMES = json.loads(Path(__file__).with_name("outcomes.json").read_text())

def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if check_of(item).name in OUTCOMES]

ImplementationRun.run = lambda self, check: result_of(check.name, OUTCOMES[check.name])
"""

WITHOUT_SMOKE = """
from dataclasses import replace
from queue_conformance.frontends import runs

discover = runs.discover
runs.discover = lambda *arguments: replace(discover(*arguments), smoke=())
"""

SUITE = f"""
from queue_conformance import DownstreamQueueSuite

class TestMine(DownstreamQueueSuite):
    queue_class = "{FIFO_MEMORY}"
"""

ENTRANCES = {
    FIFO_MEMORY: [f"--queue-class={FIFO_MEMORY}"],
    "test_mine.py::TestMine": ["test_mine.py"],
    "workers": [f"--queue-class={FIFO_MEMORY}", "-n", "1"],
}


def result_of(name, outcome):
    outcome = Outcome(outcome)
    failed = outcome is Outcome.FAILED
    violation = Violation(name, "1", "2", ("queue.pop()",), "assert 1 == 2\n") if failed else None
    said = Observation(name, outcome, name, "" if failed or outcome is Outcome.PASSED else f"it is {outcome}", violation)
    return CheckResult(name, (said,), internal_error="it broke" if outcome is Outcome.ERROR else "")


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest through one entrance, with checks of which these outcomes come."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(outcomes, *arguments, conftest=CONFTEST):
        pytester.makeconftest(conftest)
        pytester.makepyfile(test_mine=SUITE)
        (pytester.path / "outcomes.json").write_text(json.dumps(outcomes))
        reports = [f"--conformance-report=report.{form}" for form in ("jsonl", "xml", "md")]
        return pytester.runpytest_subprocess("-v", "-rs", "--junitxml=pytest.xml", *reports, *arguments)

    return run


def verdicts(found):
    return {verdict.rule.id: verdict for verdict in found.verdicts}


def tags(file, of=lambda case: case.get("name")):
    """Return what became of each test case in a file of JUnit."""
    return {of(case): case[0].tag if len(case) else None for case in ET.parse(file).iter("testcase")}


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_every_entrance_and_report_tells_the_same_of_a_verdict(run, pytester, entrance):
    result = run(OUTCOMES, *ENTRANCES[entrance])
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    assert {noun: result.parseoutcomes().get(noun) for noun in COUNTS} == COUNTS
    name = FIFO_MEMORY if entrance == "workers" else entrance
    for check, outcome in OUTCOMES.items():
        test = f"test_conformance[[]{check}]" if "::" in name else check
        shown = f"* {SHOWN[outcome]} {name}::{test}*" if entrance == "workers" else f"{name}::{test} {SHOWN[outcome]}*"
        result.stdout.fnmatch_lines([shown])
        if SHOWN[outcome] == "SKIPPED":
            result.stdout.fnmatch_lines([f"SKIPPED [[]1] {name}: it is {outcome}"])
    # The same in pytest's own file, in which what is tolerated cannot be told from what passed.
    of_pytest = tags(pytester.path / "pytest.xml", lambda case: case.get("name").removeprefix("test_conformance[").rstrip("]"))
    assert of_pytest == {**IN_JUNIT, "queue.len.count": "failure", "queue.close.twice": None}

    (found,) = jsonl.read(pytester.path / "report.jsonl").implementations
    assert found.verdict is RunVerdict.NON_CONFORMANT
    assert {rule: verdicts(found)[rule].verdict for rule in OUTCOMES} == {rule: Verdict(one) for rule, one in OUTCOMES.items()}
    assert {rule: tag for rule, tag in tags(pytester.path / "report.xml").items() if rule in OUTCOMES} == IN_JUNIT
    summary = (pytester.path / "report.md").read_text()
    for rule, outcome in OUTCOMES.items():
        untested = outcome in (Outcome.ERROR, Outcome.BLOCKED, Outcome.NOT_COVERED)
        assert (f"`{rule}` MUST: {outcome}, it is {outcome}" in summary) is untested
        assert (f"**`{rule}`**" in summary) is (outcome is Outcome.FAILED)
    result.stdout.fnmatch_lines(
        [
            "  not covered   MUST   queue.push.duplicates  it is not covered",
            "  FAILED        MUST   queue.peek.equals-pop  expected 1, got 2",
            "  FAILED        SHOULD queue.close.twice  expected 1, got 2",
            "  error: queue.len.count (it is error)",
            "  blocked: queue.pop.fifo (it is blocked)",
            "  not applicable: queue.len.truth (it is not applicable)",
        ]
    )


def test_the_function_tells_the_same(monkeypatch):
    def run(self, check):
        return result_of(check.name, OUTCOMES[check.name]) if check.name in OUTCOMES else CheckResult(check.name, ())

    monkeypatch.setattr(ImplementationRun, "run", run)
    report = examine(FIFO_MEMORY)
    found = verdicts(report.implementations[0])
    assert {rule: found[rule].verdict for rule in OUTCOMES} == {rule: Verdict(one) for rule, one in OUTCOMES.items()}
    assert report.failed
    assert len(report.internal_errors) == 1


@pytest.mark.parametrize("outcome", [Outcome.BLOCKED, Outcome.NOT_COVERED])
def test_a_run_that_proves_nothing_has_no_test_that_passed(run, pytester, outcome):
    result = run(dict.fromkeys(OUTCOMES, outcome), f"--queue-class={FIFO_MEMORY}", conftest=CONFTEST + WITHOUT_SMOKE)
    assert result.ret == 16
    assert result.parseoutcomes() == {"skipped": len(OUTCOMES)}
    result.stdout.fnmatch_lines(["*verdict: INCONCLUSIVE (*", f"SKIPPED [[]{len(OUTCOMES)}] {FIFO_MEMORY}: it is {outcome}"])
    (found,) = jsonl.read(pytester.path / "report.jsonl").implementations
    assert found.verdict is RunVerdict.INCONCLUSIVE
    assert tags(pytester.path / "report.xml")["verdict"] == "error"


# --- Checks of several rules, and of a second contract ---------------------------------------------------------------


def observed(*outcomes):
    return tuple(Observation(rule, outcome, "push.many", f"{rule} is {outcome}") for rule, outcome in outcomes)


def test_a_check_passes_by_its_own_rule():
    blocked, passed = ("push.many", Outcome.BLOCKED), ("other", Outcome.PASSED)
    assert why_silent(CheckResult("push.many", observed(passed, blocked))) == "push.many is blocked"
    assert why_silent(CheckResult("push.many", observed(blocked, ("push.many", Outcome.PASSED)))) == ""


def test_a_check_that_is_called_after_no_rule_passes_by_any():
    one, two = ("one", Outcome.NOT_COVERED), ("two", Outcome.BLOCKED)
    assert why_silent(CheckResult("push.many", observed(one, two))) == "two is blocked"
    assert why_silent(CheckResult("push.many", observed(one, two, ("three", Outcome.PASSED)))) == ""


def test_what_only_a_second_contract_asks_passes_by_that():
    failed = Observation("one", Outcome.FAILED, "push.many", violation=Violation("one", "1", "2", (), ""))
    assert why_silent(CheckResult("push.many", (), second=observed(("one", Outcome.PASSED)))) == ""
    assert why_silent(CheckResult("push.many", (), second=(failed,))) == "one failed by another contract, which fails no run"
    assert why_silent(CheckResult("push.many", ())) == "none of its rules is asked here"
