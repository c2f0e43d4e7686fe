"""A baseline in whole runs: what is known does not fail them, and what is not so any more does."""

import json
import os

import pytest

from queue_conformance.baseline import PLACEHOLDER, parse

RIGHT = "from queue_reference.memory import FifoMemoryQueue\nclass Queue(FifoMemoryQueue):\n"
PEEK = "    def peek(self):\n        return super().peek() or 0\n"
COUNT = "    def __len__(self):\n        return min(super().__len__(), 3)\n"
CLOSE = """\
    closed = False
    def close(self):
        if self.closed:
            raise ValueError
        self.closed = True
"""
RULES = {"queue.peek.empty-none": PEEK, "queue.len.count": COUNT, "queue.close.twice": CLOSE}
"""Three rules, and the lines of a queue that break each."""
HOW = ("peek: not None", "len: too low", "close raised ValueError")
FINDINGS = [f"{rule} of mine.Queue ({cause})" for rule, cause in zip(RULES, HOW, strict=True)]


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest on a queue with a baseline, which breaks every rule of ``RULES`` at first."""
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # a module that changes within a second must be read again
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    repair(pytester)

    def run(*arguments, queues=("--queue-class=mine.Queue", "--conformance-level=SHOULD")):
        arguments = ("--conformance-baseline=known.toml", *queues, *arguments)
        return pytester.runpytest_subprocess(
            "-p", "no:randomly", "-p", "no:cacheprovider", "--conformance-examples=20", *arguments
        )

    return run


def repair(pytester, *repaired):
    """Write the queue again, so that it keeps some rules."""
    pytester.makepyfile(mine=RIGHT + "".join(lines for rule, lines in RULES.items() if rule not in repaired) + "    pass\n")


def baseline(pytester):
    return parse((pytester.path / "known.toml").read_text("utf-8"), "known.toml")


def explain(pytester, *further):
    """Replace the placeholders in the baseline by reasons; add lines to the first entry."""
    file = pytester.path / "known.toml"
    text = file.read_text("utf-8").replace(PLACEHOLDER, "as the client does")
    file.write_text(text.replace('does"\n', "".join(['does"\n', *(f"{line}\n" for line in further)]), 1), "utf-8")


def said(result, word="baseline: "):
    return [line.removeprefix(word) for line in result.outlines if line.startswith(word)]


@pytest.mark.further
def test_from_the_first_red_run_to_green_and_on(run, pytester):
    first = run(queues=("--queue-class=mine.Queue", "--conformance-level=SHOULD", "--conformance-update-baseline"))
    assert first.ret == 0
    assert said(first) == [
        *(f"added: {finding}" for finding in FINDINGS),
        "added: what mine.Queue offers",
        f"3 entries have no reason yet, which fails the next run: replace {PLACEHOLDER!r} in known.toml",
    ]
    assert "FAILURES" not in first.stdout.str()

    blank = run("-n", "2", "--conformance-report=report.jsonl")
    assert blank.ret == 1
    unexplained = [f"unexplained: {finding} has no reason yet: replace {PLACEHOLDER!r} in known.toml" for finding in FINDINGS]
    assert said(blank) == unexplained
    records = [json.loads(line) for line in (pytester.path / "report.jsonl").read_text("utf-8").splitlines()]
    assert [record["message"] for record in records if record["type"] == "gate"] == unexplained
    assert {record["rule"]: record["known"] for record in records if "known" in record} == dict.fromkeys(RULES, PLACEHOLDER)

    explain(pytester, 'issue = "https://example.com/1"', "expires = 2999-01-01")
    green = run("-v", "--junitxml=junit.xml")
    assert green.ret == 0
    xml = (pytester.path / "junit.xml").read_text("utf-8")
    assert '<skipped type="pytest.xfail" message="queue.len.count: as the client does"' in xml
    assert 'failures="0"' in xml
    assert said(green) == []
    green.stdout.re_match_lines(
        [
            r"mine\.Queue::queue\.peek\.empty-none KNOWN .*",
            r"  known         MUST   queue\.peek\.empty-none  as the client does \(https://example\.com/1\)",
            r"  known         SHOULD queue\.close\.twice  as the client does",
            r"  verdict: NON-CONFORMANT \(2 MUST rules failed, all known; 1 SHOULD rule failed, and known\)",
            r".* \d+ known in .*",
        ]
    )
    assert "FAILURES" not in green.stdout.str()
    assert "script" not in green.stdout.str()

    repair(pytester, "queue.len.count")
    stale = run()
    assert stale.ret == 1
    fixed = "queue.len.count of mine.Queue (len: too low) passes now"
    assert said(stale) == [f"fixed: {fixed}: remove the entry from known.toml, or run with --conformance-update-baseline"]
    assert "FAILURES" not in stale.stdout.str()

    update = run("--conformance-update-baseline", "-n", "2")
    assert update.ret == 0
    assert said(update) == ["removed: queue.len.count of mine.Queue (len: too low), fixed; its reason was: as the client does"]
    assert [entry.rule for entry in baseline(pytester).entries] == ["queue.peek.empty-none", "queue.close.twice"]
    assert run().ret == 0


@pytest.fixture
def known(run, pytester, once):
    """Give a baseline that is right."""

    def make():
        assert run("--conformance-update-baseline").ret == 0
        explain(pytester)
        return file.read_text("utf-8")

    file = pytester.path / "known.toml"
    file.write_text(once("baseline", make), "utf-8")
    return file


def test_what_is_new_fails_beside_what_is_known(run, pytester, known):
    repair(pytester, "queue.len.count")
    run("--conformance-update-baseline")
    repair(pytester)
    result = run()
    assert result.ret == 1
    new = "queue.len.count of mine.Queue fails"
    (line,) = said(result)
    assert line == f"new: {new}: repair it, or accept it with --conformance-update-baseline and give the reason in known.toml"
    result.stdout.fnmatch_lines(["*_ queue.len.count  MUST failed _*", "* failed, * known, * failed as above in *"])
    result.stdout.no_fnmatch_line("*queue.peek.empty-none  MUST failed*")


WAYS = """\
from queue_reference.memory import FifoMemoryQueue
class Queue(FifoMemoryQueue):
    def pop(self):
        if (size := len(self)) in {sizes}:
            raise (KeyError if size < 7 else IndexError)(size)
        return super().pop()
"""
"""A queue whose pop raises when it holds so many."""


def test_another_way_to_break_a_known_rule_fails_the_run(run, pytester):
    rule = "queue.pop.exactly-once"
    queues = ("--queue-class=mine.Queue", "-k", "machine or smoke", "--conformance-examples=100")
    pytester.makepyfile(mine=WAYS.format(sizes=(4,)))
    assert said(run("--conformance-update-baseline", queues=queues))[0] == f"added: {rule} of mine.Queue (pop raised KeyError)"
    explain(pytester)
    assert run(queues=queues).ret == 0

    pytester.makepyfile(mine=WAYS.format(sizes=(4, 7)))
    both = run(queues=queues)
    assert both.ret == 1
    (new,) = said(both)
    assert new.startswith(f"new: {rule} of mine.Queue fails in another way, too (pop raised IndexError, with 7 push): repair it")
    both.stdout.fnmatch_lines([f"*_ {rule}  MUST failed in 2 ways _*"])
    run("--conformance-update-baseline", queues=queues)
    assert [entry.cause for entry in baseline(pytester).entries] == ["pop raised KeyError", "pop raised IndexError"]

    pytester.makepyfile(mine=WAYS.format(sizes=(7,)))
    explain(pytester)
    one = run("-v", queues=queues)
    one.stdout.fnmatch_lines([f"  note: this run says nothing about {rule} in known.toml: failing in other ways, but not all *"])
    assert (one.ret, said(one)) == (0, [])


DAMAGED = """\
from queue_reference.memory import FifoMemoryQueue
class Queue(FifoMemoryQueue):
    def pop(self):
        if len(self) == 3:
            raise {errors}[any(request.body for request in self._requests)]
        return super().pop()
"""
"""A queue whose pop raises when it holds three, and what it raises depends on what these are."""


def test_another_exception_of_the_same_operations_is_no_other_way(run, pytester):
    queues = ("--queue-class=mine.Queue", "-k", "machine or smoke", "--conformance-examples=100")
    pytester.makepyfile(mine=DAMAGED.format(errors="(ValueError, OSError)"))
    (added, *_) = said(run("--conformance-update-baseline", queues=queues))
    assert added.endswith("(pop raised ValueError)")
    explain(pytester)
    for errors in ("(ValueError, EOFError)", "(EOFError, OSError)"):
        pytester.makepyfile(mine=DAMAGED.format(errors=errors))
        result = run(queues=queues)
        assert (result.ret, said(result)) == (0, [])


@pytest.mark.further
def test_what_expired_fails_again(run, known):
    known.write_text(known.read_text("utf-8").replace('does"\n', 'does"\nexpires = 2020-01-31\n', 1), "utf-8")
    result = run()
    assert result.ret == 1
    assert said(result) == [f"expired: {FINDINGS[0]} expired on 2020-01-31: repair it, or give a later date in known.toml"]
    result.stdout.fnmatch_lines(["*_ queue.peek.empty-none  MUST failed _*"])
    update = run("--conformance-update-baseline")
    assert update.ret == 0
    assert said(update) == ["known.toml is up to date", *said(result)]


def test_what_was_deselected_is_neither_fixed_nor_failing(run, pytester, known):
    repair(pytester, *RULES)
    before = known.read_bytes()
    for further in ((), ("--conformance-update-baseline",)):
        result = run("-k", "queue.len.count and not machine", "-v", *further)
        assert result.ret == 0
        result.stdout.fnmatch_lines(
            [
                "  note: this run says nothing about queue.peek.empty-none, queue.close.twice in known.toml: *not run",
                "  note: this run says nothing about queue.len.count in known.toml: passed, but not all checks were run",
            ]
        )
    assert known.read_bytes() == before


def test_own_tests_still_fail_a_run_that_updates(run, pytester):
    file = pytester.makepyfile(test_mine="def test_mine(): assert False")
    assert run("--conformance-update-baseline", file).ret == 1
    assert len(baseline(pytester).entries) == 3


def test_an_interrupted_run_updates_nothing(run, pytester):
    pytester.makeconftest("def pytest_runtest_teardown(item):\n    raise KeyboardInterrupt")
    result = run("--conformance-update-baseline")
    assert result.ret == 2
    assert said(result) == ["the baseline was not updated, because the run did not end"]
    assert not (pytester.path / "known.toml").exists()


def test_a_rare_failure_is_known_with_every_seed(run, pytester):
    queues = ("--queue-class=mutants.memory.LosesTheEighth", "-k", "machine or smoke")
    run("--conformance-update-baseline", queues=queues)
    explain(pytester)
    result = run("--conformance-seed=3", "--conformance-examples=1", queues=queues)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["  known         MUST   queue.pop.exactly-once  as the client does"])


PROJECT = """
[tool.queue_conformance.implementations.one]
queue-class = "queue_reference.memory.FifoMemoryQueue"

[tool.queue_conformance.implementations.two]
queue-class = "queue_reference.memory.FifoMemoryQueue"
"""


def test_a_name_that_nothing_bears_fails_a_whole_run_only(run, pytester):
    pytester.makepyprojecttoml(PROJECT)
    text = '[[known]]\nimplementation = "thre"\nrule = "queue.pop.empty-none"\nreason = "x"\n'
    (pytester.path / "known.toml").write_text(text + text.replace("thre", "two"))
    result = run("-k", "one and smoke", queues=("--conformance",))
    assert result.ret == 1
    told = "correct or remove the entries of thre in known.toml: nothing in pyproject.toml is called 'thre'; known are one, two"
    assert said(result) == [f"unknown: {told}"]
    for queues in (("--conformance-only=one",), ("--queue-class=queue_reference.memory.FifoMemoryQueue",)):
        assert said(run("-k", "smoke", queues=queues)) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "there is no file known.toml; --conformance-update-baseline writes it"),
        ("[[known]]\nrule = 'x'\n", "known.toml, entry 1: lacks implementation and reason"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_a_usage_error(run, pytester, text, message):
    if text is not None:
        (pytester.path / "known.toml").write_text(text)
    result = run()
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [f"ERROR: {message}"]


def test_a_baseline_without_a_directory_is_a_usage_error(run):
    result = run("--conformance-baseline=no/known.toml", "--conformance-update-baseline")
    assert result.ret == 4
    assert [line for line in result.errlines if line] == [
        "ERROR: --conformance-baseline: there is no directory for 'no/known.toml'"
    ]


def test_a_baseline_that_cannot_be_written_is_one_line(run, pytester):
    pytester.mkdir("below")
    pytester.makeconftest("import os\n\ndef pytest_sessionfinish():\n    os.rmdir('below')")
    result = run("--conformance-baseline=below/known.toml", "--conformance-update-baseline", "-k", "smoke")
    assert result.ret == 4
    message = "--conformance-baseline: cannot write below/known.toml: No such file or directory"
    assert said(result, "ERROR: ") == [message]
