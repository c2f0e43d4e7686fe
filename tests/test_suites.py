"""Suites that authors subclass in their own tests."""

import json
import os
import re

import pytest

from queue_conformance.frontends.cache import RunCache
from queue_conformance.frontends.implementation_run import all_checks_of
from queue_conformance.frontends.testcases import SUITES
from queue_conformance.kinds import CRAWL, DOWNSTREAM_QUEUE
from queue_conformance.reports import jsonl
from queue_conformance.specification.kinds import all_kinds

HEAD = """
import pytest
from queue_conformance import {suite}
from queue_reference.memory import FifoMemoryQueue
from mutants.memory import ClosesOnce, PeeksAtTheNewest
"""
QUICK = "(queue.peek and not machine) or smoke or mine"


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest as a stranger would, on a file with this source; the mutants can be imported."""
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([os.path.dirname(__file__), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)

    def run(source, *arguments, suite="DownstreamQueueSuite", only=QUICK):
        pytester.makepyfile(test_suites=HEAD.format(suite=suite) + source)
        arguments = ["-p", "no:randomly", "--conformance-examples=5", "--conformance-report=report.jsonl", *arguments]
        return pytester.runpytest_subprocess(*arguments, *(["-k", only] if only else []))

    return run


@pytest.fixture
def reported(pytester):
    """Return what the run reported, by the names of the suites."""
    return lambda: {found.name: found for found in jsonl.read(pytester.path / "report.jsonl").implementations}


FAILED = """
class TestMine(DownstreamQueueSuite):
    @pytest.fixture
    def queue_class(self):
        return PeeksAtTheNewest
"""


def test_there_is_a_suite_for_each_kind():
    assert SUITES.keys() == set(all_kinds())
    for suite in SUITES.values():
        assert suite.__doc__


def test_a_scheduler_is_held_to_crawls_alone_by_their_suite(run, reported):
    result = run(
        "class TestCrawls(CrawlSuite):\n    scheduler_class = 'queue_reference.scheduler.Scheduler'",
        suite="CrawlSuite",
        only="smoke",
    )
    result.assert_outcomes(passed=1, deselected=len(all_checks_of(CRAWL)) - 1)
    assert reported()["test_suites.py::TestCrawls"].kind == CRAWL


# --- What a suite does -----------------------------------------------------------------------------------------------


def test_a_broken_rule_fails_its_test_with_the_screen_of_the_command_line(run, reported):
    result = run(FAILED)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "*_ TestMine.test_conformance[[]queue.peek.equals-pop[]] _*",
            "queue.peek.equals-pop  MUST failed",
            "  script    *",
            "*= queue conformance =*",
            "test_suites.py::TestMine",
            "  mutants.memory.PeeksAtTheNewest, downstream queue, profile scrapy, seed 0",
            "  verdict: NON-CONFORMANT (1 MUST rule failed)",
            "FAILED test_suites.py::TestMine::test_conformance[[]queue.peek.equals-pop[]]*",
        ]
    )
    result.stdout.no_fnmatch_line("*testcases.py*Failed*")
    result.stdout.no_fnmatch_line("    def test_conformance*")
    assert list(reported()) == ["test_suites.py::TestMine"]


def test_each_check_is_a_test_and_those_that_do_not_apply_are_skipped_with_the_reason(run):
    source = "class TestMine(DownstreamQueueSuite):\n    queue_class = FifoMemoryQueue\n"
    result = run(source, "-rs", only="")
    outcomes = result.parseoutcomes()
    assert outcomes.keys() == {"passed", "skipped"}
    assert outcomes["passed"] + outcomes["skipped"] == len(all_checks_of(DOWNSTREAM_QUEUE))
    result.stdout.fnmatch_lines(["  verdict: CONFORMANT *", "SKIPPED * needs persistent"])
    assert result.ret == 0


def test_the_level_decides_which_broken_rules_fail(run):
    source = "class TestMine(DownstreamQueueSuite):\n    queue_class = ClosesOnce\n"
    result = run(source, "-v", only="close.twice")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*_ queue.close.twice (test_suites.py::TestMine) _*", "*1 tolerated*"])
    assert run(source + "    level = 'SHOULD'\n", only="close.twice").ret == pytest.ExitCode.TESTS_FAILED
    assert run(source, "--conformance-level=SHOULD", only="close.twice").ret == pytest.ExitCode.TESTS_FAILED


def test_a_rule_selects_every_test_that_tests_it_and_the_others_are_not_covered(run, reported):
    result = run(FAILED, "-v", only="queue.len.count")
    result.stdout.fnmatch_lines(
        ["*TestMine::test_conformance[[]queue.len.count[]]*", "*TestMine::test_conformance[[]machine[]]*"]
    )
    verdicts = {verdict.rule.id: verdict for verdict in reported()["test_suites.py::TestMine"].verdicts}
    assert verdicts["queue.close.twice"].reason == "its check was not run"


def test_own_tests_in_the_class_run_too(run):
    result = run(
        FAILED + "    def test_mine(self, queue_class): assert queue_class.pop is None\n", only="mine and not conformance"
    )
    result.stdout.fnmatch_lines(["*assert queue_class.pop is None*", "FAILED test_suites.py::TestMine::test_mine*"])
    result.stdout.no_fnmatch_line("*queue conformance*")  # nothing of the suite ran, so there is nothing to report


@pytest.mark.further
def test_mixins_and_bases_work(run, reported):
    source = """
class Mixin:
    claims = ["order=FIFO"]

class MemorySuite(Mixin, DownstreamQueueSuite):
    level = "SHOULD"
    def test_mine(self): pass

class TestMine(MemorySuite):
    queue_class = "queue_reference.memory.FifoMemoryQueue"
"""
    assert run(source).ret == 0
    (found,) = reported().values()
    assert (found.name, found.level, found.claims) == ("test_suites.py::TestMine", "SHOULD", {"order": "FIFO"})


@pytest.mark.further
def test_fixtures_describe_what_is_known_at_run_time_only(run, reported):
    source = """
@pytest.fixture(scope="session")
def limit(tmp_path_factory):
    return str(tmp_path_factory.mktemp("limit"))

class Queue(FifoMemoryQueue):
    @classmethod
    def from_crawler(cls, crawler, key):
        assert crawler.settings["MY_LIMIT"] and crawler.settings.getint("OTHER") == 3
        return cls()

class TestMine(DownstreamQueueSuite):
    @pytest.fixture
    def queue_class(self):
        return Queue

    @pytest.fixture(scope="class")
    @classmethod
    def settings(cls, limit):
        return {"MY_LIMIT": limit, "OTHER": 5}
"""
    assert run(source, "--queue-setting=OTHER=3", "-W", "error").ret == 0  # the command line wins
    (found,) = reported().values()
    assert found.settings["MY_LIMIT"].endswith("limit0")


@pytest.mark.further
def test_a_fixture_gives_the_function_that_builds_queues(run, reported):
    source = """
class Odd(FifoMemoryQueue):
    from_crawler = None
    def __init__(self, directory, key):
        assert directory.is_dir()  # that of the current test
        super().__init__()
    def peek(self):
        return None

class TestMine(DownstreamQueueSuite):
    claims = {"kind": "downstream-queue"}
    queue_class = Odd

    @pytest.fixture
    def open_queue(self, tmp_path):
        yield lambda key: Odd(tmp_path, key)
        tmp_path.rmdir()
"""
    assert run(source).ret == pytest.ExitCode.TESTS_FAILED
    (found,) = reported().values()
    assert [verdict.rule.id for verdict in found.verdicts if verdict.violation] == ["queue.peek.equals-pop"]


@pytest.mark.further
def test_suites_and_options_join_one_report(run, reported):
    result = run(FAILED, "--queue-class=queue_reference.memory.FifoMemoryQueue", "test_suites.py")
    assert list(reported()) == ["queue_reference.memory.FifoMemoryQueue", "test_suites.py::TestMine"]
    assert result.ret == pytest.ExitCode.TESTS_FAILED


MIXED = (
    FAILED
    + """
class TestRight(DownstreamQueueSuite):
    queue_class = FifoMemoryQueue

class TestWrong(DownstreamQueueSuite):
    queue_class = "no.Such"

def test_mine(): pass
"""
)


@pytest.mark.further
@pytest.mark.usefixtures("wide_terminal")
def test_a_distributed_run_gives_the_same_report(run, pytester):
    def read():
        return jsonl.read(pytester.path / "report.jsonl")

    alone = run(MIXED, "-p", "no:cacheprovider")
    first = read()
    together = run(MIXED, "-p", "no:cacheprovider", "-n", "2")
    assert alone.ret == together.ret == pytest.ExitCode.USAGE_ERROR
    assert str(first) == str(read())
    assert len(first.errors) == 1
    assert [found.name.partition("::")[2] for found in read().implementations] == ["TestMine", "TestRight"]
    together.stdout.fnmatch_lines(
        ["*= queue conformance =*", "  verdict: NON-CONFORMANT*", "ERROR: test_suites.py::TestWrong: *"]
    )


@pytest.mark.further
def test_a_baseline_knows_what_a_suite_breaks(run, pytester):
    arguments = ["--conformance-baseline=known.toml", "-p", "no:cacheprovider"]
    written = run(FAILED, *arguments, "--conformance-update-baseline", "test_suites.py")
    written.stdout.fnmatch_lines(["baseline: *queue.peek.equals-pop of test_suites.py::TestMine*"])
    nothing = run("def test_mine(): pass", *arguments, "--conformance-update-baseline", "test_suites.py")
    nothing.stdout.fnmatch_lines(["baseline: the baseline was not updated, because nothing was tested"])
    file = pytester.path / "known.toml"
    file.write_text(file.read_text().replace("TODO: say why this is acceptable", "as in the museum"))
    result = run(FAILED, *arguments)
    assert result.ret == 0
    assert "known" in result.parseoutcomes()
    result = run(FAILED.replace("return PeeksAtTheNewest", "return FifoMemoryQueue"), *arguments, only="")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*fixed: queue.peek.equals-pop of test_suites.py::TestMine*"])


def test_collecting_tests_nothing(run):
    result = run(FAILED, "--collect-only", "-q", only="peek.equals and not machine")
    assert [line for line in result.outlines if "::" in line] == [
        "test_suites.py::TestMine::test_conformance[queue.peek.equals-pop]",
        "test_suites.py::TestMine::test_conformance[peek.callback]",
    ]
    result.stdout.no_fnmatch_line("*queue conformance*")


def test_failing_programs_are_remembered_by_suite(run, pytester):
    run(FAILED, only="machine")
    kept = RunCache(None, str(pytester.path / ".pytest_cache/d/queue-conformance-examples"))
    assert kept.sequences("test_suites.py::TestMine")


# --- What no suite may say -------------------------------------------------------------------------------------------

DEFINED = "must not be defined in a suite, which runs every check of its kind: choose checks with -k, *"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("    queue_class = FifoMemoryQueue\n    test_conformance = None", f"test_conformance {DEFINED}"),
        ("    queue_class = FifoMemoryQueue\n    def test_conformance(self): pass", f"test_conformance {DEFINED}"),
        (
            "    queue_class = FifoMemoryQueue\n    def pytest_generate_tests(self, metafunc): pass",
            f"pytest_generate_tests {DEFINED}",
        ),
        ("    queue_class = FifoMemoryQueue\n    kind = 'byte-queue'", f"kind {DEFINED}"),
        ("    queue_class = FifoMemoryQueue\n    rules = ['queue.pop.fifo']", f"rules {DEFINED}"),
        (
            "    scheduler_class = FifoMemoryQueue",
            "write a fixture queue_class that returns the class to test, not scheduler_class *",
        ),
        ("    pass", "write a fixture queue_class that returns the class to test (a base of *"),
        (
            "    queue_class = FifoMemoryQueue\n    claim = ['persistent']",
            "a suite has no attribute 'claim'; did you mean 'claims'?",
        ),
        (
            "    @pytest.fixture\n    def queue_cls(self): return FifoMemoryQueue",
            "a suite has no attribute 'queue_cls'; did you mean 'queue_class'?",
        ),
        (
            "    queue_class = FifoMemoryQueue\n    examples = 10",
            "examples holds for a whole run, not for one suite: say --conformance-examples, or conformance-examples in *",
        ),
        (
            "    @pytest.fixture(params=[1, 2])\n    def queue_class(self): return FifoMemoryQueue",
            "queue_class: a fixture with params describes several classes; write a suite for each",
        ),
    ],
)
def test_a_suite_that_says_too_much_or_too_little_is_one_line_at_collection(run, source, message):
    result = run(f"class TestMine(DownstreamQueueSuite):\n{source}\n    def test_own(self): pass\n", only="")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    lines = [line for line in result.outlines if line.startswith("test_suites.py::TestMine")]
    assert len(lines) == 1
    result.stdout.fnmatch_lines([f"test_suites.py::TestMine: {message.replace('[', '[[]')}"])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_attributes_and_fixtures_of_ones_own_are_left_alone(run):
    own = "    hosts = ['a']\n    my_settings = {}\n    def seed(self): pass\n    @pytest.fixture\n    def report(self): pass\n"
    result = run(f"class TestMine(DownstreamQueueSuite):\n    queue_class = FifoMemoryQueue\n{own}", only="queue.pop.fifo")
    assert result.ret == pytest.ExitCode.OK


@pytest.mark.parametrize(
    "source",
    [
        "class Mixin:\n    test_conformance = None\nclass TestMine(Mixin, DownstreamQueueSuite): pass\n",
        "class Base(DownstreamQueueSuite):\n    rules = ['a']\nclass TestMine(Base): pass\n",
    ],
)
def test_a_base_cannot_take_checks_away_either(run, source):
    result = run(source, only="")
    result.stdout.fnmatch_lines([f"test_suites.py::TestMine: * {DEFINED}"])


def test_one_suite_has_one_kind(run):
    source = "class TestMine(DownstreamQueueSuite, ByteQueueSuite):\n    queue_class = FifoMemoryQueue\n"
    result = run(source, suite="ByteQueueSuite, DownstreamQueueSuite", only="")
    result.stdout.fnmatch_lines(["test_suites.py::TestMine: subclass one suite, not 2: DownstreamQueueSuite, ByteQueueSuite"])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("queue_class = 'queuelib.queue.FifoDiskQueue'", "queuelib.queue.FifoDiskQueue is a byte queue: subclass ByteQueueSuite"),
        (
            "queue_class = 'queue_reference.memory.FifoMemoryQeue'",
            "queue_reference.memory has no class 'FifoMemoryQeue'; did you mean *",
        ),
        ("queue_class = 5", "queue_class: write a class or its dotted path, or a fixture that returns it, not 5"),
        (
            "def queue_class(self): return FifoMemoryQueue",
            "queue_class: write a class or its dotted path, or put @pytest.fixture above the method that returns it",
        ),
        ("queue_class = FifoMemoryQueue\n    level = 'MAY'", "level: write MUST or SHOULD, not 'MAY'"),
        ("queue_class = FifoMemoryQueue\n    claims = 'fast'", "claims: unknown claim 'fast'*"),
        (
            "queue_class = FifoMemoryQueue\n    def open_queue(self, key): pass",
            "open_queue: write a function or a staticmethod of crawler and key, or put @pytest.fixture above *",
        ),
    ],
)
@pytest.mark.usefixtures("wide_terminal")
def test_a_wrong_description_is_told_once(run, body, message):
    result = run(f"class TestMine(DownstreamQueueSuite):\n    {body}\n", "-rs")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines([message, f"ERROR: test_suites.py::TestMine: {message}", f"SKIPPED * not tested: {message}"])
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*another exception occurred*")


@pytest.mark.further
@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return type('Queue', (FifoMemoryQueue,), {})", "the suite makes another class test_suites.Queue for each test; *"),
        (
            "return next(CLASSES)",
            "the suite describes another implementation for each test: path 'queue_reference.* then 'mutants.*; *",
        ),
    ],
)
@pytest.mark.usefixtures("wide_terminal")
def test_a_suite_that_describes_another_class_for_each_test_is_refused(run, body, message):
    source = f"CLASSES = iter([FifoMemoryQueue, ClosesOnce])\n{FAILED.replace('return PeeksAtTheNewest', body)}"
    result = run(source)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stdout.fnmatch_lines([f"ERROR: test_suites.py::TestMine: {message}"])
    decorators = re.search(r"^ERROR: .*write (@.*) and (@.*) above the fixture", result.stdout.str(), re.MULTILINE)
    source = source.replace("@pytest.fixture", "\n    ".join(decorators.groups()))
    assert run(source, "-W", "error").ret == 0, "as the message says"


def test_a_fixture_that_raises_is_shown_once(run):
    result = run(FAILED.replace("return PeeksAtTheNewest", "raise RuntimeError('no server')"), "-rs")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.parseoutcomes()["failed"] == 1
    result.stdout.fnmatch_lines(["*RuntimeError: no server", "SKIPPED * not tested: its fixtures failed before, *"])


def test_a_fixture_that_skips_is_a_skip(run):
    result = run(FAILED.replace("return PeeksAtTheNewest", "pytest.skip('no server here')"), "-rs")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["SKIPPED * no server here"])


def test_a_wrong_option_is_one_line_at_collection(run):
    result = run(FAILED, "--conformance-seed=x")
    result.stdout.fnmatch_lines(["test_suites.py::TestMine: --conformance-seed: write a whole number, 0 or more, not 'x'"])


def test_a_suite_without_the_plugin_is_one_line_at_collection(pytester, run):
    pytester.makepyfile(test_suites=HEAD.format(suite="DownstreamQueueSuite") + FAILED)
    result = pytester.runpytest_subprocess("-p", "no:queue_conformance")
    result.stdout.fnmatch_lines(["test_suites.py::TestMine: the suite needs the plugin queue_conformance, *"])


@pytest.mark.further
def test_a_table_of_pyproject_toml_holds_for_suites_and_its_classes_wait_for_an_option(run, reported, pytester):
    pytester.makepyprojecttoml('[tool.queue_conformance]\nqueue-class = "no.Such"\nconformance-claim = "order=FIFO"\n')
    assert run("class TestMine(DownstreamQueueSuite):\n    queue_class = FifoMemoryQueue\n").ret == 0
    (found,) = reported().values()
    assert found.claims == {"order": "FIFO"}


def test_what_was_kept_and_no_suite_asks_for_is_said_in_a_line(run, pytester):
    found = {"pending": [], "again": [], "dropped": []}
    told = {"format": 1, "class": "shop.Queue", "kind": "downstream-queue", "option": "queue-class", "settings": {}}
    told |= {"written": {"shop": "1.0"}, "ordered": True, "asks": {}, "stores": {"closed": found}}
    pytester.mkdir("kept").joinpath("closed").mkdir()
    pytester.path.joinpath("kept", "kept.json").write_text(json.dumps(told))
    pytester.makepyprojecttoml("[tool.queue_conformance]\nconformance-kept = ['kept']\n")
    result = run("class TestMine(DownstreamQueueSuite):\n    queue_class = FifoMemoryQueue\n", only="queue.len")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["WARNING: kept was written by shop.Queue, which is not tested in this run"])
