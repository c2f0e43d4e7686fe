"""``pytest --conformance-measure`` measures what a run has tested, once it is tested and reported."""

import json

import pytest

SUITES = """
import pytest
from queue_conformance import DownstreamQueueSuite
from queue_reference.memory import FifoMemoryQueue


class Mine(FifoMemoryQueue):
    '''It is in no package.'''


class TestMine(DownstreamQueueSuite):
    @pytest.fixture
    def queue_class(self):
        return Mine


class TestBuilt(TestMine):
    @pytest.fixture
    def open_queue(self):
        return lambda cls: cls()
"""

INTERRUPTED = """
from queue_conformance.measuring import sizes
from queue_conformance.measuring.step import Measured


def measure(subjects, **how):
    yield Measured(subjects[0].name, "stored", 1000)
    raise KeyboardInterrupt


sizes.measure = measure
"""


@pytest.fixture
def run(pytester, monkeypatch):
    """Test a little of classes, and measure them; return the result."""
    monkeypatch.setenv("COLUMNS", "200")
    how = ("-p", "no:cacheprovider", "-k", "queue.scale", "--conformance-measure", "--conformance-measure-up-to=10")
    return lambda *arguments: pytester.runpytest_subprocess(*how, *arguments)


def measured_in(result):
    """Return the lines of the section about costs."""
    lines = result.outlines
    begun = next(number for number, line in enumerate(lines) if "= cost of growth =" in line)
    return lines[begun + 1 : -1]


def test_what_is_tested_is_measured_beside_others_and_written(run, pytester):
    pytester.makepyprojecttoml(
        """
        [tool.queue_conformance]
        conformance-measure-against = ["scrapy.squeues.FifoMemoryQueue"]
        conformance-measure-output = ["growth.jsonl", "growth.html"]
        """
    )
    result = run("--queue-class=queue_reference.memory.FifoMemoryQueue")
    assert result.ret == 0
    names = ["queue_reference.memory.FifoMemoryQueue", "scrapy.squeues.FifoMemoryQueue"]
    lines = measured_in(result)
    assert [line for line in lines if "." in line.partition(" ")[0]] == names
    assert lines[0].split() == ["stored", "10"]
    kept = map(json.loads, (pytester.path / "growth.jsonl").read_text().splitlines())
    assert [(one["name"], one["size"]) for one in kept] == [(name, 10) for name in names]
    assert "<svg" in (pytester.path / "growth.html").read_text()


def test_a_class_of_a_suite_is_measured_where_the_kit_can_build_it(run, pytester):
    pytester.makepyfile(test_mine=SUITES)
    lines = measured_in(run("test_mine.py"))
    assert lines[1] == "test_mine.py::TestMine"
    built = "a fixture of the suite builds it; name its class on the command line, or in pyproject.toml"
    assert lines[-1] == f"not measured: test_mine.py::TestBuilt: {built}"


@pytest.mark.further
def test_a_distributed_run_measures_when_its_workers_have_ended(run, pytester):
    pytest.importorskip("xdist")
    pytester.makepyfile(test_mine=SUITES)
    lines = measured_in(run("-n1", "test_mine.py", "--queue-class=queue_reference.memory.FifoMemoryQueue"))
    assert lines[1] == "queue_reference.memory.FifoMemoryQueue"
    gone = "the worker that tested the suite has ended; run it without -n"
    suites = [f"test_mine.py::{name}" for name in ("TestMine", "TestBuilt")]
    assert lines[-2:] == [f"not measured: {name}: {gone}" for name in suites]


def test_what_a_class_may_change_in_a_run_it_may_change_while_it_is_measured(run, pytester):
    counted = pytester.makefile(".txt", counted="")
    pytester.makepyfile(
        mine=f"""
        from queue_reference.memory import FifoMemoryQueue

        class Counts(FifoMemoryQueue):
            def push(self, request):
                super().push(request)
                with open({str(counted)!r}, "a") as file:
                    file.write("1")
        """
    )
    counted.write_text("0")
    result = run("--queue-class=mine.Counts", f"--conformance-allow={counted}")
    assert "push" in {line.split()[0] for line in measured_in(result) if line}


def test_what_is_measured_when_it_is_interrupted_is_kept(run, pytester):
    pytester.makeconftest(INTERRUPTED)
    result = run("--queue-class=queue_reference.memory.FifoMemoryQueue", "--conformance-measure-output=growth.jsonl")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert measured_in(result)[-1] == "not measured: the rest: it was interrupted"
    assert len((pytester.path / "growth.jsonl").read_text().splitlines()) == 1
    result.stdout.fnmatch_lines(["  verdict: *"])


def test_what_cannot_be_measured_is_said(run):
    result = run("--queue-class=queue_reference.memory.FifoMemoryQueue", "--conformance-measure-axis=hosts")
    assert "not measured: hosts: none of these classes grows by that; they grow by stored" in measured_in(result)


def test_nothing_is_measured_where_nothing_is_tested(run):
    result = run("--queue-class=queue_reference.memory.FifoMemoryQueue", "--co")
    assert not any("cost of growth" in line for line in result.outlines)


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("axis=colours", "axis: write one of stored, seen, hosts, priorities, processes, not 'colours'"),
        ("output=growth.txt", "output: write the name of a file that ends in .jsonl, .html or .svg, not 'growth.txt'"),
        ("output=no/growth.html", "output: there is no directory for 'no/growth.html'"),
        ("output=taken.svg", "output: write the name of a file, and not of the directory 'taken.svg'"),
        ("against=no.Such", "against: there is no module 'no'; is its package installed in this environment?"),
    ],
)
def test_a_wrong_option_is_said_before_anything_is_tested(run, pytester, argument, said):
    pytester.mkdir("taken.svg")
    result = run("--queue-class=queue_reference.memory.FifoMemoryQueue", f"--conformance-measure-{argument}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert result.errlines[0] == f"ERROR: --conformance-measure-{said}"
