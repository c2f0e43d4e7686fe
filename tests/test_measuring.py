"""What implementations cost as they grow is measured in processes of their own, told in a table and a page, and not judged."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from kit import ASYNC_MEMORY, ENVIRONMENT, QCRAWL, alone, context

from queue_conformance import __main__ as command
from queue_conformance.config.values import AXES
from queue_conformance.engine.registry import part_of
from queue_conformance.kinds.priority_queue.growth import Growth
from queue_conformance.measuring import comparison, files, findings, page, sizes, step, terminal
from queue_conformance.measuring.step import Cost, Measured
from queue_conformance.measuring.together import measured_together
from queue_conformance.specification.kinds import all_kinds
from queue_reference.memory import FifoMemoryQueue

ASYNC_SCHEDULER = "queue_reference.async_scheduler.Scheduler"
SLOW = """
class Queue:
    '''First in, first out; pop copies all that it holds.'''

    def __init__(self):
        self.items = []

    @classmethod
    def from_crawler(cls, crawler, *key):
        return cls()

    def push(self, request):
        self.items.append(request)

    def pop(self):
        self.items = [*self.items]
        return self.items.pop(0) if self.items else None

    def close(self):
        pass

    def __len__(self):
        return len(self.items)


class Forgets(Queue):
    '''It forgets what is beyond five hundred.'''

    def push(self, request):
        if len(self.items) < 500:
            super().push(request)


class Connects(Queue):
    '''It connects to a server that nobody has lent.'''

    def __init__(self):
        import socket

        super().__init__()
        socket.create_connection(("localhost", 9))


class Raises(Queue):
    '''It raises when it is full.'''

    def push(self, request):
        if len(self.items) == 1500:
            raise MemoryError("full")
        super().push(request)
"""


@pytest.fixture
def measure(tmp_path, monkeypatch, capsys):
    """Run the command in a directory with a module of queues; return its exit status, its output, and its errors."""
    tmp_path.joinpath("slow.py").write_text(SLOW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", ENVIRONMENT["PYTHONPATH"])
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments):
        status = command.main(["measure", *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_a_pop_that_looks_at_all_is_said_to_grow_and_the_other_operations_are_not(measure, tmp_path):
    outputs = ("-o", "growth.jsonl", "-o", "growth.html", "-o", "growth.svg")
    classes = ("slow.Queue", "--against=scrapy.squeues.FifoMemoryQueue")
    status, out, _ = measure(*classes, "--up-to=16000", "--time=10m", *outputs)
    assert status == 0
    said = [line for line in out.splitlines() if "grows with" in line]
    grown = {line.partition(": ")[2].partition(":")[0] for line in said}
    assert {"pop"} <= grown <= {"pop", "drain"}  # that is timed once: on a busy machine it may not stand out
    assert said[0].startswith("slow.Queue: pop: ")
    assert all(len(line) <= 80 for line in out.splitlines() if line not in said)
    lines = [json.loads(line) for line in (tmp_path / "growth.jsonl").read_text().splitlines()]
    assert {(line["name"], line["size"]) for line in lines} == {
        (name, size) for name in ("slow.Queue", "scrapy.squeues.FifoMemoryQueue") for size in (1000, 4000, 16000)
    }
    steps = [findings.from_data(line) for line in lines]
    assert [*map(findings.as_data, steps)] == lines
    text = (tmp_path / "growth.html").read_text()
    assert "grows with the number stored" in text
    drawing = ElementTree.parse(tmp_path / "growth.svg")
    assert [text for text in drawing.getroot().itertext() if text.endswith(", by the number stored")] == [
        f"{operation}, by the number stored" for operation in re.findall("<figcaption>(.+)</figcaption>", text)
    ]
    assert text.count("<figure>") == 6  # push, pop, len, drain, close, and peek of the other one; there is nothing to open again


@pytest.mark.parametrize(("server", "told"), [("redis", "  commands sent: push 1, pop 3, len 0, peek 3"), ("fakeredis", "")])
def test_the_commands_that_a_server_was_sent_are_counted_by_one_that_counts(measure, server, told):
    setting = "--queue-setting=REDIS_URL=redis://{host}:{port}/0"
    given = ("queue_reference.redis.FifoRedisQueue", f"--queue-server={server}", setting, "--up-to=10", "--time=10m")
    status, out, _ = measure(*given)
    assert status == 0
    assert [line for line in out.splitlines() if "commands" in line] == [told] * bool(told)


def test_what_ends_is_kept_beside_the_others(measure):
    status, out, _ = measure("slow.Raises", "--up-to=4000", "--time=10m")
    assert status == 0
    assert "1,000" in out
    assert "slow.Raises: nothing from 4,000 stored on: it raised MemoryError('full')" in out


def test_what_does_not_hold_what_was_stored_is_not_measured(measure):
    status, out, _ = measure("slow.Forgets", "--up-to=1000", "--time=10m")
    assert (status, out) == (2, "not measured: slow.Forgets: nothing from 1,000 stored on: it holds 500 when 1,000 are stored\n")


@pytest.mark.parametrize(
    ("axis", "up_to", "expected"),
    [
        ("stored", 10, [10]),
        ("stored", 1000, [1000]),
        ("seen", 4000, [1000, 4000]),
        ("stored", 100_000, [1000, 4000, 16_000, 64_000, 100_000]),
        ("hosts", 1000, [64, 256, 1000]),
        ("priorities", 64, [64]),
    ],
)
def test_sizes_go_up_to_the_largest(axis, up_to, expected):
    assert sizes._sizes(axis, up_to) == expected


@pytest.mark.parametrize("axis", ["hosts", "priorities"])
def test_there_are_as_many_hosts_or_priorities_from_the_first_operation_to_the_last(axis):
    with context("queue_reference.pqueues.SlotPriorityQueue") as found:
        growth = Growth(found, axis)
        growth.open()
        growth.fill(64)
        for operation in growth.operations():
            for count in (1, 16, 16):
                made = operation.make(count)
                growth.timed(operation, made)
                operation.undo(len(made))
        waiting = [growth.raw.pop() for _ in range(len(growth.raw))]
        growth.close()
    assert len({request.priority if axis == "priorities" else urlsplit(request.url).netloc for request in waiting}) == 64


def measured_at_four(path, axis):
    with context(path) as found:
        return step.measured(path, axis, 4, found)


@pytest.mark.parametrize(
    ("path", "axis", "operations"),
    [
        ("queue_reference.collections.PriorityQueue", "stored", "push pop len peek close open drain"),
        ("queue_reference.collections.RoundRobinQueue", "priorities", "push pop len peek close open drain"),
        ("scrapy.extensions.spiderstate.SpiderState", "stored", "close open"),
    ],
)
def test_what_outlives_a_close_is_opened_and_drained_after_it(path, axis, operations):
    found = alone(partial(measured_at_four, path, axis))
    assert [*found.costs] == operations.split()
    assert (found.left is None) == ("drain" not in found.costs)


def test_every_kind_but_whole_crawls_can_be_measured_by_what_can_be_asked_for():
    for kind in all_kinds():
        assert (find_spec(f"{kind.folders[0]}.growth") is None) == (kind == "crawl")
        if kind != "crawl" and (QCRAWL or not kind.startswith("async")):
            assert {*part_of(kind, "growth").Growth.axes} <= {*AXES}


class OfOneProcess(FifoMemoryQueue):
    """Nothing can be pushed below a certain process."""

    ABOVE = 0

    def push(self, request):
        if os.getppid() == self.ABOVE:
            raise PermissionError("not mine")
        super().push(request)


def together(path, count):
    with context(path) as found:
        OfOneProcess.ABOVE = os.getpid()
        return measured_together("a.B", count, found)


@pytest.mark.parametrize("count", [1, 2])
def test_processes_put_in_and_take_out_at_once(count):
    found = alone(partial(together, "queue_reference.memory.FifoMemoryQueue", count))
    assert (found.axis, found.size, [*found.costs]) == ("processes", count, ["in and out"])
    assert 0 < found.costs["in and out"].seconds <= found.costs["in and out"].slowest


def test_what_fails_in_several_processes_is_said():
    said = alone(partial(together, f"{__name__}.OfOneProcess", 2))
    assert said == "fails where 2 processes use it at once: one of them raised PermissionError('not mine')"


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
def test_only_what_several_processes_may_open_is_measured_by_processes(measure):
    shared = ("mutants.async_between.SharedSQLite", "--against=slow.Queue", "--axis=processes", "--up-to=2", "--time=10m")
    status, out, _ = measure(*shared)
    assert status == 0
    assert out.splitlines()[0].split() == ["processes", "1", "2"]
    assert "slow.Queue" not in out


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
@pytest.mark.parametrize("axis", ["stored", "priorities"])
@pytest.mark.parametrize(("path", "operations"), [(ASYNC_MEMORY, "put get size"), (ASYNC_SCHEDULER, "add get qsize")])
def test_no_more_is_taken_out_at_once_than_is_stored(path, operations, axis):
    measured = alone(partial(measured_at_four, path, axis))  # from an empty one, a get waits for ever
    assert (measured.size, [*measured.costs]) == (4, [*operations.split(), "drain", "close"])


def test_a_module_in_the_working_directory_is_found_by_the_installed_command(tmp_path):
    tmp_path.joinpath("slow.py").write_text(SLOW)
    script = Path(sys.executable).with_name("queue-conformance")
    given = ["measure", "slow.Queue", "--up-to=10", "--time=10m"]
    ended = subprocess.run([script, *given], cwd=tmp_path, capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "slow.Queue" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("slow.Missing",), "measure: slow has no class 'Missing'"),
        (
            ("slow.Queue", "--axis=colours"),
            "measure: --axis: write one of stored, seen, hosts, priorities, processes, not",
        ),
        (("slow.Queue", "--up-to=none"), "measure: --up-to: write a whole number, 1 or more"),
        (
            ("slow.Queue", "--output=growth.txt"),
            "measure: -o/--output: write the name of a file that ends in .jsonl, .html or .svg",
        ),
        (
            ("slow.Queue", "--queue-server=localhost:6379"),
            "measure: slow.Queue: what localhost:6379 holds would be measured, too",
        ),
        (("slow.Connects",), "measure: slow.Connects cannot be tested here: it connects to localhost:9"),
    ],
)
def test_what_cannot_be_measured_is_said_in_one_line(measure, arguments, said):
    status, out, err = measure(*arguments)
    assert (status, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def steps_of(first: float, last: float, *, apart: int = 16, **more):
    """Return two sizes, so many times apart, at which pushing and opening take so long."""
    costs = [{name: Cost(seconds, seconds, seconds) for name in ("push", "open")} for seconds in (first, last)]
    return [Measured("a.B", "stored", size, cost, **more) for size, cost in zip((1000, 1000 * apart), costs, strict=True)]


@pytest.mark.parametrize(
    ("steps", "grown"),
    [
        (steps_of(1e-6, 7e-6), set()),
        (steps_of(1e-6, 9e-6), {"push"}),
        (steps_of(1e-6, 200e-6), {"push", "open"}),
        (steps_of(1e-6, 9e-6, apart=4), set()),
    ],
)
def test_a_cost_grows_that_is_eight_times_as_high_at_sixteen_times_the_size(steps, grown):
    assert {sentence.partition(":")[0] for _, sentence in findings.sentences(steps)} == grown


@pytest.mark.parametrize(("served", "grown"), [(False, 0), (True, 1)])
def test_time_that_no_processor_took_is_no_growth_unless_a_server_did_the_work(served, grown):
    first, last = steps_of(1e-6, 50e-6, served=served)
    last = replace(last, costs={name: replace(cost, processor=2e-6) for name, cost in last.costs.items()})
    assert sum(sentence.startswith("push") for _, sentence in findings.sentences([first, last])) == grown


@pytest.mark.parametrize(
    ("many", "told"), [(3e-3, []), (5e-3, ["in and out: 500 a second by 1 process, 200 a second by 4 together"])]
)
def test_processes_that_do_less_together_than_one_alone_hinder_each_other(many, told):
    costs = [{"in and out": Cost(seconds, seconds, seconds)} for seconds in (2e-3, many)]
    steps = [Measured("a.B", "processes", size, cost) for size, cost in zip((1, 4), costs, strict=True)]
    assert [sentence.rpartition(":")[0] for _, sentence in findings.sentences(steps)] == told


def test_the_table_says_what_there_is_at_each_size():
    costs = {"push": Cost(1e-6, 1e-6, 1e-6, writes=1.0, written=205.0, commands=2.0)}
    lines = [*terminal.render([Measured("a.B", "stored", 10, costs, 100.0, 7.0, None, 9, on_server=234.0)], 80)]
    assert [line.split(maxsplit=1)[1].split() if line.startswith("  bytes") else line.split() for line in lines[1:-1]] == [
        ["a.B"],
        ["push", "1", "µs"],
        ["written:", "push", "205", "B"],
        ["commands", "sent:", "push", "2"],
        ["on", "disk,", "each", "7", "B"],
        ["in", "memory,", "each", "100", "B"],
        ["on", "the", "server,", "each", "234", "B"],
        ["descriptors", "9"],
    ]


def test_two_measurements_are_compared_at_the_largest_size_that_both_have(tmp_path, capsys):
    quick = Cost(1e-6, 2e-6, 1e-6, 1.0, 100.0, commands=1.0)
    old = [Measured("a.B", "stored", size, {"push": quick, "pop": quick, "len": quick}) for size in (1000, 4000, 16_000)]
    slow = {"push": replace(quick, seconds=5e-6, slowest=6e-6, commands=3.0), "pop": replace(quick, seconds=3e-7, slowest=4e-7)}
    new = [Measured("a.B", "stored", 4000, {**slow, "len": replace(quick, seconds=2e-6, written=300.0)})]
    paths = [str(tmp_path / name) for name in ("old.jsonl", "new.jsonl")]
    for path, steps in zip(paths, (old, new), strict=True):
        files.write(steps, [], Path(path))
    assert command.main(["compare", *paths]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "4,000 stored                         old         new       times",
        "a.B",
        "  push                              1 µs        5 µs           5",
        "  pop                               1 µs      300 ns         0.3",
        "  len                               1 µs        2 µs           2",
        "",
        "a.B: push: 5 times as slow (2.5 to 6) at 4,000 stored",
        "a.B: push: 3 commands, not 1 at 4,000 stored",
        "a.B: pop: 3.3 times as quick (2.5 to 6.7) at 4,000 stored",
        "a.B: len: 300 B written, not 100 B at 4,000 stored",
    ]


def test_what_grows_only_now_is_new():
    assert [*comparison.render(steps_of(1e-6, 1e-6), steps_of(1e-6, 20e-6))][-1].startswith(
        "a.B: new: push: 1 µs at 1,000 stored"
    )
    assert comparison.read(Path(__file__)) is None


@pytest.mark.parametrize(
    "change",
    [
        {"size": 0},
        {"size": "many"},
        {"name": 7},
        {"costs": {"push": {}}},
        {"costs": [1]},
        {"disk": "a lot"},
        {"costs": "[" * 9_000},
    ],
    ids=str,
)
def test_what_is_no_measurement_is_not_taken_for_one(tmp_path, change):
    (tmp_path / "one.jsonl").write_text(json.dumps({**findings.as_data(steps_of(1e-6, 1e-6)[0]), **change}))
    assert comparison.read(tmp_path / "one.jsonl") is None


def test_files_that_stay_and_descriptors_are_findings():
    (found,) = steps_of(1e-6, 1e-6, disk=100.0, left=90_000, descriptors=1000)[:1]
    assert [sentence for _, sentence in findings.sentences([found])] == [
        "files: 90 kB of 100 kB stay when all is taken out",
        "descriptors: 1,000 are open at 1,000 stored",
    ]


def test_a_table_and_a_page_of_nothing_are_empty():
    assert [*terminal.render([], 80)] == []
    assert "<figure>" not in page.render([])
