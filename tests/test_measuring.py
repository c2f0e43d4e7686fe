"""What implementations cost as they grow is measured in processes of their own, told in a table and a page, and not judged."""

import json
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from kit import ASYNC_MEMORY, ENVIRONMENT, QCRAWL, alone, context

from queue_conformance import __main__ as command
from queue_conformance.kinds.priority_queue.growth import Growth
from queue_conformance.measuring import findings, page, sizes, step, terminal
from queue_conformance.measuring.step import Cost, Measured

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
    outputs = ("-o", "growth.jsonl", "-o", "growth.html")
    classes = ("slow.Queue", "--against=scrapy.squeues.FifoMemoryQueue")
    status, out, _ = measure(*classes, "--up-to=16000", "--time=10m", *outputs)
    assert status == 0
    said = [line for line in out.splitlines() if "grows with" in line]
    assert [line.partition(": ")[2].partition(":")[0] for line in said] == ["pop"]
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
    assert text.count("<figure>") == 5  # push, pop, len, close, and peek of the other one; there is nothing to open again


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
    assert (status, out) == (0, "not measured: slow.Forgets: nothing from 1,000 stored on: it holds 500 when 1,000 are stored\n")


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


@pytest.mark.skipif(not QCRAWL, reason="needs qCrawl")
@pytest.mark.parametrize("axis", ["stored", "priorities"])
@pytest.mark.parametrize(("path", "operations"), [(ASYNC_MEMORY, "put get size"), (ASYNC_SCHEDULER, "add get qsize")])
def test_no_more_is_taken_out_at_once_than_is_stored(path, operations, axis):
    measured = alone(partial(measured_at_four, path, axis))  # from an empty one, a get waits for ever
    assert (measured.size, [*measured.costs]) == (4, [*operations.split(), "close"])


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
        (("slow.Queue", "--axis=colours"), "measure: --axis: write one of stored, seen, hosts, priorities, not 'colours'"),
        (("slow.Queue", "--up-to=none"), "measure: --up-to: write a whole number, 1 or more"),
        (("slow.Queue", "--output=growth.txt"), "measure: -o/--output: write the name of a file that ends in .jsonl or .html"),
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


def test_files_that_stay_and_descriptors_are_findings():
    (found,) = steps_of(1e-6, 1e-6, disk=100.0, left=90_000, descriptors=1000)[:1]
    assert [sentence for _, sentence in findings.sentences([found])] == [
        "files: 90 kB of 100 kB stay when all is taken out",
        "descriptors: 1,000 are open at 1,000 stored",
    ]


def test_a_table_and_a_page_of_nothing_are_empty():
    assert [*terminal.render([], 80)] == []
    assert "<figure>" not in page.render([])
