"""A report reads well in a terminal, and is complete as JSON lines."""

import json

import pytest
from kit import FIFO_DISK, FIFO_MEMORY, RELEASES, examine

from queue_conformance.reports import Report, failure, jsonl, terminal
from queue_conformance.specification import load
from queue_conformance.suites.outcomes import Violation
from queue_conformance.verdicts import RunVerdict, Verdict


def violation(**changes):
    fields = {
        "rule": "queue.pop.empty-none",
        "expected": "None",
        "actual": "IndexError raised",
        "operations": ("queue = Queue()", "popped = queue.pop()"),
        "script": "import queue\nqueue.pop()\n",
    }
    return Violation(**(fields | changes))


def test_a_failure_says_everything_on_one_screen():
    text = failure.render(load()["queue.pop.empty-none"], violation())
    assert text == (
        "queue.pop.empty-none  MUST broken\n"
        "  `pop` on an empty queue returns `None`, every time, and raises nothing.\n"
        "  expected  None\n"
        "  actual    IndexError raised\n"
        "  operations\n"
        "    queue = Queue()\n"
        "    popped = queue.pop()\n"
        "  hint      Catch IndexError, KeyError or queue.Empty of the container below.\n"
        "  source    Request Queues, Interface, pop; queuelib.queue; Scrapy tests, test_squeues_request\n"
        "  script\n"
        "    import queue\n"
        "    queue.pop()"
    )


def test_many_operations_are_shortened_in_the_middle():
    text = failure.render(load()["queue.pop.empty-none"], violation(operations=tuple(f"step {n}" for n in range(50))))
    assert "step 0" in text
    assert "... 38 more ..." in text
    assert "step 49" in text
    assert "step 20" not in text


def test_stacks_are_shown_for_a_hang():
    text = failure.render(load()["queue.pop.empty-none"], violation(stacks='Thread 1\n  File "queue.py", line 3 in pop'))
    assert '  stacks\n    Thread 1\n    File "queue.py", line 3 in pop' in text


@pytest.fixture(scope="module")
def reports():
    return tuple(examine(path) for path in (FIFO_MEMORY, "gallery.memory.PeeksAtTheNewest", "gallery.memory.ClosesOnce"))


@pytest.fixture(scope="module")
def lines(reports):
    return [line.text for line in terminal.render(Report(reports, ("--queue-class: no class",), releases=RELEASES))]


def test_the_implementation_is_described(lines):
    assert "queue_reference.memory.FifoMemoryQueue" in lines
    assert any("downstream queue, profile scrapy, seed 0" in line for line in lines)
    assert "  found: FIFO, not persistent, peek, no clear, keeps the objects" in lines
    assert "  claimed: nothing" in lines


def test_a_rule_that_is_not_kept_has_a_line(reports, lines):
    text = " ".join(" ".join(lines).split())
    for report in reports:
        for verdict in report.verdicts:
            assert (verdict.rule.id in text) or verdict.verdict is Verdict.KEPT


def test_the_verdict_says_why(lines):
    assert "  verdict: CONFORMANT (every MUST rule that applies is kept)" in lines
    assert "  verdict: NON-CONFORMANT (1 MUST rule is broken)" in lines
    assert "  verdict: CONFORMANT (every MUST rule that applies is kept; 1 SHOULD rule is broken)" in lines


def test_counts_are_given_per_level_and_verdict(lines):
    assert any(line.startswith("  MUST: ") and " kept, 1 broken, " in line for line in lines)


def test_a_class_that_could_not_be_examined_is_an_error_line(lines):
    assert lines[-1] == "ERROR: --queue-class: no class"


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_lines_fit_the_terminal(reports, width):
    words = {word for line in terminal.render(Report(reports, ()), width) for word in line.text.split()}
    longest = max(map(len, words))
    for line in terminal.render(Report(reports, ()), width):
        assert len(line.text) <= max(width, longest + 25)


def test_a_broken_should_rule_gates_only_if_asked(reports):
    should_only = (reports[2],)
    assert not Report(should_only, ()).failed
    assert Report(should_only, (), level="SHOULD").failed
    assert Report((reports[1],), ()).failed
    assert not Report((reports[0],), (), level="SHOULD").failed


@pytest.fixture(scope="module")
def records(reports):
    text = jsonl.render(Report(reports, ("no class",), "MUST", 7, RELEASES))
    return [json.loads(line) for line in text.splitlines()]


def test_a_report_begins_with_a_header_and_ends_with_a_footer(records):
    assert records[0]["type"] == "header"
    assert records[0]["schema"] == 1
    assert records[0]["seed"] == 7
    assert records[0]["releases"] == RELEASES
    assert records[-1] == {"type": "footer", "implementations": 3, "errors": 1, "failed": True}


def test_every_rule_of_the_profile_has_one_record(records, reports):
    for report in reports:
        found = [r["rule"] for r in records if r["type"] == "rule" and r["implementation"] == report.survey.path]
        assert found == [verdict.rule.id for verdict in report.verdicts]
        assert len(found) == len(set(found)) > 60


def test_a_broken_rule_carries_its_evidence(records):
    (record,) = [r for r in records if r["type"] == "rule" and r["verdict"] == "broken" and r["level"] == "MUST"]
    assert record["implementation"] == "gallery.memory.PeeksAtTheNewest"
    assert record["rule"] == "queue.peek.equals-pop"
    assert record["expected"]
    assert record["actual"]
    assert record["operations"][0].startswith("queue = ")
    assert record["script"].startswith('"""queue.peek.equals-pop')


def test_a_rule_that_is_neither_kept_nor_broken_says_why(records):
    for record in records:
        if record["type"] == "rule" and record["verdict"] not in ("kept", "broken"):
            assert record["reason"]


def test_an_implementation_has_a_record_with_its_verdict(records):
    verdicts = {r["implementation"]: r["verdict"] for r in records if r["type"] == "implementation"}
    assert verdicts == {
        "queue_reference.memory.FifoMemoryQueue": "CONFORMANT",
        "gallery.memory.PeeksAtTheNewest": "NON-CONFORMANT",
        "gallery.memory.ClosesOnce": "CONFORMANT",
    }


def test_an_error_has_a_record(records):
    assert {"type": "error", "message": "no class"} in records


def test_a_reference_on_disk_is_conformant_and_says_what_was_not_examined():
    report = examine(FIFO_DISK)
    assert report.verdict is RunVerdict.CONFORMANT
    waiting = {v.rule.id for v in report.verdicts if v.verdict is Verdict.NOT_EXERCISED}
    assert waiting == {"queue.push.large"}


def test_a_claim_that_was_not_examined_makes_the_verdict_partial():
    report = examine(FIFO_DISK, {"crash-safe": "yes"}, only="queue.pop.fifo")
    assert report.verdict is RunVerdict.PARTIAL
    assert "queue.persist.crash-push" in {v.rule.id for v in report.verdicts if v.verdict is Verdict.NOT_EXERCISED}
