"""The scratch directory of a run is removed when the run has ended, however it ended, and never before."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial

import kit
import pytest

from queue_conformance.engine.verdicts import Verdict
from queue_conformance.frontends.scratch import Scratch
from queue_conformance.processes.trees import remove, temporary_files_below
from queue_conformance.reports import INTERRUPTED
from queue_conformance.reports.reading import read
from queue_reference.bytequeues import FifoByteQueue

RUN = """
import os, sys
from queue_conformance.frontends.scratch import Scratch
print(Scratch().path, flush=True)
sys.stdin.read()
os._exit(1)
"""
NAMESPACE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


def in_a_namespace_of_their_own():
    try:
        return subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.parametrize(
    "where",
    [
        (),
        pytest.param(
            NAMESPACE, marks=pytest.mark.skipif(not in_a_namespace_of_their_own(), reason="needs namespaces of processes")
        ),
    ],
    ids=["here", "in another namespace"],
)
def test_a_run_that_goes_on_keeps_its_directory_and_one_that_was_killed_does_not(where):
    with subprocess.Popen([*where, sys.executable, "-c", RUN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        path = other.stdout.readline().strip()
        Scratch().remove()
        listed = subprocess.run(["ls", path], capture_output=True, text=True)
        assert listed.stdout.split() == ["lock"]
        if not where:
            other.kill()
    Scratch().remove()
    assert subprocess.run(["ls", path], capture_output=True).returncode != 0


def test_where_nothing_can_be_made_in_memory_the_directory_is_where_temporary_files_are(tmp_path, monkeypatch):
    memory = tmp_path / "memory"
    memory.touch()  # in which even root makes nothing
    monkeypatch.setattr("queue_conformance.frontends.scratch._root", lambda: str(memory))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = Scratch()
    assert scratch.path.parent == tmp_path
    scratch.remove()
    assert list(tmp_path.iterdir()) == [memory]


def test_nothing_is_left_of_a_directory_that_was_removed_by_halves():
    scratch = Scratch()
    half = scratch.path.with_name(f"{scratch.path.name}-half")
    half.mkdir()
    (half / "file").touch()
    other = Scratch()
    assert not half.exists()
    assert scratch.path.is_dir()
    shutil.rmtree(other.path)
    for one in (scratch, other, other):
        one.remove()
    assert not scratch.path.exists()


def deep(directory, levels=1200):
    """Make directories below each other, too many for a path."""
    here = os.getcwd()
    try:
        os.chdir(directory)
        for _ in range(levels):
            os.mkdir("level")
            os.chdir("level")
        with open("file", "w") as file:
            file.write("at the bottom")
    finally:
        os.chdir(here)


def test_directories_far_down_are_removed_and_what_links_lead_to_is_not(tmp_path):
    kept, removed = tmp_path / "kept", tmp_path / "removed"
    for directory in (kept, removed, removed / "0", removed / "closed"):
        directory.mkdir()
    (kept / "file").touch()
    for name in ("link", "0/1"):
        (removed / name).symlink_to(kept)
    deep(removed)
    (removed / "closed").chmod(0)
    remove(removed)
    assert os.listdir(tmp_path) == ["kept"]
    assert os.listdir(kept) == ["file"]


def test_what_a_killed_run_left_far_down_ends_no_later_one():
    left = Scratch()
    deep(left.path)
    os.close(left._lock)
    Scratch().remove()
    until = time.monotonic() + 60.0
    while left.path.exists() and time.monotonic() < until:  # another run, which has just begun, may be removing it
        time.sleep(0.1)
    assert not left.path.exists()


def test_what_others_own_or_can_change_stays(monkeypatch):
    root = Scratch()
    beside = [root.path.with_name(f"{root.path.name}-{name}") for name in ("other", "open", "file", "link")]
    beside[0].mkdir(0o700)
    beside[1].mkdir(0o777)
    beside[1].chmod(0o777)
    beside[2].touch(0o700)
    beside[3].symlink_to(root.path)
    try:
        user = os.geteuid()
        with monkeypatch.context() as patched:
            patched.setattr(os, "geteuid", lambda: user + 1)
            Scratch().remove()
        assert beside[0].exists()
        Scratch().remove()
        assert [path.name.rpartition("-")[2] for path in beside if os.path.lexists(path)] == ["open", "file", "link"]
    finally:
        beside[1].rmdir()
        beside[2].unlink()
        beside[3].unlink()
        root.remove()


SLOW = """
import os, time
from queue_reference.memory import FifoMemoryQueue

class Queue(FifoMemoryQueue):
    def pop(self):
        with open(os.path.join(os.path.dirname(__file__), "popped"), "a") as file:
            print(os.getcwd(), file=file)
        time.sleep(0.2)
        return super().pop()
"""


def heed(*numbers):
    """Heed signals that what runs these tests may ignore; execnet ends the workers of pytest-xdist by SIGINT."""
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)


@pytest.mark.parametrize(
    ("number", "arguments"),
    [(signal.SIGINT, []), (signal.SIGTERM, []), *kit.further((signal.SIGHUP, []), (signal.SIGTERM, ["-n1"]))],
)
def test_a_run_that_is_asked_to_end_ends_in_order(tmp_path, number, arguments):
    (tmp_path / "slow.py").write_text(SLOW)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "--queue-class=slow.Queue",
        "--conformance-report=r.jsonl",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path))}
    how = {"cwd": tmp_path, "env": environment, "stdout": subprocess.PIPE, "text": True}
    how["preexec_fn"] = partial(heed, number, signal.SIGINT)
    with subprocess.Popen([*command, *arguments], **how) as run:
        said = ""
        while "PASSED" not in said:
            line = run.stdout.readline()
            assert line
            said += line
        run.send_signal(number)
        said += run.communicate()[0]
    assert run.returncode == pytest.ExitCode.INTERRUPTED
    assert said.count(f"ERROR: {INTERRUPTED}") == 1
    report = read(tmp_path / "r.jsonl")
    assert report.interrupted
    assert not any(map(os.path.exists, (tmp_path / "popped").read_text().split()))
    assert [found.name for found in report.implementations] == ["slow.Queue"]
    refusing = number == signal.SIGHUP  # the same for each
    for asked in (["compare", "r.jsonl", "r.jsonl"], ["matrix", "r.jsonl"], ["report", "r.jsonl", "r.jsonl"]) if refusing else ():
        ended = subprocess.run(
            [sys.executable, "-m", "queue_conformance", *asked], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "the run that wrote it was interrupted, so it is not whole: run again" in ended.stderr


WHILE_IT_WRITES = """
import os, signal
from queue_conformance.reports import files

def write(report, path, write=files.write):
    for _ in range(TIMES if path.name == "r.jsonl" else 0):
        os.kill(os.getpid(), signal.SIGINT)
    write(report, path)

files.write = write
signal.signal(signal.SIGINT, signal.default_int_handler)
"""


@pytest.mark.parametrize("times", [1, 2])
def test_a_report_that_is_being_written_is_finished_unless_that_is_interrupted_twice(pytester, times):
    pytester.makeconftest(WHILE_IT_WRITES.replace("TIMES", str(times)))
    arguments = [f"--queue-class={kit.FIFO_MEMORY}", "-k", "queue.pop.fifo", "--conformance-report=r.jsonl"]
    run = pytester.runpytest_subprocess(*arguments)
    run.stderr.fnmatch_lines(["writing what was found; Ctrl-C once more interrupts that, too"])
    assert (run.ret == pytest.ExitCode.INTERRUPTED) == (times == 1)
    if times == 1:
        run.stdout.fnmatch_lines(["*verdict: PARTIAL*"])
        assert "Traceback" not in run.stderr.str()
        assert not read(pytester.path / "r.jsonl").interrupted


ONCE_ALL_IS_SAID = """
import os, signal

def pytest_sessionstart(session):
    session.config.add_cleanup(lambda: os.kill(os.getpid(), signal.SIGTERM))
"""


def test_a_run_that_has_said_all_ends_by_a_signal_without_a_traceback(pytester):
    pytester.makeconftest(ONCE_ALL_IS_SAID)
    run = pytester.runpytest_subprocess(
        f"--queue-class={kit.FIFO_MEMORY}", "-k", "queue.pop.fifo", "--conformance-report=r.jsonl"
    )
    assert run.ret == -signal.SIGTERM
    run.stdout.fnmatch_lines(["*verdict: PARTIAL*"])
    assert "Traceback" not in run.stdout.str() + run.stderr.str()
    assert not read(pytester.path / "r.jsonl").interrupted


USUAL = tempfile.gettempdir()


class MovedIntoPlace(FifoByteQueue):
    """A queue that writes what it has into a temporary file first, and moves that into its store when it is whole."""

    def __init__(self, path):
        self.whole = f"{path}.whole"
        super().__init__(path)

    def push(self, item):
        with tempfile.NamedTemporaryFile(delete=False) as whole:
            whole.write(item)
        if os.path.dirname(whole.name) == USUAL:
            raise OSError(errno.EXDEV, "as if the scratch directory were in memory")
        os.rename(whole.name, self.whole)
        super().push(item)


def test_temporary_files_of_a_class_can_be_moved_into_its_store_and_are_removed_with_it(tmp_path):
    before = tempfile.gettempdir(), os.environ.get("TMPDIR")
    with temporary_files_below(tmp_path):
        assert os.environ["TMPDIR"] == tempfile.gettempdir() == str(tmp_path / "temporary")
    assert (tempfile.gettempdir(), os.environ.get("TMPDIR")) == before
    report = kit.examine("test_scratch.MovedIntoPlace", only={"smoke", "queue.pop.fifo"})
    assert not report.failed_rules("MUST")
    assert "queue.pop.fifo" in {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.PASSED}
