"""What is wrong around a class is not the class's: the verdict is INCONCLUSIVE, and one line says what to do."""

import resource
import shutil
import socketserver
import tempfile
import threading
from contextlib import closing
from importlib import metadata
from pathlib import Path

import pytest
from kit import FIFO_DISK, FIFO_MEMORY

from queue_conformance.config.run_config import Options
from queue_conformance.config.targets import Target
from queue_conformance.engine.verdicts import RunVerdict, Verdict
from queue_conformance.environments import crawling, engine
from queue_conformance.faults import servers
from queue_conformance.frontends.runs import Run
from queue_conformance.implementation.loading import LoadError, load_class
from queue_conformance.processes.isolation import IsolatedError
from queue_conformance.reports import terminal
from queue_conformance.running import surroundings
from queue_conformance.running.surroundings import refusal, trouble
from queue_conformance.specification import pairs


@pytest.mark.parametrize(
    ("said", "begins"),
    [
        ("OSError(28, 'No space left on device') raised by queue.push(...)", "there is no space left in "),
        ("sqlite3.OperationalError('database or disk is full')", "there is no space left in "),
        ("killed the process (SIGXFSZ)", "files may not grow here"),
        ("OSError(24, 'Too many open files')", "this process may open no more files"),
        ('RuntimeError("can\'t start new thread")', "there can be no more processes or threads here"),
        ("MemoryError()", "there is no memory left"),
        ("queue_conformance.faults.servers.ServerError: it answers no more", "the server behind it failed (it answers no more)"),
        ("AssertionError('lost')", ""),
    ],
)
def test_an_error_of_the_system_is_told_where_the_system_is_short(monkeypatch, tmp_path, said, begins):
    monkeypatch.setattr(surroundings, "ROOM", 1 << 60)
    monkeypatch.setattr(surroundings, "FEW", float("inf"))
    monkeypatch.setattr(surroundings, "_limit", lambda name: 100.0)
    line = trouble(tmp_path, said)
    assert line.startswith(begins)
    assert bool(line) == bool(begins)
    assert "\n" not in line


@pytest.mark.parametrize("said", ["OSError(28, 'No space left on device')", "OSError(27, 'File too large')", "MemoryError()"])
def test_what_the_kit_itself_refused_is_no_trouble(monkeypatch, tmp_path, said):
    monkeypatch.setattr(surroundings, "ROOM", 0)
    monkeypatch.setattr(surroundings, "_limit", lambda name: float("inf"))
    assert trouble(tmp_path, said) == ""


class Psycopg(Exception):
    """What a client of a database raises."""


@pytest.mark.parametrize(
    ("said", "why", "advice"),
    [
        ("failed: fe_sendauth: no password supplied", "fe_sendauth: no password supplied", "name a user"),
        ('failed: FATAL:  role "x" does not exist', 'FATAL: role "x" does not exist', "name a user"),
        ("failed: FATAL:  sorry, too many clients already\n", "FATAL: sorry, too many clients already", "let it take more conn"),
        ("ACCESS_REFUSED - Login was refused", "ACCESS_REFUSED - Login was refused", "name a user"),
        ("Authentication failed.", "Authentication failed.", "name a user"),
        ("NOPERM this user has no permissions to run the 'config' command", "to run the 'config' command", "name one that does"),
        ("permission denied to create role\n", "permission denied to create role", "--queue-server=HOST:PORT"),
        ('relation "requests" does not exist', "", ""),
        ("failed: Connection refused\n\tIs the server running?", "Is the server running?", "name or start one by --queue-server"),
        ("no item", "", ""),
    ],
)
def test_a_server_that_lets_nobody_in_is_told_by_what_the_class_raises(said, why, advice):
    try:
        try:
            raise Psycopg(f'connection to server at "127.0.0.1", port 5432 {said}')
        except Psycopg:
            raise ValueError("not now") from None
    except ValueError as error:
        line = refusal(error)
    assert bool(line) == bool(why)
    assert why in line
    assert advice in line
    assert "\n" not in line


def test_a_server_that_lets_nobody_in_any_more_is_told(tmp_path):
    said = "OperationalError('FATAL: sorry, too many clients already') raised by queue.push(...)"
    line = "the server at db:5432 does not let it in (too many clients): let it take more connections"
    assert trouble(tmp_path, said, "db:5432") == line
    assert trouble(tmp_path, said, "postgresql") == "", "the kit may have done it"


@pytest.mark.parametrize(("before", "begins"), [(3, "there is no memory left"), (4, "")])
def test_a_process_that_the_kernel_killed_for_want_of_memory_is_told(monkeypatch, tmp_path, before, begins):
    monkeypatch.setattr(surroundings, "_KILLED_BEFORE", before)
    monkeypatch.setattr(surroundings, "_killed_for_memory", lambda: 4)
    line = trouble(tmp_path, "queue.pop() killed the process (SIGKILL)")
    assert line.startswith(begins)
    assert bool(line) == bool(begins)


def test_a_scratch_directory_that_is_gone_is_told(tmp_path):
    assert trouble(tmp_path / "gone", "") == (
        f"the scratch directory {tmp_path / 'gone'} is gone: let nothing clean up there while a run goes on"
    )


TRACEBACK = """Traceback (most recent call last):
  File "/x/site-packages/queue_conformance/world.py", line 3, in start
  File "/x/site-packages/{}/core/downloader/tls.py", line 7, in <module>
{}"""


@pytest.mark.parametrize(
    ("package", "last", "told"),
    [
        ("scrapy", "ImportError: cannot import name '_x' from 'twisted.internet._sslverify'", True),
        ("scrapy", "KeyError: 'x'", False),
        ("queue_conformance", "ImportError: cannot import name '_x' from 'scrapy'", False),
    ],
)
def test_releases_that_do_not_go_together_are_no_mistake_of_the_kit(package, last, told):
    line = surroundings.unsupported(TRACEBACK.format(package, last))
    assert bool(line) == told
    if told:
        assert line.startswith(f"scrapy {metadata.version('scrapy')} does not go with what is installed beside it ({last})")


def test_a_release_that_the_kit_does_not_run_with_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr(surroundings.metadata, "version", lambda name: "2.12.0" if name == "scrapy" else "999")
    run = Run(Options(()), tmp_path)
    line = run.failed_before_checks("scrapy.squeues.FifoMemoryQueue", IsolatedError("ImportError: no name '_Slot'"))
    assert line == "scrapy 2.12.0 is installed, and the kit runs with >=2.13: install such a release"
    assert run.errors == [line]
    assert not run.internal_errors


def test_an_old_release_of_what_only_some_classes_need_is_told_where_it_failed(monkeypatch):
    monkeypatch.setattr(surroundings.metadata, "version", lambda name: "0.3.0" if name == "qcrawl" else "999")
    failed = "ModuleNotFoundError: No module named 'qcrawl.core.queues.disk'"
    assert surroundings.unsupported(failed) == "qcrawl 0.3.0 is installed, and the kit runs with >=0.4: install such a release"
    assert surroundings.unsupported("ValueError: 5") == ""


@pytest.mark.parametrize(
    ("option", "path"),
    [("scheduler-class", "scrapy.core.scheduler.Scheduler"), ("priority-queue-class", "scrapy.pqueues.ScrapyPriorityQueue")],
)
def test_a_scrapy_that_can_make_no_engine_is_told(monkeypatch, option, path):
    def cannot(*arguments):
        try:
            raise ImportError(f"cannot import name '_x' from 'twisted.internet.{'of_a_long_name' * 20}'")  # reports cut it
        except ImportError:
            raise AttributeError("no downloader")  # noqa: B904  as Scrapy's own engine does when it tidies up

    crawling._CRAWLERS.clear()  # one of them may have an engine already
    monkeypatch.setattr(engine, "ExecutionEngine", cannot)
    with closing(Run(Options(()))) as run, pytest.raises(LoadError) as told:
        run.examine(Target(path, option, path))
    assert str(told.value).startswith("Scrapy can make no engine here (ImportError: cannot import name '_x' from")
    assert str(told.value).endswith("): look at the settings, and at what is installed beside it")


class Refusing(socketserver.StreamRequestHandler):
    """A server that wants a password."""

    def handle(self):
        self.rfile.readline()
        self.wfile.write(b"-NOAUTH Authentication required.\r\n")


class Foreign(socketserver.StreamRequestHandler):
    """A server that speaks another language, and greets first, as databases do."""

    def handle(self):
        self.wfile.write(b"J\0\0\0\x0a11.8.3-MariaDB\0")
        self.rfile.read(1)


def test_a_server_of_another_kind_is_no_trouble(tmp_path):
    with socketserver.TCPServer(("127.0.0.1", 0), Foreign) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert trouble(tmp_path, "", f"127.0.0.1:{server.server_address[1]}") == ""
        server.shutdown()


def test_a_server_that_wants_a_password_or_is_gone_is_told(tmp_path):
    with socketserver.TCPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        name = f"127.0.0.1:{server.server_address[1]}"
        refusal = f"the server at {name} refuses the kit (NOAUTH Authentication required.)"
        assert trouble(tmp_path, "", name) == f"{refusal}: give a server for tests that wants no password"
        with pytest.raises(servers.ServerError, match=f"the server at {name} refuses the kit: NOAUTH"):
            servers.prepare(name, tmp_path)
        server.shutdown()
    assert trouble(tmp_path, "", name) == f"the server at {name} answers no more (Connection refused): start it, and run again"


def run_with(path, around):
    """Test a class of this process in two checks; between the discovery and these, something happens around it."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        run = Run(Options(()), Path(directory))
        target = Target(path, "", path, {}, {}, "")
        implementation_run = run.begin(target, load_class(path))
        around(Path(directory))
        for check in implementation_run.checks:
            if check.name in ("smoke", "queue.push.accept", "queue.pop.fifo"):
                run.add(path, implementation_run.run(check))
        (report,) = run.report().implementations
        return report


def test_a_scratch_directory_that_vanishes_makes_the_run_inconclusive():
    report = run_with(FIFO_MEMORY, shutil.rmtree)
    assert report.verdict is RunVerdict.INCONCLUSIVE
    (note,) = [note for note in report.notes if "scratch directory" in note]
    (found,) = [v for v in report.verdicts if v.rule.id == "queue.pop.fifo"]
    assert (found.verdict, found.reason) == (Verdict.NOT_COVERED, note)
    assert terminal.why(report) == f"{note}, so nothing is proven"


def test_a_small_limit_on_files_makes_the_run_inconclusive():
    """Not that of this process: the one that the discovery found."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        report = run_with(FIFO_DISK, lambda directory: resource.setrlimit(resource.RLIMIT_FSIZE, (4, before[1])))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert report.verdict is RunVerdict.INCONCLUSIVE
    assert [note for note in report.notes if note.startswith("files may not grow here: ")]


def test_a_directory_that_cannot_be_used_is_one_line(tmp_path):
    with (
        closing(Run(Options(()), tmp_path / "nowhere")) as run,
        pytest.raises(LoadError, match=r"^the scratch directory .* is gone: "),
    ):
        run.begin(Target(FIFO_MEMORY, "", FIFO_MEMORY, {}, {}, ""))


@pytest.mark.parametrize(
    ("scrapy", "twisted", "line"),
    [
        ("2.13.4", "26.10.0", "install Twisted 25.5.0 or Scrapy 2.16.0 or later"),
        ("2.15.1", "26.4.0", "install Twisted 25.5.0 or Scrapy 2.16.0 or later"),
        ("2.15.2", "25.5.0", ""),
        ("2.19.0", "26.10.0", ""),
        ("3.0.0", "27.0.0", ""),
    ],
)
def test_a_twisted_that_scrapy_does_not_work_with_is_told_with_one_that_it_does(monkeypatch, tmp_path, scrapy, twisted, line):
    monkeypatch.setattr(pairs.metadata, "version", {"scrapy": scrapy, "twisted": twisted}.__getitem__)
    assert pairs.mismatch() == (f"Scrapy {scrapy} does not work with Twisted {twisted}: {line}" if line else "")
    assert pairs.mismatch_behind("ImportError: cannot import name 'x' from 'twisted.internet'") == pairs.mismatch()
    assert not pairs.mismatch_behind("ImportError: cannot import name 'x' from 'redis'")
    said = trouble(tmp_path, "EngineError('ImportError: cannot import name _x') raised by Scheduler.from_crawler(crawler)")
    assert said.startswith("Scrapy can make no engine here") if not line else said == pairs.mismatch()
