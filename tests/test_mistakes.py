"""When the kit itself fails: one line, a state of its own in every report, and exit status 3."""

import json
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from kit import FIFO_MEMORY, failed_rules

from queue_conformance import examine
from queue_conformance.engine import registry
from queue_conformance.engine.registry import checks_of
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.kinds import DOWNSTREAM_QUEUE
from queue_conformance.reports import jsonl, reading

FAILS = """
from dataclasses import replace
from queue_conformance.engine import registry
from queue_conformance.kinds import DOWNSTREAM_QUEUE

def fails(context):
    raise LookupError("no such\\nplace")

def pytest_configure():
    registry.checks_of(DOWNSTREAM_QUEUE)
    for key, check in registry._registered.items():
        if check.name == "queue.pop.fifo":
            registry._registered[key] = replace(check, function=fails)
"""

REPORTS = ("report.jsonl", "report.xml", "report.html", "report.md")


@pytest.fixture
def failing(monkeypatch):
    """Return a function that lets a check fail, before or after it has done its work."""

    def let_fail(name, done=lambda context: None):
        def fails(context):
            done(context)
            raise LookupError("no such place")

        for key, check in list(registry._registered.items()):
            if check.name == name and check in checks_of(DOWNSTREAM_QUEUE):
                monkeypatch.setitem(registry._registered, key, replace(check, function=fails))

    checks_of(DOWNSTREAM_QUEUE)
    return let_fail


def only(report):
    (found,) = report.implementations
    return found, {verdict.rule.id: verdict.verdict for verdict in found.verdicts}


@pytest.mark.parametrize("in_process", [False, True])
def test_the_implementation_is_not_called_conformant(failing, in_process):
    failing("queue.pop.fifo")
    report = examine(FIFO_MEMORY, rules=["queue.pop.fifo", "queue.pop.empty-none"], examples=5, in_process=in_process)
    found, verdicts = only(report)
    assert verdicts["queue.pop.fifo"] is Verdict.ERROR
    assert verdicts["queue.pop.empty-none"] is Verdict.PASSED
    assert found.verdict is RunVerdict.INCONCLUSIVE
    (line,) = report.internal_errors
    assert line.startswith(f"{FIFO_MEMORY}: the kit itself failed in the check queue.pop.fifo: LookupError('no such place') (")
    assert "report it" in line
    assert "\n" not in line
    assert str(reading.parse(jsonl.render(report))) == str(report)


def test_a_script_that_is_wrong_is_no_rule_that_was_not_covered(failing):
    def writes_a_wrong_script(context):
        context.earlier = 1  # so that it is run alone
        context.fail("queue.pop.fifo", "2", "1", ["assert unknown == 2"])

    failing("queue.pop.fifo", writes_a_wrong_script)
    report = examine(FIFO_MEMORY, rules="queue.pop.fifo")
    found, verdicts = only(report)
    assert verdicts["queue.pop.fifo"] is Verdict.ERROR
    assert found.verdict is RunVerdict.INCONCLUSIVE
    (line,) = report.internal_errors
    assert "queue.pop.fifo: NameError: name 'unknown' is not defined in its script" in line


def test_what_was_broken_before_is_told(failing):
    (check,) = (check for check in checks_of(DOWNSTREAM_QUEUE) if check.name == "queue.peek.equals-pop")

    def does_its_work(context):
        with context.collecting():
            check.function(context)

    failing(check.name, does_its_work)
    found, _ = only(examine("mutants.memory.PeeksAtTheNewest", rules=check.name, examples=5))
    assert failed_rules(found) == {check.name}
    assert found.verdict is RunVerdict.NON_CONFORMANT


def test_a_mistake_of_the_discovery_is_one_too(monkeypatch):
    def fails(*_arguments):
        raise LookupError("no such place")

    monkeypatch.setattr("queue_conformance.kinds.queue.downstream_driver.DownstreamQueueDriver.probe", fails)
    report = examine(FIFO_MEMORY, rules="smoke")
    assert not report.implementations
    assert [line.partition(";")[0] for line in report.internal_errors] == [
        f"{FIFO_MEMORY}: the kit itself failed before any check: LookupError: no such place"
    ]


@pytest.mark.usefixtures("wide_terminal")
def test_every_report_has_it_and_the_exit_status_is_3(pytester):
    pytester.makeconftest(FAILS)
    reports = [f"--conformance-report={name}" for name in REPORTS]
    run = pytester.runpytest_subprocess(
        f"--queue-class={FIFO_MEMORY}", "-vv", "-k", "queue.pop.fifo or queue.pop.empty", *reports
    )
    assert run.ret == 3
    run.stdout.fnmatch_lines(
        [
            "  error: * (the kit failed in the check queue.pop.fifo, which is an*",
            "  verdict: INCONCLUSIVE (the kit itself failed, so nothing is proven)",
            f"INTERNAL ERROR: {FIFO_MEMORY}: the kit itself failed in the check queue.pop.fifo: LookupError*; report it*",
            "Traceback (most recent call last):",
        ]
    )
    lines, xml, html, markdown = ((pytester.path / name).read_text("utf-8") for name in REPORTS)
    records = [json.loads(line) for line in lines.splitlines()]
    assert [record["verdict"] for record in records if record.get("rule") == "queue.pop.fifo"] == ["error"]
    assert records[-1]["errors"] == 1
    assert len([record for record in records if record["type"] == "internal_error"]) == 1
    assert {case.get("name") for case in ET.fromstring(xml).iter("testcase") if case.find("error") is not None} >= {
        "queue.pop.fifo"
    }
    assert 'aria-label="Internal errors"' in html
    assert "### Internal errors" in markdown
