"""``queue-conformance``, as its users meet it."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import write_mutants
from kit import FIFO_MEMORY, TESTS, Terminal, run_script
from made_reports import implementation

from mutants import PSYCOPG, QCRAWL
from queue_conformance import __main__ as commands
from queue_conformance.engine.verdicts import Verdict
from queue_conformance.kinds import DUPEFILTER
from queue_conformance.reports import Origin, Report, issue, jsonl, provenance
from queue_conformance.running.replay import LAST, telling
from queue_conformance.specification import Level, load, words
from queue_conformance.specification.explanation import mutants
from queue_conformance.specification.grounds import Basis

REPORTED = "AttributeError(\"'ClosesOnce' object has no attribute '_requests'\") raised by queue.close()"
HANGS = "still failing: it hangs: Timeout (0:00:00.100000)!"
LONG = f"still failing: AssertionError: queue{'x' * 158}...{'x' * 115}end"
MUST = "mutants.memory.PeeksAtTheNewest"
SHOULD = "mutants.memory.ClosesOnce"
PROGRAM = "queue-conformance"


@pytest.fixture
def run(capsys):
    """Run a command in this process; return its exit status, and the lines of its output and of its errors."""

    def run(*arguments):
        status = commands.main([*map(str, arguments)])
        out, err = capsys.readouterr()
        return status, out.splitlines(), err.splitlines()

    return run


@pytest.fixture
def wrong(run):
    """Run a command that is wrong; return the one line that says so."""

    def wrong(*arguments):
        status, out, errors = run(*arguments)
        assert (status, out, len(errors)) == (2, [], 1)
        assert errors[0].startswith(f"{PROGRAM}: ")
        return errors[0].removeprefix(f"{PROGRAM}: ")

    return wrong


def started(*arguments, **others):
    """Run a command in a process of its own."""
    paths = (TESTS.parent, TESTS.parent / "reference", TESTS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "-m", "queue_conformance", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, **others)


@pytest.fixture(scope="module")
def found(recorded):
    return {path: recorded(path) for path in (FIFO_MEMORY, MUST, SHOULD)}


@pytest.fixture
def written(found, tmp_path):
    """Write a report on implementations to a file, and return its path."""

    def written(*paths, name="report.jsonl", changes=None, **others):
        file = tmp_path / name
        implementations = tuple(replace(found[path], **(changes or {})) for path in paths)
        file.write_text(jsonl.render(Report(implementations, **others)), "utf-8")
        return file

    return written


# --- rules -----------------------------------------------------------------------------------------------------------


def test_all_rules_are_listed_one_per_line(run):
    status, lines, _ = run("rules")
    assert status == 0
    rules = [*load().values()]
    assert len(lines) == len(rules)
    for line, rule in zip(lines, rules, strict=True):
        assert line.split(maxsplit=2) == [rule.id, rule.level, rule.sentence]
    assert len({line.index(rule.sentence) for line, rule in zip(lines, rules, strict=True)}) == 1


def listed(run, *arguments):
    return [load()[line.split()[0]] for line in run("rules", *arguments)[1]]


def test_rules_are_filtered(run):
    rules = listed(run, "--kind=dupefilter", "--level=should")
    assert rules
    assert rules == [rule for rule in load().values() if DUPEFILTER in rule.kinds and rule.level is Level.SHOULD]
    assert {rule.level for rule in listed(run, "--level=MAY", "--level=SHOULD")} == {Level.MAY, Level.SHOULD}
    assert all("qcrawl" in rule.profiles for rule in listed(run, "--profile", "qcrawl"))


def test_rules_are_searched(run):
    rules = listed(run, "--search", "TransientError")
    assert 0 < len(rules) < len(load())
    for rule in rules:
        assert "transienterror" in f"{rule}".lower()


@pytest.mark.parametrize("pattern", ["queue.push", "queue.push.*", "queue.pus?.*"])
def test_rules_are_named_by_patterns(run, pattern):
    assert [rule.id for rule in listed(run, pattern)] == [name for name in load() if name.startswith("queue.push.")]


def test_rules_are_written_as_json(run):
    _, lines, _ = run("rules", "queue.pop.fifo", "--format=json")
    (rule,) = json.loads("\n".join(lines))
    assert (rule["id"], rule["level"], rule["needs"]) == ("queue.pop.fifo", "MUST", ["fifo"])
    assert rule["kinds"] == ["downstream-queue", "byte-queue"]
    assert {"name": "memory.ClaimsToBeFifo", "sentence": "It is LIFO, and its author claims FIFO."} in rule["mutants"]


@pytest.mark.parametrize("columns", [60, 90, 200])
def test_rules_are_wrapped_to_the_terminal(run, monkeypatch, columns):
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", str(columns))
    _, lines, _ = run("rules", "queue.*")
    assert max(map(len, lines)) <= columns
    text = " ".join(" ".join(lines).split())
    assert load()["queue.pop.fifo"].sentence in text


# --- explain ---------------------------------------------------------------------------------------------------------


def test_a_rule_is_explained(run):
    status, lines, _ = run("explain", "queue.pop.fifo")
    assert status == 0
    assert lines[:2] == ["queue.pop.fifo  MUST", "  A queue declared FIFO pops in push order."]
    assert "  asked of  downstream queues and byte queues" in lines
    assert "  profiles  external-queue, scrapy, queuelib" in lines
    assert "  if        its order is FIFO" in lines
    assert "            memory.ClaimsToBeFifo: It is LIFO, and its author claims FIFO." in lines


def test_what_a_rule_says_of_itself_is_told(run, monkeypatch):
    rule = replace(load()["queue.pop.fifo"], why="Otherwise it is late.", how="Pushes and pops.", since={"scrapy": "2.19"})
    rule = replace(rule, unless=frozenset({"shared", "crash-safe"}))
    monkeypatch.setattr("queue_conformance.commands.load", lambda: {rule.id: rule})
    _, lines, _ = run("explain", rule.id)
    assert "  why       Otherwise it is late." in lines
    assert "  tested    Pushes and pops." in lines
    assert "  since     Scrapy 2.19" in lines
    text = " ".join(" ".join(lines).split())
    assert "unless it is claimed that what it holds survives the death of the process or it is claimed that several" in text


def test_why_a_rule_is_not_tested_is_told(run):
    _, lines, _ = run("explain", "queue.persist.power-loss")
    assert any(line.startswith("  tested    not at all, it is untestable: needs faults of the block device") for line in lines)


def test_what_a_rule_is_good_for_is_said_once(run):
    _, lines, _ = run("explain", "queue.pop.roundtrip")
    assert " ".join(" ".join(lines).split()).count("A request that lost a header") == 1


def test_every_rule_can_be_explained(run):
    status, lines, _ = run("explain", "*")
    assert status == 0
    assert {line.split()[0] for line in lines if line and not line.startswith(" ")} == load().keys()
    assert max(map(len, lines)) < 130


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["explain", "queue.pop.fif"],
            "there is no rule 'queue.pop.fif'; did you mean 'queue.pop.fifo'? (queue-conformance rules lists all)",
        ),
        (
            ["rules", "queue.pek"],
            "there is no rule 'queue.pek'; did you mean 'queue.peek' or 'queue.peek.optional' or 'queue.peek.equals-pop'? "
            "(queue-conformance rules lists all)",
        ),
        *(
            (["explain", word], f"there is no rule {word!r} (queue-conformance rules lists all)")
            for word in ("kafka", "queue.banana", "queue.foo.bar", "robots.txt")
        ),
        (["rules", "nothing.*"], "there is no rule 'nothing.*' (queue-conformance rules lists all)"),
        (["rules", "--search=no such text"], "no rule is like that; leave one of the conditions out"),
        (["rules", "--level=OUGHT"], "rules: --level: write one of MUST, SHOULD, MAY, not 'OUGHT' (see --help)"),
        (["rules", "--colour"], "unrecognized arguments: --colour (see --help)"),
        (["explain"], "explain: the following arguments are required: RULE (see --help)"),
        ([], "the following arguments are required: a command (see --help)"),
    ],
)
def test_a_wrong_command_is_one_line(wrong, arguments, message):
    assert wrong(*arguments) == message


def test_every_library_has_words():
    assert {library for rule in load().values() for library in rule.since} <= words.LIBRARIES.keys()


def test_rules_are_looked_up_without_what_runs_need():
    sequence = (
        "import sys; from queue_conformance.__main__ import main; main(['rules']); main(['explain', 'queue.pop.fifo']); "
        "print(*sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", sequence], capture_output=True, text=True, check=True, cwd=TESTS.parent)
    loaded = {name.partition(".")[0] for name in ended.stdout.splitlines()[-1].split()}
    assert "queue_conformance" in loaded
    assert not loaded & {"scrapy", "twisted", "hypothesis", "pytest", "queuelib"}


@pytest.mark.skipif(not (QCRAWL and PSYCOPG), reason="a part of the mutants needs qCrawl, or psycopg")
def test_the_installed_copy_of_the_mutants_is_up_to_date():
    assert write_mutants.FILE.read_text("utf-8") == write_mutants.rendered(), "make parts"


def test_every_rule_that_is_tested_names_what_it_catches():
    assert mutants().keys() == {name for name, rule in load().items() if rule.tested}


# --- compare ---------------------------------------------------------------------------------------------------------


def test_two_reports_are_compared(run, written):
    old, new = written(FIFO_MEMORY, name="old.jsonl"), written(MUST, name="new.jsonl")
    status, lines, _ = run("compare", old, new)
    assert status == 1
    assert lines[0].startswith(f"old  {old}  ")
    assert "  verdict: CONFORMANT -> NON-CONFORMANT" in lines
    assert run("compare", old, old)[0] == 0
    assert run("compare", new, old)[0] == 0


def test_what_was_blocked_and_fails_now_is_not_worse(run, found, written):
    blocked = {"verdict": Verdict.BLOCKED, "reason": "blocked by queue.len.count", "violation": None}
    verdicts = [replace(verdict, **blocked) if verdict.violation else verdict for verdict in found[MUST].verdicts]
    old = written(MUST, name="old.jsonl", changes={"verdicts": tuple(verdicts)})
    status, lines, errors = run("compare", old, written(MUST, name="new.jsonl"))
    assert (status, errors) == (0, [])
    assert lines[-1] == "nothing is worse; newly seen: 1 failed rule that nothing tested before"


def test_a_file_that_is_no_report_is_one_line(wrong, written, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    assert wrong("compare", tmp_path / "a.txt", tmp_path / "b") == (
        f"{tmp_path / 'a.txt'}: no report of JSON lines: give the .jsonl file that --conformance-report wrote"
    )
    assert wrong("compare", written(MUST), tmp_path / "b") == f"{tmp_path / 'b'}: No such file or directory"


# --- report ----------------------------------------------------------------------------------------------------------


def test_a_report_is_written_in_other_forms(run, written, tmp_path):
    file = written(MUST)
    status, lines, _ = run("report", file, "-o", tmp_path / "a.xml", "-o", tmp_path / "a.md", "-o", tmp_path / "a.jsonl")
    assert (status, lines) == (0, [])
    assert "<testsuites" in (tmp_path / "a.xml").read_text()
    assert (tmp_path / "a.md").read_text().startswith("## Queue conformance")
    assert (tmp_path / "a.jsonl").read_text() == file.read_text()


def test_without_a_file_a_report_is_shown(run, written):
    lines = run("report", written(MUST))[1]
    assert "  verdict: NON-CONFORMANT (1 MUST rule failed)" in lines
    assert len(run("report", written(MUST), "--verbose")[1]) > len(lines)


def test_several_reports_become_one(run, written, tmp_path):
    one = written(FIFO_MEMORY, name="1.jsonl", errors=("no a",), origin=Origin(created="2030-01-02T00:00:00+00:00"))
    two = written(MUST, name="2.jsonl", errors=("no a", "no b"), origin=Origin(created="2030-01-01T00:00:00+00:00"))
    assert run("report", one, two, "-o", tmp_path / "both.jsonl")[0] == 0
    both = jsonl.read(tmp_path / "both.jsonl")
    assert [implementation.name for implementation in both.implementations] == [FIFO_MEMORY, MUST]
    assert both.errors == ("no a", "no b")
    assert both.origin.created == "2030-01-01T00:00:00+00:00"


def test_reports_that_do_not_belong_together_are_refused(wrong, written):
    one, two = written(FIFO_MEMORY, name="1.jsonl"), written(MUST, name="2.jsonl", origin=Origin(seed=7))
    assert wrong("report", one, two) == "report: the reports do not belong together: seed is 0 here and 7 there"
    assert wrong("report", one, one) == f"report: {FIFO_MEMORY} is in two of the reports; matrix and compare show both"


def test_a_form_that_does_not_exist_is_one_line(wrong, written):
    assert wrong("report", written(MUST), "-o", "a.docx").startswith("report -o a.docx: write the name of a file that ends in .")


def test_a_file_that_cannot_be_written_is_one_line(wrong, written, tmp_path):
    first, file = tmp_path / "first.md", tmp_path / "no" / "a.md"
    assert wrong("report", written(MUST), "-o", first, "-o", file) == f"report: --output: there is no directory for '{file}'"
    assert not first.exists()
    page = file.with_suffix(".html")
    assert wrong("matrix", written(MUST), "-o", page) == f"matrix: --output: there is no directory for '{page}'"


# --- matrix ----------------------------------------------------------------------------------------------------------


def test_a_matrix_is_written(run, written, tmp_path, monkeypatch):
    names = lambda reports: ",".join(found.name for report in reports for found in report.implementations)  # noqa: E731
    monkeypatch.setattr("queue_conformance.reports.matrix.render", names)
    monkeypatch.chdir(tmp_path)
    one, two = written(FIFO_MEMORY, name="1.jsonl"), written(MUST, name="2.jsonl")
    assert run("matrix", one, two) == (0, ["matrix.html is written"], [])
    assert (tmp_path / "matrix.html").read_text() == f"{FIFO_MEMORY},{MUST}"
    assert run("matrix", one, "-o", "other.html") == (0, [], [])
    run("matrix", two, "-o", "other.html")
    assert (tmp_path / "other.html").read_text() == MUST


# --- issue -----------------------------------------------------------------------------------------------------------


def test_a_broken_rule_becomes_an_issue(run, written, tmp_path):
    status, lines, _ = run("issue", written(SHOULD), "queue.close.twice")
    assert status == 0
    assert lines[0].startswith("# ClosesOnce: AttributeError(\"'ClosesOnce' object has no attribute ")
    assert "A second `close()` neither raises nor alters stored data. " in lines[2]
    assert "The promise" not in lines[2]  # nobody makes one
    begin, end = lines.index("```python"), lines.index("```")
    assert run_script("\n".join(lines[begin + 1 : end]), tmp_path).returncode == 1
    assert sum("pytest-queue-conformance" in line for line in lines) == 1


def test_the_title_of_an_issue_says_what_comes_instead():
    made = implementation(failed=["queue.close.twice"])
    (failed,) = [verdict for verdict in made.verdicts if verdict.violation]
    seen = replace(failed.violation, expected="the request that was pushed, " * 9, actual="None from queue.pop()")
    title = issue.render(made, replace(failed, violation=seen), Origin()).splitlines()[0]
    assert "expected the request that was pushed, the request" in title
    assert title.endswith("..., got None from queue.pop()")


QUOTED = "queue.peek.no-effect"
"""A rule whose source names the words that it quotes."""


def test_an_issue_speaks_of_a_promise_where_a_document_makes_one():
    made = implementation(failed=["queue.ctor.from-crawler", QUOTED, "queue.close.twice"])
    texts = {v.rule.id: issue.render(made, v, Origin()) for v in made.verdicts if v.violation}
    for rule in (load()["queue.ctor.from-crawler"], load()[QUOTED]):
        assert rule.basis is Basis.WORDS
        assert texts[rule.id].replace("\\", "").count(f"«{rule.quote}»") == 1
    assert load()["queue.close.twice"].why in texts["queue.close.twice"]


def test_the_last_run_needs_no_file(run, wrong, written, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    message = "no run is in the cache here; name a report, which --conformance-report=FILE.jsonl writes"
    assert wrong("issue", "queue.close.twice") == f"issue: {message}"
    assert wrong("replay", "queue.close.twice") == f"replay: {message}"
    (tmp_path / LAST).parent.mkdir(parents=True)
    (tmp_path / LAST).write_bytes(written(SHOULD).read_bytes())
    assert run("issue", "queue.close.twice") == run("issue", written(SHOULD), "queue.close.twice")
    assert wrong("issue", "queue.len.count").endswith("is not failing in the report but passed; there is nothing to report")


def test_a_report_and_a_rule_may_stand_in_either_order(run, wrong, written):
    file = written(SHOULD)
    assert run("issue", "queue.close.twice", file) == run("issue", file, "queue.close.twice")
    message = f"replay: {file} is a file; name the rule behind it, as queue-conformance replay {file} RULE"
    assert wrong("replay", file) == message


# --- replay ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def path(monkeypatch):
    """Let scripts import the mutants."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(map(str, (TESTS, TESTS.parent / "reference", TESTS.parent))))


@pytest.mark.usefixtures("path")
def test_a_broken_rule_is_replayed(run, written):
    file = written(SHOULD)
    status, lines, said = run("replay", file, "queue.close.twice", "--yes")
    assert (status, len(said)) == (1, 1)
    assert said[0].startswith("running ")
    assert said[0].endswith(f" of queue.close.twice in {file}, with modules from {Path.cwd()}")
    assert lines[0] == "Traceback (most recent call last):"
    raised = "AttributeError: 'ClosesOnce' object has no attribute '_requests'"
    assert lines[-2:] == [raised, f"queue.close.twice ({SHOULD}): still failing: {raised}"]


def test_a_script_tells_both_values_and_stays_as_it_was(run, found, tmp_path):
    script = "x = 'é'\nassert x == 'e'\n"
    _, lines, _ = run("replay", with_script(found, tmp_path, script), "queue.close.twice", "--yes")
    assert "    assert x == 'e'" in lines
    assert "AssertionError: 'é' == 'e'" in lines
    assert not any("_left" in line for line in lines)


@pytest.mark.parametrize("script", ["assert (1) == 2", "assert 1 ==  2", "assert 1 < 2 < 3", "assert 1 == (\n2)", "assert ("])
def test_an_assertion_that_is_written_otherwise_is_left_alone(script):
    assert telling(script) == script


def test_a_rule_that_was_fixed_is_not_broken_any_more(run, found, tmp_path, monkeypatch):
    (verdict,) = [verdict for verdict in found[SHOULD].verdicts if verdict.violation]
    script = verdict.violation.script.replace("from mutants.memory import", "from mine import")
    fixed = replace(verdict, violation=replace(verdict.violation, script=script, others=()))
    file = tmp_path / "report.jsonl"
    file.write_text(jsonl.render(Report((replace(found[SHOULD], verdicts=(fixed,)),))))
    monkeypatch.chdir(tmp_path)  # what is in the current directory needs no installation
    (tmp_path / "mine.py").write_text(
        "from queue_reference.memory import FifoMemoryQueue\nclass ClosesOnce(FifoMemoryQueue): pass"
    )
    monkeypatch.setenv("PYTHONPATH", str(TESTS.parent / "reference"))
    status, lines, _ = run("replay", file, "queue.close.twice", "--yes")
    assert (status, lines) == (0, [f"queue.close.twice ({SHOULD}): not failing any more: the script ended without an error"])
    assert {path.name for path in tmp_path.iterdir()} <= {"mine.py", "report.jsonl", "__pycache__"}


def with_script(found, tmp_path, *scripts):
    """Write a report on implementations that broke a rule, with these scripts."""
    (verdict,) = [verdict for verdict in found[SHOULD].verdicts if verdict.violation]
    implementations = tuple(
        replace(
            found[SHOULD],
            name=f"n{index}",
            verdicts=(replace(verdict, violation=replace(verdict.violation, script=script, others=())),),
        )
        for index, script in enumerate(scripts)
    )
    file = tmp_path / "report.jsonl"
    file.write_text(jsonl.render(Report(implementations)))
    return file


@pytest.mark.parametrize(
    ("script", "status", "line"),
    [
        ("print('fine')", 0, "not failing any more: the script ended without an error"),
        ("assert 1 == 2, 'not\\nequal'", 1, "still failing: AssertionError: not"),
        ("import faulthandler, time\nfaulthandler.dump_traceback_later(0.1, exit=True)\ntime.sleep(9)", 1, HANGS),
        ("import sys; sys.exit(3)", 2, "fails differently: the script ended with status 3"),
        ("import os; os.kill(os.getpid(), 11)", 2, "fails differently: the script was ended by SIGSEGV"),
        ("import time; time.sleep(60)", 2, "fails differently: the script did not end within 0.5 s"),
        (
            "'faulthandler.dump_traceback_later(5)'; import time; time.sleep(60)",
            1,
            "still failing: the script did not end within 0.5 s",
        ),
        ("1 / 0", 2, f"fails differently: ZeroDivisionError: division by zero; what was reported is: {REPORTED}"),
        ("None.close()", 1, "still failing: AttributeError: 'NoneType' object has no attribute 'close'"),
        (
            "None.push(1)",
            2,
            f"fails differently: AttributeError: 'NoneType' object has no attribute 'push'; what was reported is: {REPORTED}",
        ),
        ("assert False, 'queue' + 'x' * 600 + 'end'", 1, LONG),
        ("def check(): assert False\ncheck()", 1, "still failing: AssertionError"),
        ("x = [1]\nassert len(x) == 2", 1, "still failing: AssertionError: 1 == 2"),
        ("def check(x): assert x is not None  # 'é'\ncheck(None)", 1, "still failing: AssertionError: None is not None"),
        ("assert 'é' in ['a', 'b'] and 1", 1, "still failing: AssertionError"),
        (
            "import json.tool, ast\nast.literal_eval(5)",
            2,
            f"fails differently: ValueError: malformed node or string: 5; what was reported is: {REPORTED}",
        ),
        (
            "raise ExceptionGroup('a', [AttributeError('b')])",
            2,
            f"fails differently: ExceptionGroup: a (1 sub-exception); what was reported is: {REPORTED}",
        ),
        ("import os, time; os.fork() or time.sleep(60)", 0, "not failing any more: the script ended without an error"),
    ],
)
def test_how_a_script_ends_says_whether_its_rule_is_broken(run, found, tmp_path, script, status, line):
    limit = 0.5 if "time.sleep(60)" in script and "fork" not in script else 30
    file = with_script(found, tmp_path, script)
    found_status, lines, said = run("replay", file, "queue.close.twice", "--yes", "--time-limit", limit)
    assert (found_status, (said[1:] or lines)[-1]) == (status, f"queue.close.twice (n0): {line}")


def test_all_that_broke_a_rule_are_replayed_or_the_one_that_is_named(run, found, tmp_path):
    file = with_script(found, tmp_path, "assert False", "print(1)")
    status, lines, _ = run("replay", file, "queue.close.twice", "--yes")
    assert status == 1
    assert [line.partition(": ")[0] for line in lines if "queue.close.twice (n" in line] == [
        "queue.close.twice (n0)",
        "queue.close.twice (n1)",
    ]
    status, lines, _ = run("replay", file, "queue.close.twice", "--implementation=n1", "--yes")
    assert (status, lines[0]) == (0, "1")


def test_a_script_is_printed_instead(run, written, found):
    (verdict,) = [verdict for verdict in found[SHOULD].verdicts if verdict.violation]
    status, lines, _ = run("replay", written(SHOULD), "queue.close.twice", "--print")
    assert (status, "\n".join(lines).strip()) == (0, verdict.violation.script.strip())


def test_a_class_that_cannot_be_imported_is_no_broken_rule(run, found, tmp_path):
    status, _, errors = run("replay", with_script(found, tmp_path, "import nowhere"), "queue.close.twice", "--yes")
    assert (status, errors[1:]) == (
        2,
        [
            "queue.close.twice (n0): could not be replayed: ModuleNotFoundError: No module named 'nowhere'; "
            "run this where it can be imported"
        ],
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["queue.pop.fif"], "replay: the report has no rule 'queue.pop.fif'; did you mean 'queue.pop.fifo'?"),
        (["claims.true"], "replay: claims.true is not failing in the report but not applicable; there is nothing to replay"),
        (["queue.len.count"], "replay: queue.len.count is not failing in the report but passed; there is nothing to replay"),
        (
            ["queue.close.twice", "--implementation=mutants.memory.ClosesTwice"],
            "replay: the report has no implementation 'mutants.memory.ClosesTwice'; did you mean 'mutants.memory.ClosesOnce'?",
        ),
        (
            ["queue.close.twice", "--time-limit=0"],
            "replay: --time-limit: write a number of seconds above 0, not '0' (see --help)",
        ),
        (
            ["queue.close.twice", "--print", "--other=-1"],
            "replay: --other: write a whole number, 0 or more, not '-1' (see --help)",
        ),
        (
            ["queue.close.twice", "--print", "--other=9"],
            "replay: --other: write a whole number from 0 to 1 for mutants.memory.ClosesOnce, not 9",
        ),
        (["queue.close.twice", "--other=1"], "replay: --other says which script --print prints; give --print with it"),
        (
            ["queue.close.twice", "--conformance-allow=redis://x"],
            "replay: --conformance-allow: write HOST:PORT, or the path of a file or a socket, not 'redis://x'",
        ),
    ],
)
def test_a_rule_that_cannot_be_replayed_is_one_line(wrong, written, arguments, message):
    assert wrong("replay", written(SHOULD), *arguments).startswith(message)


def test_a_hidden_secret_is_no_broken_rule(run, found, tmp_path):
    file = with_script(found, tmp_path, "open_queue('redis://:***@localhost')")
    provenance.remember(jsonl.read(file))
    _, _, errors = run("replay", file, "queue.close.twice")
    assert errors[1:] == [
        f"{PROGRAM}: replay queue.close.twice (n0): its script holds *** where a secret was; "
        "print it with --print, put the secret in, and run it with python"
    ]


LEAVES_A_FILE = "open({!r}, 'w').close()"


def test_a_script_that_no_run_here_has_made_is_run_only_if_somebody_agrees(run, wrong, found, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    ran = tmp_path / "ran"
    file = with_script(found, tmp_path, LEAVES_A_FILE.format(str(ran)))
    command = ("replay", file, "queue.close.twice", "--conformance-allow", ran)
    what = f"run the script of queue.close.twice in {file}, with modules from {Path.cwd()}"
    stranger = "no run of yours on this machine made it"
    assert wrong(*command) == f"replay would {what}; {stranger}: look with --print, then add --yes"
    for answer, status in (("\n", 2), ("", 2), ("yes\n", 0)):
        assert not ran.exists()
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        found_status, _, errors = run(*command)
        assert (found_status, errors[0].startswith(f"{what}? {stranger}")) == (status, True)
    assert ran.exists()


def test_a_script_that_a_run_here_has_made_is_run_wherever_its_report_lies_by_now(run, wrong, found, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    provenance.remember(jsonl.read(with_script(found, tmp_path, "assert False", "'of none'")))
    provenance.remember(jsonl.read(with_script(found, tmp_path, "assert False")))
    status, _, errors = run("replay", with_script(found, tmp_path, "assert False"), "queue.close.twice")
    assert (status, len(errors)) == (1, 1)
    assert "2 scripts" in wrong("replay", with_script(found, tmp_path, "assert False", "assert False #"), "queue.close.twice")


@pytest.mark.parametrize("state", ["here", "nowhere", None])
def test_what_a_report_brings_along_makes_it_no_report_of_a_run_here(wrong, found, tmp_path, monkeypatch, state):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    file = with_script(found, tmp_path, "print(1)")
    provenance.remember(jsonl.read(file))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "queue-conformance").rename(tmp_path / "here")
    monkeypatch.setenv("HOME", "" if state is None else "/dev/null")
    monkeypatch.setenv("XDG_STATE_HOME", state or "")
    provenance.remember(jsonl.read(file))  # which is kept nowhere
    why = wrong("replay", file, "queue.close.twice")
    nowhere = "$XDG_STATE_HOME" if state is None else "/dev/null/.local/state/queue-conformance/scripts"
    assert f"no run of yours on this machine made it, or none could note so in {nowhere}: look" in why


def test_old_scripts_are_forgotten(found, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setattr(provenance, "MOST", 2)
    for number in range(9):
        provenance.remember(jsonl.read(with_script(found, tmp_path, f"assert {number}")))
    assert len((tmp_path / "queue-conformance" / "scripts").read_text().split()) <= 5


def test_a_terminal_is_shown_what_a_script_holds_and_not_told_to_do_it(found, tmp_path, monkeypatch, capsys):
    file = with_script(found, tmp_path, "bad()\r# \x1b[2K fine")
    for terminal, shown in ((False, "bad()\r# \x1b[2K fine\n"), (True, "bad()\\r# \\x1b[2K fine\n")):
        monkeypatch.setattr(sys.stdout, "isatty", lambda terminal=terminal: terminal)
        assert commands.main(["replay", str(file), "queue.close.twice", "--print"]) == 0
        assert capsys.readouterr().out == shown


def test_a_terminal_is_shown_no_word_of_a_replay_in_two_parts(run, found, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    file = with_script(found, tmp_path, "raise OSError('no room ' * 9)")
    for command in (("replay", file, "queue.close.twice", "--yes"), ("issue", file, "queue.close.twic")):
        status, _, said = run(*command)
        assert status == 2
        assert all(len(line) <= 60 or " " not in line.strip() for line in said)
        assert len(said) > 1


# --- The command line ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [(), ("rules",), ("explain",), ("compare",), ("matrix",), ("replay",), ("report",), ("keep",), ("kept",)]
)
def test_every_command_has_a_help(capsys, arguments):
    with pytest.raises(SystemExit) as caught:
        commands.main([*arguments, "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: {' '.join([PROGRAM, *arguments])} [-h]")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("keep", "kept", "--queue-class="), "keep: '' is not the dotted path of a class"),
        (("keep", "kept", "--queue-class=scrapy.Nothing"), "keep: scrapy has no class 'Nothing'"),
        (("campaign", "--hours=0"), "campaign: --hours: write a number of hours above 0, not '0'"),
        (("campaign", "--hours=1", "--cluster="), "campaign: --cluster: write tcp://HOST:PORT, or tls://HOST:PORT, not ''"),
        (
            ("campaign", "--hours=1", "--cluster=here"),
            "campaign: --cluster: write tcp://HOST:PORT, or tls://HOST:PORT, not 'here'",
        ),
        (
            ("campaign", "my.Queue"),
            "campaign: CLASS: a campaign reads pyproject.toml alone: name my.Queue below [tool.queue_conformance] there, as",
        ),
        (
            ("campaign", "--hours=1", "--queue-class=my.Queue"),
            'campaign: --queue-class: a campaign reads pyproject.toml alone: write queue-class = "my.Queue" below [',
        ),
        (("campaign", "--conformance-campaign=1h"), "campaign: --conformance-campaign: write --hours or --minutes here"),
        (("campaign", "--conformance-only", "mine"), "campaign: --conformance-only: write --only here"),
        (("campaign", "--conformance-campaign-workers=2"), "campaign: --conformance-campaign-workers: write --workers here"),
        (("compare", "", "new.jsonl"), "compare: OLD: write the name of a file, not ''"),
        (
            ("matrix", "run.jsonl", "-o", "page.txt"),
            "matrix: --output: write the name of a file that ends in .html, not 'page.txt'",
        ),
        (("measure", "scrapy.squeues.FifoMemoryQueue", "--output=no/growth.svg"), "measure: --output: there is no directory for"),
    ],
)
def test_a_wrong_argument_is_one_line_before_anything_is_done(wrong, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert wrong(*arguments).startswith(message)
    assert list(tmp_path.iterdir()) == []


def test_it_is_run_as_a_module():
    ended = started("explain", "queue.pop.fifo")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.startswith("queue.pop.fifo  MUST\n")
    assert started("explain", "no").returncode == 2


def test_a_reader_that_goes_away_is_no_error():
    paths = os.pathsep.join(map(str, (TESTS.parent, TESTS)))
    command = f"{sys.executable} -m queue_conformance rules --format=json | head -n 1"
    ended = subprocess.run(
        command, shell=True, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, timeout=60
    )
    assert (ended.stdout, ended.stderr) == ("[\n", "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_an_output_that_cannot_be_written_is_one_line():
    paths = os.pathsep.join(map(str, (TESTS.parent, TESTS)))
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "queue_conformance", "explain", "queue.pop.fifo"]
        ended = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": paths}, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60
        )
    assert (ended.returncode, ended.stderr) == (2, f"{PROGRAM}: cannot write the output: No space left on device\n")


def test_the_current_directory_needs_no_package(tmp_path):
    assert started("rules", "queue.pop", cwd=tmp_path).returncode == 0
    assert list(Path(tmp_path).iterdir()) == []


def test_streams_that_a_shell_has_closed_and_a_directory_that_is_gone_are_one_line_at_most(tmp_path):
    program = f"{sys.executable} -m queue_conformance"
    command = f"{program} rules queue.pop.fifo >&-; {program} rules >&- 2>&-; rmdir ../gone; {program} replay queue.pop.fifo"
    paths = os.pathsep.join(map(str, (TESTS.parent, TESTS)))
    (directory := tmp_path / "gone").mkdir()
    environment = {**os.environ, "PYTHONPATH": paths}
    ended = subprocess.run(command, shell=True, env=environment, cwd=directory, capture_output=True, text=True, timeout=120)
    line = f"{PROGRAM}: the directory in which this runs is gone: go to one that is there\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", line)
