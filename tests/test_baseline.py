"""A baseline is read strictly, judged fairly, and written without touching what its author wrote."""

import ast
import os
import threading
from dataclasses import replace
from datetime import date
from functools import partial
from importlib.metadata import version
from pathlib import Path

import made_reports
import pytest

import queue_conformance
from queue_conformance import __version__
from queue_conformance.baseline import FORM, PLACEHOLDER, Baseline, BaselineError, parse, read, writing
from queue_conformance.baseline.comparison import Result, judge, mark
from queue_conformance.baseline.gate import Gate
from queue_conformance.baseline.helpers import explained
from queue_conformance.config.run_config import Options
from queue_conformance.config.targets import Target
from queue_conformance.engine.outcomes import Violation
from queue_conformance.engine.sequences import commands
from queue_conformance.engine.verdicts import RuleVerdict, Verdict
from queue_conformance.engine.ways import cut_short
from queue_conformance.kinds import DOWNSTREAM_QUEUE
from queue_conformance.reports import files
from queue_conformance.specification import Level, load

KIT = Path(queue_conformance.__file__).parent
STAMP = f'kit = "{__version__}"\nform = {FORM}\n'
EMPTY, COUNT, TWICE = "queue.pop.empty-none", "queue.len.count", "queue.close.twice"
ENTRY = f"""[[known]]
implementation = "mine"
rule = "{EMPTY}"
reason = "as the client does"
"""


def entry(**keys):
    """Return the text of an entry in which some keys have other values, which are given as TOML."""
    lines = {"implementation": '"mine"', "rule": f'"{EMPTY}"', "reason": '"as the client does"'} | keys
    return "[[known]]\n" + "".join(f"{key} = {value}\n" for key, value in lines.items() if value)


# --- Reading ---------------------------------------------------------------------------------------------------------


def test_an_entry_is_read_key_by_key():
    text = entry(
        issue='"https://example.com/1"',
        expires="2030-01-31",
        versions='["scrapy<99", "queuelib>=1"]',
        expected='"None"',
        actual='"0"',
        operations='["queue = Queue()", "queue.pop()"]',
        sequence='[["push", 0, 1], ["pop", 0, 0]]',
    )
    (found,) = parse(text, "known.toml").entries
    assert (found.implementation, found.rule, found.explanation) == ("mine", EMPTY, "as the client does (https://example.com/1)")
    assert (found.expires, found.versions) == (date(2030, 1, 31), ("scrapy<99", "queuelib>=1"))
    assert (found.expected, found.actual, found.operations) == ("None", "0", ("queue = Queue()", "queue.pop()"))
    assert found.sequence == commands("push:1 pop")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no toml", "known.toml: Expected '=' after a key"),
        ("rule = 1", "known.toml: 'rule' is not known at the top; write a table [[known]] for each entry"),
        ("[known]\nrule = 1", "known.toml: write a table [[known]] for each entry"),
        ("known = [1]", "known.toml: write a table [[known]] for each entry"),
        (ENTRY + entry(reason=""), f"known.toml, entry 2 ({EMPTY} of mine): lacks reason"),
        ("[[known]]", "known.toml, entry 1: lacks implementation and rule and reason"),
        (entry(reason='" "'), f"known.toml, entry 1 ({EMPTY} of mine): reason: say why this is acceptable, not ' '"),
        (entry(implementation='""'), "implementation: write some text, not ''"),
        (entry(rule="1"), "known.toml, entry 1: rule: write a text in quotes, not 1"),
        (entry(resaon='"x"'), "unknown key 'resaon'; did you mean 'reason'?"),
        (entry(expires='"2030-01-31"'), "expires: write a date such as 2030-01-31, without quotes, not '2030-01-31'"),
        (entry(expires="2030-01-31T00:00:00"), "expires: write a date such as 2030-01-31"),
        (entry(versions='"2.20"'), "versions: write a condition such as 'scrapy<2.20', or a list of them, not '2.20'"),
        (entry(versions='"scrapy"'), "versions: write a condition such as 'scrapy<2.20'"),
        (entry(versions='"scrapy[x]<2"'), "versions: write a condition such as 'scrapy<2.20'"),
        (entry(versions='["scrapy<2", 3]'), "versions: write a list of texts, not ['scrapy<2', 3]"),
        (entry(operations='"queue.pop()"'), "operations: write a list of texts, not 'queue.pop()'"),
        (entry(sequence='["pop"]'), 'sequence: write a list of operations such as ["push", 0, 1]'),
        (entry(sequence='[["pop", 0]]'), 'sequence: write a list of operations such as ["push", 0, 1]'),
        (entry(sequence='[["pop", -1, 0]]'), 'sequence: write a list of operations such as ["push", 0, 1]'),
        (entry(seed='"a"'), "seed: write a whole number, 0 or more, not 'a'"),
        (entry(also="[1]"), "also: write a list of findings, each with a rule, not [1]"),
        (entry(also='[{ rule = "x", reason = "y" }]'), ", also: unknown key 'reason'"),
        (
            entry(also=f'[{{ rule = "{EMPTY}" }}]'),
            f"known.toml, entry 1 ({EMPTY} of mine): entry 1 says the same; remove one of them",
        ),
        (ENTRY + ENTRY, f"known.toml, entry 2 ({EMPTY} of mine): entry 1 says the same; remove one of them"),
    ],
)
def test_what_is_no_baseline_is_refused_in_one_line_that_names_the_entry(text, message):
    with pytest.raises(BaselineError) as caught:
        parse(text, "known.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("known.toml")
    assert "\n" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path):
    file = tmp_path / "known.toml"
    with pytest.raises(BaselineError, match=r"^there is no file known.toml; --conformance-update-baseline writes it$"):
        read(file, "known.toml")
    assert read(file, "known.toml", missing_ok=True).entries == ()
    with pytest.raises(BaselineError, match=r"^known.toml: Is a directory$"):
        read(tmp_path, "known.toml")
    file.write_bytes(b"\xff")
    with pytest.raises(BaselineError, match=r"^known.toml: 'utf-8' codec"):
        read(file, "known.toml")


@pytest.mark.parametrize(
    ("versions", "unmet"),
    [
        ('"pytest>1"', ""),
        ('["pytest>1", "scrapy>1"]', ""),
        ('["pytest>1", "scrapy<1"]', "only for scrapy<1, and scrapy "),
        ('"no-such-package>1"', "only for no-such-package>1, and no-such-package is not installed"),
    ],
)
def test_a_condition_speaks_of_installed_releases(versions, unmet):
    baseline = parse(entry(versions=versions), "known.toml")
    assert baseline.entries[0].unmet().startswith(unmet)
    assert bool(baseline.entries[0].unmet()) == bool(unmet)
    assert bool(baseline.why_known("mine", FAILED)) == (not unmet)


def test_an_entry_is_in_force_until_it_expires():
    baseline = parse(entry(expires="2030-01-31"), "known.toml")
    assert replace(baseline, today=date(2030, 1, 30)).why_known("mine", FAILED) == "as the client does"
    assert replace(baseline, today=date(2030, 1, 31)).why_known("mine", FAILED) == ""
    assert baseline.why_known("other", FAILED) == ""


# --- Judging ---------------------------------------------------------------------------------------------------------


def violation(rule, *operations, actual="0", sequence=None, cause="", others=()):
    return Violation(rule, "None", actual, operations or ("queue.pop()",), "", sequence, cause=cause, others=others)


def examined(name="mine", kind=DOWNSTREAM_QUEUE, level=Level.MUST, whole=True, seed=0, examples=100, **rules):
    """Return what a run found out: verdicts, or violations, of rules by a short name."""
    names = {"empty": EMPTY, "count": COUNT, "twice": TWICE}
    verdicts = [
        RuleVerdict(load()[names[short]], Verdict.FAILED, violation=found)
        if isinstance(found, Violation)
        else RuleVerdict(load()[names[short]], found, "" if found is Verdict.PASSED else "its check was not run")
        for short, found in rules.items()
    ]
    return Result(name, kind, level, tuple(verdicts), whole, seed, examples)


def current(text):
    """Return a baseline that this release of the kit has written."""
    return parse(STAMP + text, "known.toml")


def lines(text, *implementations, described=None, today=None):
    baseline = current(text)
    return list(map(str, judge(replace(baseline, today=today or baseline.today), implementations, described).findings))


def test_notes_say_of_which_checks_there_was_no_time_for_all_cases():
    notes = [
        "pops: 44 of 54 cases, because they take more than 10 s",
        "machine: 62 sequences; 4 push",
        "a.b: 2 of 3 cases, because x",
        "job.disk-full: 4 of 7 places, because operations are slow",
    ]
    assert cut_short(notes) == {"pops", "a.b", "job.disk-full"}


FAILED = violation(EMPTY)
KEY, INDEX = (violation(EMPTY, cause=f"pop raised {error}") for error in ("KeyError", "IndexError"))
BOTH = replace(KEY, others=(INDEX,))
KNOWN_KEY = entry(cause='"pop raised KeyError"')
IN_ANOTHER_WAY = (
    f"new: {EMPTY} of mine fails in another way, too (pop raised IndexError): repair it, or accept it with "
    "--conformance-update-baseline and give the reason in known.toml"
)


def test_an_accepted_finding_hides_no_other_one_of_its_rule():
    assert lines(KNOWN_KEY, examined(empty=KEY)) == []
    assert lines(KNOWN_KEY, examined(empty=BOTH)) == [IN_ANOTHER_WAY]
    assert lines(KNOWN_KEY + entry(cause='"pop raised IndexError"'), examined(empty=BOTH)) == []
    (marked,) = mark(parse(KNOWN_KEY, "known.toml"), "mine", examined(empty=BOTH).verdicts)
    assert marked.known == ""
    assert marked.violation == replace(INDEX, others=(KEY,))


def test_an_entry_without_a_cause_accepts_its_whole_rule():
    assert lines(ENTRY, examined(empty=BOTH)) == []


def test_each_finding_has_a_reason():
    text = KNOWN_KEY + entry(cause='"pop raised IndexError"', reason='"rare"')
    (marked,) = mark(parse(text, "known.toml"), "mine", examined(empty=BOTH).verdicts)
    assert marked.known == "as the client does; rare"


def test_a_finding_that_is_fixed_is_told_while_its_rule_is_still_broken():
    text = KNOWN_KEY + entry(cause='"pop raised IndexError"')
    assert lines(text, examined(empty=INDEX)) == [
        f"fixed: {EMPTY} of mine (pop raised KeyError) is not failing in this way any more: remove the entry from known.toml, or "
        "run with --conformance-update-baseline"
    ]
    for found, why in [
        (examined(empty=INDEX, whole=False), "failing in other ways, but not all checks were run"),
        (
            examined(empty=INDEX, seed=5),
            "failing in other ways here, but only a run with --conformance-seed=0 --conformance-examples=100 tells whether it is "
            "fixed",
        ),
    ]:
        judgement = judge(current(KNOWN_KEY + ENTRY), [found])
        assert judgement.findings == ()
        assert judgement.notes == {"mine": [f"this run says nothing about {EMPTY} in known.toml: {why}"]}


def test_what_is_broken_and_known_is_right():
    assert lines(ENTRY, examined(empty=FAILED)) == []


def test_what_is_broken_and_not_known_is_new():
    assert lines("", examined(empty=FAILED)) == [
        f"new: {EMPTY} of mine fails: repair it, or accept it with --conformance-update-baseline and give the reason in "
        "known.toml"
    ]


def test_what_does_not_fail_the_run_is_not_new():
    found = examined(twice=violation(TWICE))
    assert lines("", found) == []
    assert lines("", replace(found, level=Level.SHOULD)) != []


def test_what_is_known_for_other_releases_is_new():
    (line,) = lines(entry(versions='"scrapy<1"'), examined(empty=FAILED))
    assert line.startswith(f"new: {EMPTY} of mine fails (its entry is only for scrapy<1, and scrapy {version('scrapy')} is ")


def test_what_is_kept_is_fixed():
    assert lines(ENTRY, examined(empty=Verdict.PASSED)) == [
        f"fixed: {EMPTY} of mine passes now: remove the entry from known.toml, or run with --conformance-update-baseline"
    ]


@pytest.mark.parametrize(
    "text",
    [ENTRY, entry(expires="2020-01-01"), entry(reason=f'"{PLACEHOLDER}"')],
)
@pytest.mark.parametrize(
    ("found", "why"),
    [
        (examined(empty=Verdict.NOT_COVERED), "its check was not run"),
        (examined(empty=Verdict.BLOCKED), "its check was not run"),
        (examined(empty=Verdict.PASSED, whole=False), "passed, but not all checks were run"),
        (
            examined(empty=Verdict.PASSED, seed=5),
            "passed here, but only a run with --conformance-seed=0 --conformance-examples=100 tells whether it is fixed",
        ),
        (
            examined(empty=Verdict.PASSED, examples=10),
            "passed here, but only a run with --conformance-seed=0 --conformance-examples=100 tells whether it is fixed",
        ),
        (examined(), "this profile does not have the rule"),
    ],
)
def test_what_was_not_tested_is_a_note(text, found, why):
    judgement = judge(current(text), [found])
    assert judgement.findings == ()
    assert judgement.notes == {"mine": [f"this run says nothing about {EMPTY} in known.toml: {why}"]}


def test_an_entry_with_a_program_is_fixed_whatever_the_seed():
    (line,) = lines(entry(sequence='[["pop", 0, 0]]'), examined(empty=Verdict.PASSED, seed=5, examples=1))
    assert line.startswith("fixed: ")


def test_an_expired_entry_fails_from_that_day_on():
    text = entry(expires="2030-01-31")
    assert lines(text, examined(empty=FAILED), today=date(2030, 1, 30)) == []
    assert lines(text, examined(empty=FAILED), today=date(2030, 1, 31)) == [
        f"expired: {EMPTY} of mine expired on 2030-01-31: repair it, or give a later date in known.toml"
    ]


def test_a_placeholder_is_no_reason():
    assert lines(entry(reason=f'"{PLACEHOLDER}"'), examined(empty=FAILED)) == [
        f"unexplained: {EMPTY} of mine has no reason yet: replace {PLACEHOLDER!r} in known.toml"
    ]


def test_a_rule_that_does_not_exist_is_unknown():
    assert lines(entry(rule='"queue.pop.emty-none"'), examined(empty=Verdict.PASSED)) == [
        "unknown: correct or remove the entry of mine in known.toml: "
        f"there is no rule 'queue.pop.emty-none'; did you mean {EMPTY!r}?"
    ]


def test_a_rule_of_another_kind_is_unknown():
    assert lines(entry(rule='"aqueue.size"'), examined(empty=Verdict.PASSED)) == [
        "unknown: aqueue.size of mine is not asked of its kind, downstream queue: correct or remove the entry in known.toml"
    ]


def test_an_implementation_that_was_not_tested_is_left_alone():
    text = ENTRY + entry(implementation='"other"', rule='"no.such"', expires="2020-01-01")
    assert lines(text, examined(empty=FAILED)) == []
    assert lines(text, examined(empty=FAILED), described=["mine", "other"]) == []


def test_a_name_that_nothing_bears_is_unknown_once_in_a_whole_run():
    text = entry(implementation='"mime"') + entry(implementation='"mime"', rule=f'"{COUNT}"')
    assert lines(text, examined(empty=Verdict.PASSED), described=["mine"]) == [
        "unknown: correct or remove the entries of mime in known.toml: "
        "nothing in pyproject.toml is called 'mime'; did you mean 'mine'?"
    ]


def test_broken_rules_bear_their_reason():
    baseline = parse(entry(issue='"#1"') + entry(rule=f'"{COUNT}"'), "known.toml")
    marked = mark(baseline, "mine", examined(empty=FAILED, count=Verdict.PASSED, twice=violation(TWICE)).verdicts)
    assert [verdict.known for verdict in marked] == ["as the client does (#1)", "", ""]


# --- Writing ---------------------------------------------------------------------------------------------------------


def updated(text, *implementations, described=None):
    baseline = current(text)
    written, changes = writing.update(STAMP + text, baseline, judge(baseline, implementations, described), implementations)
    assert written.startswith(STAMP)
    return written.removeprefix(STAMP), changes


HAND = f"""\
# What we know.

# --- Empty ---

# the client raises
[[known]]
rule = "{EMPTY}"  # an author's order
implementation = "mine"
actual = \"\"\"
[[known]]
\"\"\"
# a remark

reason = 'a "reason" # not a comment'
expires = 2099-01-31 # later
operations = [
    "queue.pop()", # short
]

# --- Counts ---

# see the issue
[[known]]
implementation = "mine"
rule = "{COUNT}"
reason = "approximate"

# --- The end ---
"""


def test_an_update_that_changes_nothing_changes_no_character():
    for text in (HAND, HAND.replace("\n", "\r\n"), "", "# nothing\n"):
        assert updated(text, examined(empty=Verdict.BLOCKED, count=Verdict.NOT_COVERED)) == (text, [])


def test_a_fixed_entry_goes_with_the_comment_above_it_and_nothing_else_does():
    text, changes = updated(HAND, examined(count=Verdict.PASSED))
    assert text == HAND.replace(
        f'# see the issue\n[[known]]\nimplementation = "mine"\nrule = "{COUNT}"\nreason = "approximate"\n\n', ""
    )
    assert changes == [f"removed: {COUNT} of mine, fixed; its reason was: approximate"]


def test_the_first_entry_can_go_and_comments_that_stand_apart_stay():
    text, _ = updated(HAND, examined(empty=Verdict.PASSED))
    begin, end = HAND.index("# the client"), HAND.index("# --- Counts")
    assert text == HAND[:begin] + HAND[end:]


def test_evidence_is_refreshed_in_its_place_and_the_rest_is_kept():
    found = violation(EMPTY, "queue = Queue()", "queue.pop()", actual="1", sequence=commands("pop"))
    text, changes = updated(HAND, examined(empty=found))
    assert changes == [f"refreshed: {EMPTY} of mine, from 1 to 2 operations"]
    new = 'expected = "None"\nactual = "1"\noperations = [\n    "queue = Queue()",\n    "queue.pop()",\n]\n'
    new += 'sequence = [["pop", 0, 0]]\n'
    old = HAND[HAND.index("actual") : HAND.index("# a remark")]
    dropped = HAND[HAND.index("operations") : HAND.index("\n# --- Counts")]
    assert text == HAND.replace(old, new).replace(dropped, "")
    assert parse(text, "known.toml").entries[0].expires == date(2099, 1, 31)


def test_evidence_that_is_the_same_is_not_refreshed():
    text, _ = updated(ENTRY, examined(empty=FAILED))
    assert updated(text, examined(empty=FAILED)) == (text, [])
    assert updated(text, examined(empty=FAILED, seed=5)) == (text, [])


@pytest.mark.parametrize(
    ("first", "then", "changes"),
    [
        ("no '/dev/shm/queue-conformance-ab1/x/0'", "no '/dev/shm/queue-conformance-yz2/x/0'", []),
        ("0x10", "0x11", [f"refreshed: {EMPTY} of mine"]),
    ],
)
def test_evidence_is_not_refreshed_for_directories(first, then, changes):
    text, _ = updated(ENTRY, examined(empty=violation(EMPTY, "queue.pop()", actual=first, sequence=commands("pop"))))
    found = violation(EMPTY, "queue.pop()", actual=then, sequence=commands("pop"))
    again, told = updated(text, examined(empty=found))
    assert told == changes
    assert (again == text) == (not changes)


def test_each_function_that_operations_may_call_is_explained():
    files = [*(KIT / "script_support").glob("*.py"), *(KIT / "kinds").glob("*/script_support.py")]
    nodes = [node for file in files for node in ast.parse(file.read_text("utf-8")).body]
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name[0] != "_"]
    assert len(functions) > 100
    assert [node.name for node in functions if not ast.get_docstring(node)] == ["module_function"]  # no operation calls it


def test_helpers_are_explained_where_they_are_first_called():
    """Only those of the kit: what a script imports from elsewhere, or defines itself, is the author's."""
    lines = ("queue = FifoQueue(local(1))", "left = drain(queue)  # taken(0)", "with Refused(backend):", "    drain(queue)")
    script = "from my_package import FifoQueue, Other\nfrom queue_conformance.faults.outages import Refused\n"
    found = replace(violation(EMPTY, *lines), script=script)
    folders = ("queue_conformance.kinds.scheduler",)
    assert [*explained(found, folders)] == [
        lines[0],
        "# drain: take out everything; return the URLs",
        lines[1],
        "# Refused: Every connection ends, and new ones are refused",
        *lines[2:],
    ]
    own = replace(found, script=f"{script}def drain(queue):\n    ...\n", operations=lines[1:2])
    assert [*explained(own, folders)] == [lines[1]]
    text, _ = updated("", examined(empty=violation(EMPTY, "left = drain(queue)")))
    assert "# drain: " in parse(text, "known.toml").entries[0].operations[0]


@pytest.mark.parametrize("before", ["", "# mine\n", ENTRY.rstrip(), ENTRY, ENTRY + "\n", ENTRY.replace("\n", "\r\n")])
def test_what_is_new_is_added_at_the_end(before):
    end = "\r\n" if "\r" in before else "\n"
    text, changes = updated(before, examined(count=violation(COUNT)))
    assert changes == [f"added: {COUNT} of mine"]
    assert text.startswith(before)
    added = f'[[known]]\nimplementation = "mine"\nrule = "{COUNT}"\nreason = "{PLACEHOLDER}"\nexpected = "None"\nactual = "0"\n'
    added += 'operations = [\n    "queue.pop()",\n]\n'
    assert text[len(before) :].lstrip("\r\n") == added.replace("\n", end)
    assert not before or text.endswith(end * 2 + added.replace("\n", end))


def test_what_fails_a_provisional_rule_is_added_though_it_fails_no_run_yet():
    found = examined(count=violation(COUNT))
    (verdict,) = found.verdicts
    found = replace(found, verdicts=(replace(verdict, rule=replace(verdict.rule, provisional="0.2")),))
    assert lines("", found) == []
    text, changes = updated("", found)
    assert changes == [f"added: {COUNT} of mine"]
    assert lines(text.replace(PLACEHOLDER, "approximate"), examined(count=violation(COUNT))) == []


def test_each_finding_is_added_refreshed_and_removed_by_itself():
    text, changes = updated("", examined(empty=BOTH))
    assert changes == [f"added: {EMPTY} of mine (pop raised {error})" for error in ("KeyError", "IndexError")]
    assert [found.cause for found in parse(text, "known.toml").entries] == ["pop raised KeyError", "pop raised IndexError"]
    longer = violation(EMPTY, "queue = Queue()", "queue.pop()", cause="pop raised IndexError")
    text, changes = updated(text, examined(empty=replace(KEY, others=(longer,))))
    assert changes == [f"refreshed: {EMPTY} of mine (pop raised IndexError), from 1 to 2 operations"]
    text, changes = updated(text, examined(empty=longer))
    assert changes == [f"removed: {EMPTY} of mine (pop raised KeyError), fixed; its reason was: {PLACEHOLDER}"]
    assert [found.operations for found in parse(text, "known.toml").entries] == [longer.operations]


def test_what_there_was_no_time_for_is_neither_new_nor_fixed():
    """Of a slow class some cases are run, as many as there is time for, and others in the next run."""
    one, other = (replace(KEY, way=f"pops (some job, {cause} as meta)") for cause in ("a lock", "a lambda"))
    cut = frozenset({"pops"})
    text = updated("", replace(examined(empty=one), cut=cut))[0].replace(PLACEHOLDER, "known")
    assert parse(text, "x").entries[0].ways == ("pops (not all cases were run)", one.way)
    for found in (replace(examined(empty=other), cut=cut), examined(empty=one), examined(empty=replace(one, others=(other,)))):
        assert lines(text, found) == []
    assert lines(text, examined(empty=replace(other, way="pops.again (a lambda)")))[-1].startswith("new: ")

    whole = updated("", examined(empty=replace(one, others=(other,))))[0].replace(PLACEHOLDER, "known")
    assert lines(whole, replace(examined(empty=one), cut=cut)) == []
    assert lines(whole, examined(empty=one))[0].startswith("fixed: ")
    for found in (Verdict.PASSED, INDEX):
        assert not [line for line in lines(whole, replace(examined(empty=found), cut=cut)) if line.startswith("fixed: ")]


AT = "KeyError ('mine.py', 7) ('mine.py', 7)"
TOGETHER = examined(
    empty=replace(KEY, raised_at=AT),
    count=replace(violation(COUNT, "len(queue)", cause="len raised KeyError", sequence=commands("push:1")), raised_at=AT),
    twice=violation(TWICE),
    level=Level.SHOULD,
)


def test_what_is_raised_at_one_line_is_one_entry_with_one_reason():
    text, changes = updated("", TOGETHER)
    assert changes == [f"added: {EMPTY} of mine (pop raised KeyError), and {COUNT} by the same line", f"added: {TWICE} of mine"]
    also = 'also = [\n    { rule = "queue.len.count", cause = "len raised KeyError", sequence = [["push", 0, 1]] },\n]\n'
    assert text.count(also) == 1
    assert text.count(PLACEHOLDER) == 2
    blank = f"unexplained: {EMPTY} of mine (pop raised KeyError) has no reason yet: replace {PLACEHOLDER!r} in known.toml"
    assert {*lines(text, TOGETHER)} == {blank, blank.replace(f"{EMPTY} of mine (pop raised KeyError)", f"{TWICE} of mine")}
    text = text.replace(PLACEHOLDER, "known")
    assert lines(text, TOGETHER) == []
    assert updated(text, TOGETHER) == (text, [])
    assert [entry.reason for entry in parse(text, "x").entries] == ["known"] * 3


def test_whatever_is_raised_at_one_line_is_one_entry():
    one, other = (replace(found, raised_at=AT) for found in (KEY, replace(INDEX, raised_at=AT.replace("Key", "Index"))))
    text, changes = updated("", examined(empty=replace(one, others=(other,)), level=Level.SHOULD))
    assert changes == [f"added: {EMPTY} of mine (pop raised KeyError), and in 1 more way by the same line"]
    assert text.count(PLACEHOLDER) == 1


def test_each_finding_of_an_entry_is_judged_by_itself():
    text = updated("", TOGETHER)[0].replace(PLACEHOLDER, "known")
    other = violation(COUNT, cause="len raised IndexError")
    (fixed, new) = lines(text, examined(empty=KEY, count=other, twice=violation(TWICE), level=Level.SHOULD))
    assert fixed.startswith(f"fixed: {COUNT} of mine (len raised KeyError) is not failing in this way any more")
    assert new.startswith(f"new: {COUNT} of mine fails in another way, too (len raised IndexError)")


@pytest.mark.parametrize(("fixed", "left"), [(EMPTY, COUNT), (COUNT, EMPTY)])
def test_what_is_fixed_leaves_the_others_of_its_entry(fixed, left):
    text = updated("", TOGETHER)[0].replace(PLACEHOLDER, "known")
    passed = {"verdict": Verdict.PASSED, "violation": None}
    found = replace(TOGETHER, verdicts=tuple(replace(v, **passed) if v.rule.id == fixed else v for v in TOGETHER.verdicts))
    text, changes = updated(text, found)
    assert [(entry.rule, entry.reason) for entry in parse(text, "x").known] == [(left, "known"), (TWICE, "known")]
    assert parse(text, "x").known[0].operations
    assert changes[0].startswith("removed: ")
    assert lines(text, found) == []
    assert updated(text, found) == (text, [])


def test_an_entry_without_a_cause_gets_none():
    text, changes = updated(ENTRY, examined(empty=BOTH))
    assert changes == [f"refreshed: {EMPTY} of mine, from 0 to 1 operations"]
    assert parse(text, "known.toml").entries[0].cause == ""


def test_the_seed_is_written_where_no_program_can_be_played_again():
    drawn, _ = updated("", examined(count=violation(COUNT), seed=5, examples=2000))
    assert drawn.endswith("]\nseed = 5\nexamples = 2000\n")
    text, _ = updated("", examined(count=violation(COUNT, sequence=commands("pop")), seed=5, examples=2000))
    assert "seed" not in text


@pytest.mark.parametrize(
    "text", ['"', "'", "\\", "\x00\x1b\x7f\x85\u2028", "é😀", "two\nlines\r\n", "\ud800", "'\"\\", '"' * 3, "'" * 3 + '"']
)
def test_any_text_can_be_written_and_read_back(text):
    written, _ = updated("", examined(empty=violation(EMPTY, f"queue.pop()  # {text}", actual=text)))
    (found,) = parse(written, "known.toml").entries
    assert found.actual == text.encode("utf-8", "backslashreplace").decode()
    written.encode("utf-8")


def test_an_unknown_rule_is_removed_with_its_reason_told():
    text, changes = updated(entry(rule='"no.such-rule"') + ENTRY, examined(empty=Verdict.BLOCKED))
    assert text == ENTRY
    assert changes == ["removed: no.such-rule of mine, no rule that is asked of it; its reason was: as the client does"]


def test_what_was_not_tested_is_not_removed():
    text = ENTRY + entry(implementation='"other"') + entry(implementation='"gone"', rule='"no.such"')
    for found in (examined(empty=Verdict.PASSED, whole=False), examined(empty=Verdict.NOT_COVERED)):
        assert updated(text, found, described=["mine"]) == (text, [])


def test_an_expired_entry_is_not_prolonged():
    text, changes = updated(entry(expires="2020-01-01", actual='"0"', expected='"None"'), examined(empty=FAILED))
    assert "expires = 2020-01-01" in text
    assert changes == [f"refreshed: {EMPTY} of mine, from 0 to 1 operations"]


def test_entries_that_are_written_inline_cannot_be_updated():
    text = f'known = [{{ implementation = "mine", rule = "{EMPTY}", reason = "x" }}]'
    with pytest.raises(BaselineError, match=r"known.toml: write each entry as a table of its own, \[\[known\]\]"):
        updated(text, examined(empty=FAILED))


def test_a_file_is_replaced_as_a_whole_and_keeps_its_mode(tmp_path):
    file, link = tmp_path / "known.toml", tmp_path / "link.toml"
    files.save("one", file)
    assert file.stat().st_mode & 0o777 == 0o666 & ~files._umask()
    file.chmod(0o640)
    link.symlink_to(file)
    files.save("two é", link)
    assert file.read_text("utf-8") == "two é"
    assert file.stat().st_mode & 0o777 == 0o640
    assert {path.name for path in tmp_path.iterdir()} == {"known.toml", "link.toml"}
    assert link.is_symlink()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="root alone can give a link to another user")
@pytest.mark.parametrize("write", [files.save, files.write_text])
@pytest.mark.parametrize("points", ["file", "pipe", "nothing"])
def test_a_link_that_another_user_has_planted_is_not_followed(tmp_path, write, points):
    place, link = tmp_path / "own", tmp_path / "shared" / "known.toml"
    link.parent.mkdir()
    link.parent.chmod(0o1777)
    link.symlink_to(place)
    if points == "file":
        place.write_text("one")
    if points == "pipe":
        os.mkfifo(place)
    os.lchown(link, 65534, 65534)
    with pytest.raises(OSError, match="another user made this link"):
        write("two", link)
    assert points != "file" or place.read_text() == "one"
    assert place.exists() == (points != "nothing")


def test_a_write_that_fails_leaves_the_file_as_it_was(tmp_path, monkeypatch):
    file = tmp_path / "known.toml"
    file.write_text("one")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space"):
        files.save("two", file)
    assert [path.name for path in tmp_path.iterdir()] == ["known.toml"]
    assert file.read_text() == "one"


@pytest.fixture
def update(tmp_path):
    """Begin a run that updates a baseline; return the function that ends it."""

    def begun(name):
        target = Target(name, "queue-class", name)
        gate = Gate(Options((target,), baseline=tmp_path / "known.toml", update_baseline=True), tmp_path)
        found = made_reports.implementation(name, failed=[EMPTY])
        return partial(gate.update, {name: True}, made_reports.report(found))

    return begun


def test_runs_that_update_one_baseline_side_by_side_lose_nothing(tmp_path, update):
    one, two = update("one"), update("two")
    one()
    assert f"added: {EMPTY} of two" in two()
    known = parse((tmp_path / "known.toml").read_text(), "known.toml")
    assert [entry.implementation for entry in known.entries] == ["one", "two"]


def test_an_update_waits_for_another_and_sweeps_up_what_a_killed_one_left(tmp_path, update):
    (tmp_path / ".known.toml-queue-conformance-x").write_text("half of")
    finished = threading.Event()
    with writing.alone(tmp_path / "known.toml"):
        other = threading.Thread(target=lambda: (update("one")(), finished.set()))
        other.start()
        assert not finished.wait(0.3)
    assert finished.wait(60)
    other.join()
    assert [path.name for path in tmp_path.iterdir()] == ["known.toml"]


def test_a_pipe_is_no_baseline(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BaselineError, match="pipe is no file"):
        read(tmp_path / "pipe", "pipe")


def test_an_empty_baseline_knows_nothing():
    assert Baseline("known.toml").why_known("mine", FAILED) == ""
    assert Baseline("known.toml").sequences("mine") == {}


# --- What is offered -------------------------------------------------------------------------------------------------

OFFERED = """\
# of the queue

[[offered]]  # as of today
implementation = "mine"
capabilities = ["FIFO", "persistent"]
"""
HEARD = frozenset({"fifo", "ordered", "persistent", "server"})


def offering(*names):
    return replace(examined(), offers=frozenset(names))


def test_what_is_lost_is_new():
    advice = "new: mine does not offer FIFO, persistent any more: repair it, or accept it with --conformance-update-baseline"
    assert lines(OFFERED, offering("peek")) == [advice]
    assert lines(OFFERED, offering("lifo", "ordered", "persistent"))[0].startswith("new: mine does not offer FIFO any more")


def test_what_is_still_there_or_was_not_found_out_is_right():
    assert lines(OFFERED, replace(examined(), offers=HEARD | {"peek"})) == []
    assert lines(OFFERED, examined()) == []


def test_an_update_writes_what_is_offered_and_accepts_what_is_lost():
    text, changes = updated("", replace(examined(), offers=HEARD))
    assert changes == ["added: what mine offers"]
    assert parse(text, "x").offered == {"mine": ("FIFO", "persistent")}
    text, changes = updated(OFFERED + entry(), offering("peek", "persistent"))
    assert changes[:2] == ["removed: FIFO, which mine does not offer any more", "added: peek, which mine offers"]
    assert text.startswith("# of the queue\n")
    assert parse(text, "x").offered == {"mine": ("peek", "persistent")}
    assert len(parse(text, "x").entries) == 1
    assert updated(OFFERED, replace(examined(), offers=HEARD)) == (OFFERED, [])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[[offered]]\nimplementation = "a"',
            "x: a table [[offered]] has the keys implementation and capabilities, and no other",
        ),
        ('[[offered]]\nimplementation = "a"\ncapabilities = 1', "x: a table [[offered]]: write a list of texts"),
        (OFFERED + OFFERED, "x: two tables [[offered]] are of mine; remove one of them"),
    ],
)
def test_what_is_offered_is_read_strictly(text, message):
    with pytest.raises(BaselineError) as caught:
        parse(text, "x")
    assert str(caught.value) == message


def test_a_name_that_nothing_bears_is_unknown_among_what_is_offered():
    (line,) = lines(OFFERED, described=["mime"])
    assert line.endswith(": nothing in pyproject.toml is called 'mine'; did you mean 'mime'?")
