"""Whatever a function does in a process of its own, the caller goes on and knows what happened."""

import builtins
import ctypes
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mutants import hostile
from queue_conformance.engine.recording import Recorder
from queue_conformance.processes import descendants, endings
from queue_conformance.processes.endings import Abort, signal_name
from queue_conformance.processes.isolation import Answer, IsolatedError, Watchdog, run
from queue_conformance.processes.mailbox import ROOM
from queue_conformance.processes.process import die_with_parent, fork
from queue_conformance.running.contexts import twice


def test_the_result_comes_back():
    assert run(lambda watchdog: {"answer": 42}, time_limit=5) == Answer({"answer": 42})


def test_a_large_result_comes_back_whole():
    ended = run(lambda watchdog: b"x" * 5_000_000, time_limit=5)
    assert isinstance(ended, Answer)
    assert len(ended.value) == 5_000_000


def test_the_children_are_the_same_whether_the_system_tells_of_them_alone_or_of_all_processes(monkeypatch):
    with subprocess.Popen(["sleep", "60"]) as one, subprocess.Popen(["sleep", "60"]) as other:
        try:
            told = descendants.children()
            monkeypatch.setattr(descendants, "_listed", Path("/proc/nothing").read_text)
            assert descendants.children() == told
            assert told.keys() >= ({one.pid, other.pid} if sys.platform == "linux" else set())
        finally:
            one.kill()
            other.kill()


def test_a_result_that_is_too_large_is_an_error_and_no_hang():
    with pytest.raises(IsolatedError, match=r"MemoryError: a message of \d+ bytes"):
        run(lambda watchdog: bytes(ROOM), time_limit=60)


def test_an_exception_of_the_function_is_an_error_of_the_kit():
    def fail(watchdog):
        raise LookupError("nothing there")

    with pytest.raises(IsolatedError, match="LookupError: nothing there"):
        run(fail, time_limit=5)


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (lambda: os._exit(0), "ended the interpreter with status 0"),
        (lambda: os._exit(3), "ended the interpreter with status 3"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "killed the process (SIGKILL)"),
        (lambda: ctypes.string_at(0), "killed the process (SIGSEGV)"),
        (lambda: os.kill(os.getpid(), 40), "killed the process (signal 40)"),
    ],
)
def test_the_end_of_the_process_is_told_with_the_operation_in_flight(end, how):
    def fatal(watchdog):
        watchdog.enter("queue.push(1)", "queue.push.accept")
        watchdog.leave()
        watchdog.enter("queue.pop()", "queue.pop.exactly-once")
        end()

    ended = run(fatal, time_limit=5)
    assert isinstance(ended, Abort)
    assert ended.how == how
    assert not ended.hung
    assert ended.rule == "queue.pop.exactly-once"
    assert ended.steps == ("queue.push(1)", "queue.pop()")


def hang_deaf():
    while True:
        try:
            time.sleep(3600)
        except BaseException:
            continue


def hang_in_c():
    signal.signal(signal.SIGABRT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@pytest.mark.parametrize("hang", [hang_deaf, hang_in_c])
def test_a_hang_is_ended_and_told(hang):
    def fatal(watchdog):
        watchdog.enter("queue.pop()", "queue.pop.exactly-once")
        hang()

    started = time.monotonic()
    ended = run(fatal, time_limit=0.3)
    assert time.monotonic() - started < 5
    assert isinstance(ended, Abort)
    assert ended.hung
    assert ended.how == "did not return within 0.3 s"


def test_a_hang_shows_the_stacks_of_all_threads():
    def waits_in_a_thread():
        threading.Event().wait()

    def fatal(watchdog):
        threading.Thread(target=waits_in_a_thread, daemon=True).start()
        watchdog.enter("queue.pop()", "queue.pop.exactly-once")
        hang_deaf()

    ended = run(fatal, time_limit=0.3)
    assert isinstance(ended, Abort)
    assert "waits_in_a_thread" in ended.stacks
    assert "hang_deaf" in ended.stacks


def test_time_between_operations_is_not_limited():
    def slow(watchdog):
        watchdog.enter("queue.pop()", "rule")
        watchdog.leave()
        time.sleep(0.5)
        return "done"

    assert run(slow, time_limit=0.1) == Answer("done")


def alive(number):
    """Whether a process goes on."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def gone(number):
    """Wait until a process has ended."""
    deadline = time.monotonic() + 60
    while alive(number):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return True


def orphan():
    """Leave a process to whoever adopts it."""
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(60)
        os._exit(0)
    os.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives a process the orphans below it")
@pytest.mark.parametrize("code", ["time.sleep(60)", "os._exit(0)", "orphan()"])
def test_processes_that_multiply_end_the_run(monkeypatch, code):
    monkeypatch.setattr(endings, "MANY", 10)
    start = orphan if code == "orphan()" else lambda: os.fork() or (eval(code), os._exit(0))

    def multiply(watchdog):
        watchdog.enter("queue.push(1)", "queue.push.accept")
        for _ in range(20):
            start()
        time.sleep(60)

    ended = run(multiply, time_limit=60)
    assert isinstance(ended, Abort)
    assert (ended.many, ended.hung, ended.rule) == (True, False, "queue.push.accept")
    assert ended.how == "was in hand when there were more than 10 processes of the class, running or not waited for"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives a process the orphans below it")
def test_processes_that_are_left_behind_are_ended_and_told():
    def leaves_children(watchdog):
        left = subprocess.Popen(["sleep", "600"], start_new_session=True)
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
                time.sleep(600)
            os._exit(0)
        return left.pid

    ended = run(leaves_children, time_limit=5)
    assert isinstance(ended, Answer)
    assert len(ended.left) == 2
    assert "sleep" in ended.left
    assert not alive(ended.value)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent has ended")
def test_nothing_outlives_a_caller_that_is_killed():
    reader, writer = os.pipe()
    caller = os.fork()
    if caller == 0:

        def works(watchdog):
            left = subprocess.Popen(["sleep", "600"], start_new_session=True)
            os.write(writer, f"{os.getppid()} {os.getpid()} {left.pid}\n".encode())
            time.sleep(600)

        run(works, time_limit=600)
    os.close(writer)
    with open(reader) as pipe:
        numbers = [int(number) for number in pipe.readline().split()]
    os.kill(caller, signal.SIGKILL)
    os.waitpid(caller, 0)
    assert all(map(gone, numbers))


@pytest.mark.parametrize(
    "harm",
    [
        lambda: os.closerange(0, 100),
        lambda: setattr(os, "_exit", sys.exit),
        lambda: setattr(pickle, "dumps", None),
        lambda: setattr(builtins, "open", None),
        lambda: setattr(os, "getpid", lambda: 1),
        lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0)),
        lambda: signal.signal(signal.SIGABRT, signal.SIG_IGN),
        lambda: os.write(1, b"x" * 100_000) and None,
        hostile.write_everywhere,
        hostile.shut_down_everything,
        hostile.replace_everything,
    ],
    ids=["descriptors", "exit", "pickle", "open", "getpid", "limit", "signal", "output", "writes", "shuts down", "replaces"],
)
def test_an_answer_comes_from_a_process_that_is_out_of_order(harm, capfd):
    def works(watchdog):
        harm()
        return "done"

    assert run(works, time_limit=5) == Answer("done")


def test_who_kills_a_whole_group_kills_no_more_than_its_own():
    def kills(watchdog):
        watchdog.enter("queue.pop()", "queue.pop.exactly-once")
        os.killpg(0, signal.SIGKILL)

    ended = run(kills, time_limit=5)
    assert isinstance(ended, Abort)
    assert ended.how == "killed the process (SIGKILL)"


@pytest.fixture
def hang_ups():
    """Hang-ups end processes here, also where nohup lets them be ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hang_ups")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, 40])
def test_who_ends_its_parent_is_told_of_with_the_operation_that_did_it(number):
    def ends(watchdog):
        watchdog.enter("queue.push(1)", "queue.push.accept")
        os.kill(os.getppid(), number)
        watchdog.leave()
        for _ in range(600_000):
            watchdog.enter("queue.pop()", "queue.pop.exactly-once")
            watchdog.leave()

    ended = twice(lambda: run(ends, time_limit=600))
    assert isinstance(ended, Abort)
    assert ended.how == f"ended its parent process ({signal_name(number)})"
    assert (ended.rule, ended.steps) == ("queue.push.accept", ("queue.push(1)",))


@pytest.mark.parametrize("number", [0, signal.SIGSTOP, signal.SIGINT, signal.SIGWINCH])
def test_a_signal_that_ends_nothing_holds_nothing_up(number):
    assert run(lambda watchdog: os.kill(os.getppid(), number), time_limit=5) == Answer(None)


def test_an_operation_that_comes_back_in_two_processes_is_told(monkeypatch):
    monkeypatch.setattr(descendants, "_LEAVE", 60.0)  # the copy may be late on a busy machine

    def works(watchdog):
        recorder = Recorder(watchdog)
        recorder.call("queue.push(1)", "queue.push.accept", lambda: None)
        recorder.call("queue.pop()", "queue.pop.exactly-once", os.fork)
        return "done"

    ended = run(works, time_limit=5)
    assert isinstance(ended, Abort)
    assert ended.how == "came back in two processes: it forked, and the copy returned too"
    assert (ended.rule, ended.steps) == ("queue.pop.exactly-once", ("queue.push(1)", "queue.pop()"))


def test_nothing_of_the_child_reaches_the_caller():
    before = signal.getsignal(signal.SIGTERM)

    def litter(watchdog):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        sys.path.append("litter")
        os.chdir("/")

    here = os.getcwd()
    run(litter, time_limit=5)
    assert signal.getsignal(signal.SIGTERM) is before
    assert "litter" not in sys.path
    assert os.getcwd() == here


def test_no_descriptor_is_left_open():
    run(lambda watchdog: 1, time_limit=5)
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        run(lambda watchdog: 1, time_limit=5)
    assert len(os.listdir("/dev/fd")) <= before + 1


def test_in_process_runs_here():
    assert run(lambda watchdog: os.getpid(), time_limit=5, in_process=True) == Answer(os.getpid())


def test_the_watchdog_keeps_the_latest_program():
    watchdog = Watchdog()
    watchdog.enter("queue.push(1)", "a")
    watchdog.restart("[sequence]")
    watchdog.enter("queue.push(2)", "b")
    assert watchdog.read("steps") == "queue.push(2)\n"
    assert watchdog.read("sequence") == "[sequence]"
    assert watchdog.read("rule") == "b"
    assert watchdog.in_flight_since > 0
    watchdog.leave()
    assert watchdog.in_flight_since == 0


def test_the_watchdog_survives_more_steps_than_it_can_hold():
    watchdog = Watchdog()
    for number in range(10_000):
        watchdog.enter(f"queue.push({number})", "rule")
    assert watchdog.read("steps").endswith("queue.push(9999)\n")


def test_the_watchdog_keeps_what_is_no_text_and_cuts_what_is_too_long():
    watchdog = Watchdog()
    watchdog.enter("queue.push('\udce9')", "rule")
    assert watchdog.read("steps") == "queue.push('\\udce9')\n"
    watchdog.enter("x" * 1_000_000, "rule")
    assert set(watchdog.read("steps")) == {"x"}
    assert watchdog.read("copy") == ""


def test_the_watchdog_drops_a_text_that_is_too_long():
    watchdog = Watchdog()
    watchdog.restart("x" * 1_000_000)
    assert watchdog.read("sequence") == ""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent has ended")
@pytest.mark.parametrize("late", [False, True])
def test_no_child_outlives_its_parent(late):
    """Neither one that waits when its parent ends, nor one that begins only then."""
    reader, writer = os.pipe()
    middle = os.fork()
    if middle == 0:
        parent = os.getpid()
        if (os.fork() if late else fork()) == 0:
            while late and os.getppid() == parent:
                time.sleep(0.01)
            if late:
                die_with_parent(parent)
            else:
                time.sleep(10)
            os.write(writer, b"alive")
        os._exit(0)
    os.close(writer)
    os.waitpid(middle, 0)
    with open(reader, "rb") as pipe:
        assert pipe.read() == b""


def test_a_hang_between_operations_is_ended_and_told(monkeypatch):
    monkeypatch.setattr(endings, "SILENCE", 0.3)

    def fatal(watchdog):
        watchdog.enter("queue.pop()", "queue.pop.exactly-once")
        watchdog.leave()
        hang_deaf()

    ended = run(fatal, time_limit=0.1)
    assert isinstance(ended, Abort)
    assert ended.between
    assert ended.how == "returned, and then nothing went on for 0.6 s"
    assert (ended.rule, ended.steps) == ("queue.pop.exactly-once", ("queue.pop()",))


@pytest.mark.parametrize("sign", [lambda watchdog: watchdog.count(), lambda watchdog: watchdog.restart()])
def test_work_that_gives_signs_of_life_is_no_hang(monkeypatch, sign):
    monkeypatch.setattr(endings, "SILENCE", 0.6)

    def work(watchdog):
        for _ in range(12):
            time.sleep(0.1)
            sign(watchdog)
        return "done"

    assert run(work, time_limit=0.1) == Answer("done")


def test_a_hang_is_told_although_the_clock_was_stopped():
    def fatal(watchdog):
        time.monotonic = lambda: 0.0
        watchdog.enter("queue.pop()", "queue.pop.exactly-once")
        hang_deaf()

    ended = run(fatal, time_limit=0.3)
    assert isinstance(ended, Abort)
    assert ended.how == "did not return within 0.3 s"


def test_the_result_comes_back_from_a_process_whose_streams_were_closed():
    def close(watchdog):
        sys.stdout.close()
        sys.stderr.close()
        return "done"

    assert run(close, time_limit=5) == Answer("done")
