"""Classes that are named by their paths are imported in a process of their own, and what that starts ends with it."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path
from pickle import PicklingError

import pytest
from kit import FIFO_MEMORY, Lean
from test_isolation import alive, gone

from mutants import hostile
from queue_conformance import LoadError
from queue_conformance.discovery.stages import discover
from queue_conformance.frontends import implementation_run
from queue_conformance.frontends.hosted import Hosted
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.guard import Guard
from queue_conformance.processes.host import Host, HostEnded
from queue_conformance.processes.isolation import IsolatedError
from queue_conformance.running.contexts import RunConfig

THREADED = """
import atexit, os, subprocess, threading, time
from mutants.memory import LosesTheEighth

threading.Thread(target=time.sleep, args=(3600,)).start()
atexit.register(os._exit, 0)
with open("started", "a") as file:
    print(subprocess.Popen(["sleep", "3600"], start_new_session=True).pid, file=file)

class Queue(LosesTheEighth):
    pass
"""


POOLED = """
import multiprocessing
from queue_reference.memory import FifoMemoryQueue

pool = multiprocessing.get_context("fork").Pool(2)


class Queue(FifoMemoryQueue):
    pass
"""


@pytest.fixture
def host():
    hosts = []

    def make(work, timeout=60.0):
        hosts.append(Host(work, LoadError, timeout))
        return hosts[-1]

    yield make
    for one in hosts:
        one.close()


def test_it_works_again_and_again_in_one_process(host):
    seen = []
    asked = host(lambda request: (os.getpid(), seen.append(request), len(seen)))
    (first, _, one), (second, _, two) = asked.ask("x" * 1_000_000), asked.ask("y")
    assert first == second != os.getpid()
    assert (one, two) == (1, 2)


def test_what_is_for_the_author_is_told_apart_from_mistakes(host):
    def work(request):
        raise LoadError("there is nothing") if request else LookupError("no such place")

    asked = host(work)
    with pytest.raises(LoadError, match="there is nothing"):
        asked.ask(True)
    with pytest.raises(IsolatedError, match="LookupError: no such place"):
        asked.ask(False)


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (lambda: os._exit(3), "ended the interpreter with status 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "killed the process"),
        (lambda: os.closerange(3, 1000), "closed, shut down or replaced descriptors that are not its own"),
        (lambda: threading.Event().wait(), "did nothing for 0.2 s"),
    ],
    ids=["exit", "kill", "descriptors", "hang"],
)
def test_its_end_is_told(host, end, how):
    asked = host(lambda _: end(), 0.2)
    with pytest.raises(HostEnded, match=how):  # noqa: PT012 - what it answered to the first one may have come
        asked.ask("do")
        asked.ask("do")
    with pytest.raises(HostEnded):
        asked.ask("do")


@pytest.mark.parametrize("harm", [hostile.write_everywhere, hostile.shut_down_everything, hostile.replace_everything])
def test_no_other_process_is_reached_over_descriptors(host, harm):
    neighbour = host(lambda request: request)
    neighbour.ask(1)
    asked = host(lambda _: harm())
    asked.ask("do")  # what it answers is there, whatever became of the socket
    assert neighbour.ask(2) == 2
    if harm is not hostile.write_everywhere:
        with pytest.raises(HostEnded, match="closed, shut down or replaced descriptors that are not its own"):
            asked.ask("do")


def test_what_came_before_the_plugin_is_reached_by_none_that_tests(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__), prepend=os.pathsep)
    reader, writer = os.pipe()
    command = [sys.executable, "-m", "pytest", "-q", "-k", "queue.len.count", "--queue-class=mutants.hostile.WritesEverywhere"]
    assert subprocess.run(command, cwd=pytester.path, pass_fds=[writer], capture_output=True, timeout=300).returncode == 0
    os.close(writer)
    with open(reader, "rb") as pipe:
        assert pipe.read() == b""


class Unreadable:
    """Can be pickled, but nobody can read it."""

    def __reduce__(self):
        return int, ("no number",)


def test_an_answer_that_cannot_be_read_is_a_mistake_and_no_end(host):
    asked = host(lambda request: Unreadable() if request else "fine")
    with pytest.raises(IsolatedError, match="ValueError"):
        asked.ask(True)
    assert asked.ask(False) == "fine"


def test_what_is_printed_goes_where_the_caller_prints(host, capfd):
    asked = host(lambda text: os.write(1, text.encode()))
    asked.ask("one")
    assert capfd.readouterr().out == "one"
    asked.ask("two")
    assert capfd.readouterr().out == "two"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent has ended")
def test_it_ends_with_a_caller_that_is_killed():
    reader, writer = os.pipe()
    caller = os.fork()
    if caller == 0:
        Host(lambda _: os.write(writer, f"{os.getpid()}\n".encode()), LoadError, 60.0).ask("do")
        time.sleep(600)
    os.close(writer)
    with open(reader) as pipe:
        number = int(pipe.readline())
    os.kill(caller, signal.SIGKILL)
    os.waitpid(caller, 0)
    assert gone(number)


def test_what_an_import_starts_neither_hangs_pytest_nor_hides_what_is_broken(pytester, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.path.dirname(__file__), prepend=os.pathsep)
    pytester.makepyfile(threaded=THREADED)
    result = pytester.runpytest_subprocess("--queue-class=threaded.Queue", "-k", "queue.pop.exactly-once", timeout=300)
    assert result.ret == 1
    for number in (pytester.path / "started").read_text().split():
        assert gone(number)


def test_a_pool_that_a_module_makes_ends_with_the_run_and_is_noted(pytester):
    pytester.makepyfile(pooled=POOLED)
    result = pytester.runpytest_subprocess("--queue-class=pooled.Queue", "-k", "queue.len.count", "-v", timeout=300)
    result.stdout.re_match_lines([r".*its module starts processes when it is imported.*"])
    assert result.ret == 0
    left = [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and _works_in(entry, pytester.path)]
    assert left == []


def _works_in(process, directory):
    try:
        return os.readlink(process / "cwd") == str(directory) and int(process.name) != os.getpid() and alive(process.name)
    except OSError:
        return False


def test_what_ends_the_process_that_tests_for_a_test_ends_no_other_test():
    with closing(Lean()) as lean:
        with pytest.raises((AttributeError, PicklingError), match=r"pickle|local object"):
            lean.examine(FIFO_MEMORY, meets=lambda number, check: True)
        assert lean.examine(FIFO_MEMORY, only="queue.len.count").checks


@pytest.mark.parametrize("in_process", [False, True])
def test_nothing_is_imported_ahead_in_the_process_of_the_author(in_process, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(implementation_run, "preload", lambda checks, implementation: asked.append(implementation.path))
    config = RunConfig(tmp_path, in_process=in_process)
    run = ImplementationRun(discover(FIFO_MEMORY, {}, {}, config), config, {})
    run.expect([check.name for check in run.checks])
    assert asked == ([] if in_process else [FIFO_MEMORY])


def test_a_check_that_somebody_else_stops_stops_no_other(tmp_path):
    def stop(watchdog):
        if stops:
            raise stops.pop()

    def begin():
        config = RunConfig(tmp_path, examples=5000)  # so that it is not over at the first look
        return ImplementationRun(discover(FIFO_MEMORY, {}, {}, config), config, {})

    stops = []
    with closing(Hosted(FIFO_MEMORY, begin, 10.0, stop, Guard(tmp_path, ()))) as hosted:
        machine, first, *_ = sorted(hosted.checks, key=lambda check: not check.is_machine)
        stops.append(pytest.fail.Exception("Timeout"))  # as pytest-timeout does
        with pytest.raises(pytest.fail.Exception, match="Timeout"):
            hosted.run(machine)
        assert hosted.run(first).finished
        assert hosted.ended == ""
