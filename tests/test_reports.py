"""A report reads well in a terminal, and is complete as JSON lines."""

import html
import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from kit import FIFO_DISK, FIFO_MEMORY, RELEASES, examine
from made_reports import implementation

from queue_conformance.engine.outcomes import CheckResult, Observation, Outcome, Violation
from queue_conformance.engine.verdicts import RunVerdict, Verdict, conclude
from queue_conformance.reports import Origin, Report, failure, jsonl, reading, terminal
from queue_conformance.reports import html as pages
from queue_conformance.reports.placement import most_urgent_first, place, urgent
from queue_conformance.specification import Level, load


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
        "queue.pop.empty-none  MUST failed\n"
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


def test_another_way_to_the_same_end_is_told_by_what_it_takes():
    same = violation(cause="pop raised IndexError", way="2 pop")
    other = violation(cause="pop: lost", actual="nothing")
    shown = violation(cause="pop raised IndexError", way="a check", others=(same, same, other))
    text = failure.render(load()["queue.pop.empty-none"], shown)
    assert "  also      pop raised IndexError, with 2 pop\n" in text
    assert "  also      pop: lost: expected None, got nothing\n" in text
    found = implementation(failed=[shown])
    lines = " ".join(line.text.strip() for line in terminal.render(Report((found,)), 200, 1))
    assert "expected None, got IndexError raised; also nothing" in lines


def test_many_operations_are_shortened_in_the_middle():
    text = failure.render(load()["queue.pop.empty-none"], violation(operations=tuple(f"step {n}" for n in range(50))))
    assert "step 0" in text
    assert "... 38 more ..." in text
    assert "step 49" in text
    assert "step 20" not in text


@pytest.mark.parametrize("render", [failure.render, failure.brief])
def test_what_raised_and_what_is_expected_is_never_left_out(render):
    steps = [f"queue.push(Request('https://example.com/{number}'))" for number in range(50)]
    steps[20] += "  # raised KeyError"
    seen = violation(expected="Request('https://example.com/30')", actual="None from queue.pop()", operations=tuple(steps))
    lines = [line.strip() for line in render(load()["queue.pop.empty-none"], seen).splitlines()]
    shown = [steps[0], steps[20], steps[30], steps[49]]
    assert [line for line in lines if line in shown] == shown
    hidden = sum(int(line.split()[1]) for line in lines if line.endswith(" more ..."))
    assert hidden + sum(line in steps for line in lines) == 50


def test_stacks_are_shown_for_a_hang():
    text = failure.render(load()["queue.pop.empty-none"], violation(stacks='Thread 1\n  File "queue.py", line 3 in pop'))
    assert '  stacks\n    Thread 1\n    File "queue.py", line 3 in pop' in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_failure_in_brief_has_fifteen_lines_at_most(width):
    long = violation(
        expected="a request " * 40,
        actual="another one " * 40,
        operations=tuple(f"queue.push({n}){' ' * n}# and so on" for n in range(100)),
        others=(violation(), violation()),
    )
    lines = failure.brief(load()["queue.pop.empty-none"], long, width, "COMMAND").splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) <= width
    assert lines[0] == "queue.pop.empty-none  MUST failed in 3 ways"
    assert lines[-1] == "  script    COMMAND"
    assert "    queue.push(0)# and so on" in lines
    assert any(line.startswith("    queue.push(99)") for line in lines)


def test_what_is_short_is_told_whole_in_brief():
    assert failure.brief(load()["queue.pop.empty-none"], violation(), script="COMMAND") == (
        "queue.pop.empty-none  MUST failed\n"
        "  rule      `pop` on an empty queue returns `None`, every time, and raises nothing.\n"
        "  expected  None\n"
        "  actual    IndexError raised\n"
        "    queue = Queue()\n"
        "    popped = queue.pop()\n"
        "  hint      Catch IndexError, KeyError or queue.Empty of the container below.\n"
        "  script    COMMAND"
    )


def test_the_arguments_of_what_raised_are_shown_once_in_brief():
    call = "queue.push(Request('https://example.com/1'))"
    found = violation(
        actual=f"KeyError('a(b)') raised by {call} (the crawl stops)", operations=("queue = Queue()", f"{call}  # raised")
    )
    text = failure.brief(load()["queue.pop.empty-none"], found)
    assert "  actual    KeyError('a(b)') raised by queue.push(...) (the crawl stops)\n" in text
    assert text.count("https://example.com/1") == 1
    other = failure.brief(load()["queue.pop.empty-none"], replace(found, operations=(call, "queue.pop()")))
    assert other.count("https://example.com/1") == 2


def test_what_is_conformant_but_for_should_rules_is_told_in_brief(reports):
    must, should = ([v for v in found.verdicts if v.violation] for found in reports[1:])
    rest = [verdict for verdict in reports[2].verdicts if verdict.violation is None]
    untried = replace(rest[-1], verdict=Verdict.NOT_COVERED, reason="no fault came in its way", violation=None)

    def brief(verdict, *failed):
        found = replace(reports[2], verdicts=(*failed, *rest[:-1], untried), verdict=verdict)
        return [line.text for line in terminal.render(Report((found,)), 80)]

    lines = brief(RunVerdict.CONFORMANT, *should * 4)
    assert sum(line.startswith("  FAILED ") for line in lines) == 4
    assert not any(line.startswith(("  start with", "  not covered")) for line in lines)
    assert " ".join(map(str.strip, lines)).endswith("; 4 SHOULD rules failed: -v shows how)")
    assert not any(line.startswith(("  MUST: ", "  -v shows")) for line in lines)  # the lines above say all of it
    lines = brief(RunVerdict.NON_CONFORMANT, *must, *should)
    assert any(line.startswith("  start with") for line in lines)


def test_a_conformant_class_has_twelve_lines_at_most(reports):
    lines = [line.text for line in terminal.render(Report(reports[:1]), 80)]
    assert len(lines) <= 12
    assert not any("note: " in line for line in lines)
    assert "  -v shows 1 note" in lines
    assert "-v shows" not in str(Report(reports[:1]))  # which has no such option


def test_what_is_broken_is_one_line_each_in_brief(reports):
    lines = [line.text for line in terminal.render(Report(reports), 80)]
    assert all(len(line) <= 80 for line in lines)
    assert sum(line.startswith("  FAILED ") for line in lines) == 2


def test_what_blocks_most_is_shown_first(reports):
    must, should = (next(v for v in found.verdicts if v.violation) for found in reports[1:])
    both = replace(reports[1], verdicts=(should, must))
    seen = [(both.name, failed_rules("machine", must, should)), (both.name, failed_rules(should.rule.id, should))]
    seen.append((both.name, failed_rules(must.rule.id, must)))
    assert urgent(Report((both,)), seen) == [2, 1, 0]


@pytest.mark.parametrize(
    ("rules", "line", "first"),
    [
        (("queue.push.accept", "queue.close.releases"), "TypeError my_package.py:7 (close)", "queue.close.releases"),
        (("queue.push.accept", "queue.close.releases"), "", "queue.push.accept"),  # which blocks others
        (("queue.push.accept", "queue.close.twice"), "TypeError my_package.py:7 (close)", "queue.push.accept"),  # a SHOULD
    ],
)
def test_of_what_one_line_raises_the_rule_of_its_operation_is_first(rules, line, first):
    raised = [violation(rule=rule, cause="close raised TypeError", raised_at=line) for rule in rules]
    found = implementation(failed=raised, blocked=["queue.pop.fifo", "queue.len.count"])
    assert most_urgent_first(found)[0].rule.id == first
    (read,) = reading.parse(jsonl.render(Report((found,)))).implementations
    assert most_urgent_first(read)[0].rule.id == first, "whoever reads the report mends in the same order"


def failed_rules(check, *verdicts):
    return CheckResult(check, tuple(Observation(verdict.rule.id, Outcome.FAILED, check) for verdict in verdicts))


def test_an_option_in_a_hint_stays_in_one_piece():
    text = failure.render(load()["aqueue.order.priority"], violation(rule="aqueue.order.priority"))
    assert "`--conformance-claim=priority=lower-first`" in text


@pytest.fixture(scope="module")
def reports(recorded):
    return tuple(recorded(path) for path in (FIFO_MEMORY, "mutants.memory.PeeksAtTheNewest", "mutants.memory.ClosesOnce"))


@pytest.fixture(scope="module")
def lines(reports):
    return [line.text for line in terminal.render(Report(reports, ("--queue-class: no class",)), verbosity=1)]


def test_the_implementation_is_described(lines):
    assert "queue_reference.memory.FifoMemoryQueue: downstream queue, profile scrapy, seed 0" in lines
    assert "  found: FIFO, not persistent, peek, no clear, keeps the objects" in lines


def test_a_rule_that_is_not_kept_has_a_line(reports, lines):
    text = " ".join(" ".join(lines).split())
    for report in reports:
        for verdict in report.verdicts:
            assert (verdict.rule.id in text) or verdict.verdict is Verdict.PASSED


def test_the_verdict_says_why(lines):
    said = counted(lines)
    assert "  verdict: CONFORMANT (FIFO, peek; N of N MUST rules apply)" in said
    assert "  verdict: NON-CONFORMANT (1 MUST rule failed)" in said
    assert "  verdict: CONFORMANT (FIFO, peek; N of N MUST rules apply; 1 SHOULD rule failed)" in said


def counted(lines):
    """Return lines with N for numbers of rules, which change whenever a rule is added."""
    return [re.sub(r"\d+ of \d+", "N of N", line) for line in lines]


def test_counts_are_given_per_level_and_verdict(lines):
    assert any(line.startswith("  MUST: ") and " passed, 1 failed, " in line for line in lines)


def test_the_broken_rules_of_a_level_are_asked_for_by_its_name_too(reports):
    failed_rules = reports[1].failed_rules(Level.MUST)
    assert failed_rules
    assert reports[1].failed_rules("MUST") == failed_rules
    with pytest.raises(ValueError, match="'must' is not a valid Level"):
        reports[1].failed_rules("must")


def test_a_class_that_could_not_be_tested_is_an_error_line(lines):
    assert lines[-1] == "ERROR: --queue-class: no class"


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_lines_fit_the_terminal(reports, width):
    words = {word for line in terminal.render(Report(reports, ()), width) for word in line.text.split()}
    longest = max(map(len, words))
    for line in terminal.render(Report(reports, ()), width):
        assert len(line.text) <= max(width, longest + 39)


def test_a_broken_should_rule_gates_only_if_asked(reports):
    right, must, should = reports
    assert not Report((should,)).failed
    assert Report((should, strict(should))).failed
    assert Report((must,)).failed
    assert not Report((strict(right),)).failed


def test_a_report_has_the_worst_verdict(reports):
    right, must, should = reports
    assert Report((right, should)).verdict is RunVerdict.CONFORMANT
    assert Report((right, must)).verdict is RunVerdict.NON_CONFORMANT
    assert Report((right,), ("no class",)).verdict is Report(()).verdict is RunVerdict.INCONCLUSIVE


def test_a_notebook_shows_the_page_in_a_frame(reports):
    report = Report(reports)
    shown = report._repr_html_()
    assert shown.startswith("<iframe srcdoc=")
    assert html.unescape(shown.partition('"')[2].rpartition('" style')[0]) == pages.render(report)


def strict(report):
    return replace(report, level=Level.SHOULD)


@pytest.fixture(scope="module")
def records(reports):
    text = jsonl.render(Report(reports, ("no class",), Origin(7, releases=RELEASES)))
    return [json.loads(line) for line in text.splitlines()]


def test_a_report_begins_with_a_header_and_ends_with_a_footer(records):
    assert records[0]["type"] == "header"
    assert records[0]["schema"] == 1
    assert records[0]["seed"] == 7
    assert records[0]["releases"] == RELEASES
    assert records[-1] == {"type": "footer", "implementations": 3, "errors": 1, "failed": True}


def test_every_rule_of_the_profile_has_one_record(records, reports):
    for report in reports:
        found = [r["rule"] for r in records if r["type"] == "rule" and r["implementation"] == report.name]
        assert found == [verdict.rule.id for verdict in report.verdicts]
        assert len(found) == len(set(found)) > 60


def test_a_broken_rule_carries_its_evidence(records):
    (record,) = [r for r in records if r["type"] == "rule" and r["verdict"] == "failed" and r["level"] == "MUST"]
    assert record["implementation"] == "mutants.memory.PeeksAtTheNewest"
    assert record["rule"] == "queue.peek.equals-pop"
    assert record["expected"]
    assert record["actual"]
    assert record["operations"][0].startswith("queue = ")
    assert record["script"].startswith('"""queue.peek.equals-pop')


def test_a_rule_that_is_neither_kept_nor_broken_says_why(records):
    for record in records:
        if record["type"] == "rule" and record["verdict"] not in ("passed", "failed"):
            assert record["reason"]


def test_an_implementation_has_a_record_with_its_verdict(records):
    verdicts = {r["implementation"]: r["verdict"] for r in records if r["type"] == "implementation"}
    assert verdicts == {
        "queue_reference.memory.FifoMemoryQueue": "CONFORMANT",
        "mutants.memory.PeeksAtTheNewest": "NON-CONFORMANT",
        "mutants.memory.ClosesOnce": "CONFORMANT",
    }


def test_an_error_has_a_record(records):
    assert {"type": "error", "message": "no class"} in records


@pytest.mark.further
def test_a_reference_on_disk_is_conformant_and_says_what_was_not_tested():
    report = examine(FIFO_DISK)
    assert report.verdict is RunVerdict.CONFORMANT
    waiting = {v.rule.id for v in report.verdicts if v.verdict is Verdict.NOT_COVERED}
    assert waiting == {"queue.push.large"}


def test_a_rule_that_a_check_passed_beside_a_refusal_that_is_allowed_has_a_note():
    checks = ["queue.push.callback-method", "callback.falsy-spider"]
    found = examine(FIFO_DISK, only=checks)
    report = Report((found,))
    note = "queue.push.callback-method: push may raise in callback.falsy-spider, and raised ValueError"
    assert {verdict.rule.id: verdict.verdict for verdict in found.verdicts}["queue.push.callback-method"] is Verdict.PASSED
    assert f"  note: {note}" in [line.text for line in terminal.render(report, verbosity=1)]
    (record,) = (one for one in map(json.loads, jsonl.render(report).splitlines()) if one["type"] == "implementation")
    assert note in record["notes"]
    assert f"<li>{note}</li>" in pages.render(report)
    assert note not in examine(FIFO_MEMORY, only=checks).notes


def test_a_claim_that_was_not_tested_makes_the_verdict_partial():
    report = examine(FIFO_DISK, {"crash-safe": "yes"}, only="queue.pop.fifo")
    assert report.verdict is RunVerdict.PARTIAL
    assert "queue.persist.crash-push" in {v.rule.id for v in report.verdicts if v.verdict is Verdict.NOT_COVERED}


# --- What is known, and what is provisional --------------------------------------------------------------------------


def changed(report, **changes):
    """Return a report whose failed rules have other fields."""
    return replace(
        report,
        verdicts=tuple(
            replace(verdict, **{name: change(verdict) for name, change in changes.items()})
            if verdict.verdict is Verdict.FAILED
            else verdict
            for verdict in report.verdicts
        ),
    )


def known(report):
    return changed(report, known=lambda verdict: "as the client does (#1)")


def provisional(report):
    report = changed(report, rule=lambda verdict: replace(verdict.rule, provisional="0.2"))
    return replace(report, verdict=conclude(report.verdicts))


def text_of(*reports, **fields):
    return [line.text for line in terminal.render(Report(reports, **fields), verbosity=1)]


def test_what_is_known_has_a_line_with_its_reason_and_fails_nothing(reports):
    _, must, should = map(known, reports)
    lines = text_of(must, should)
    assert "  known         MUST   queue.peek.equals-pop  as the client does (#1)" in lines
    assert "  known         SHOULD queue.close.twice  as the client does (#1)" in lines
    assert "  verdict: NON-CONFORMANT (1 MUST rule failed, and known)" in lines
    assert "  verdict: CONFORMANT (FIFO, peek; N of N MUST rules apply; 1 SHOULD rule failed, and known)" in counted(lines)
    assert any(", 1 failed (1 known), " in line for line in lines)
    assert not Report((must, strict(should))).failed


def test_the_lines_of_the_gate_come_last_and_fail_the_run(reports):
    report = Report(reports[:1], gate=("fixed: this", "new: that"))
    assert [line for line in terminal.render(report) if line.text][-2:] == [
        ("baseline: fixed: this", "red", True),
        ("baseline: new: that", "red", True),
    ]
    assert report.failed


def test_a_provisional_rule_is_reported_and_counts_nowhere(reports):
    report = provisional(reports[1])
    lines = text_of(report)
    assert "  FAILED        MUST   queue.peek.equals-pop (provisional)" in lines
    assert "  provisional, in no count: 1 failed" in lines
    assert any(line.startswith("  verdict: CONFORMANT (") for line in lines)
    assert not any("MUST: " in line and "failed" in line for line in lines)
    assert report.counts()[Level.MUST] == reports[1].counts()[Level.MUST] - Counter({Verdict.FAILED: 1})
    assert not Report((report,)).failed
    (verdict,) = (verdict for verdict in report.verdicts if verdict.rule.provisional)
    title = failure.render(verdict.rule, verdict.violation).splitlines()[0]
    assert title == "queue.peek.equals-pop  MUST failed, provisional: new in 0.2, fails no run yet"


def test_what_is_known_and_what_is_provisional_is_read_back(reports):
    report = Report((known(reports[1]), provisional(reports[2])), gate=("fixed: this",))
    text = jsonl.render(report)
    again = jsonl.parse(text)
    assert jsonl.render(again) == text
    assert again.gate == report.gate
    (first,), (second,) = ([v for v in found.verdicts if v.violation] for found in again.implementations)
    assert (first.known, second.rule.provisional) == ("as the client does (#1)", "0.2")


def drawn(found, verdict, breaks):
    return failure.render(verdict.rule, verdict.violation)


def test_a_known_failure_is_one_line_among_the_failures(reports):
    result = CheckResult(
        "machine",
        tuple(Observation(rule, Outcome.FAILED, "machine") for rule in ("queue.peek.equals-pop", "queue.close.twice")),
    )
    _, must, should = reports
    both = replace(must, verdicts=(*known(must).verdicts, *(v for v in should.verdicts if v.rule.id == "queue.close.twice")))
    ((text, cause, *_),), elsewhere = place(Report((both,)), [(both.name, result)], drawn, once=False)
    assert " raised by " in cause
    assert text.startswith("queue.close.twice  SHOULD failed\n")
    assert text.endswith("\n\nqueue.peek.equals-pop fails here too, as is known: as the client does (#1)")
    assert elsewhere == {}
    assert place(Report((known(must),)), [], drawn) == ([], {})


def test_a_check_that_shows_its_own_rule_shows_another_one_only_if_nobody_else_saw_it(reports):
    def saw(check, *rules):
        return both.name, CheckResult(check, tuple(Observation(rule, Outcome.FAILED, check) for rule in rules))

    own, other = "queue.close.twice", "queue.peek.equals-pop"
    _, must, should = reports
    both = replace(must, verdicts=(*must.verdicts, *(v for v in should.verdicts if v.rule.id == own)))
    shown, _ = place(Report((both,)), [saw(own, own, other), saw("machine", other, own)], drawn, once=False)
    assert [one.rule for one in shown] == [own, other]
    assert shown[0].text.endswith(f"\n\n{other} fails here too, as shown below")
    (alone,), _ = place(Report((both,)), [saw(own, own, other)], drawn, once=False)
    assert f"\n\n{other}  MUST failed\n" in alone.text


# --- JSON lines, read back -------------------------------------------------------------------------------------------


def test_a_report_is_read_back_as_it_was(reports):
    report = Report(reports, ("no class",), Origin(7, releases=RELEASES))
    text = jsonl.render(report)
    again = jsonl.parse(text)
    assert jsonl.render(again) == text
    assert again.origin == report.origin
    assert [found.verdict for found in again.implementations] == [found.verdict for found in reports]
    assert again.failed
