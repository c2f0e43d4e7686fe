"""What several tests of the kit use."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar

import pytest
from preloading import preload

from mutants import PSYCOPG, QCRAWL, Mutant
from queue_conformance.config.run_config import Options
from queue_conformance.config.targets import Target
from queue_conformance.discovery.stages import discover
from queue_conformance.engine import kept_store
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.kept_store import KeptStore
from queue_conformance.engine.registry import Check
from queue_conformance.engine.verdicts import Verdict
from queue_conformance.environments import crawls
from queue_conformance.faults.filesystem import mount_small_filesystem
from queue_conformance.faults.servers.postgresql import PostgreSQLServer
from queue_conformance.frontends.guarded import guarded
from queue_conformance.frontends.implementation_run import ImplementationRun
from queue_conformance.frontends.runs import Run
from queue_conformance.implementation import Implementation
from queue_conformance.processes import descriptors, isolation
from queue_conformance.processes.host import Host
from queue_conformance.processes.isolation import Watchdog
from queue_conformance.reports import ImplementationReport
from queue_conformance.running.contexts import RunConfig
from queue_conformance.specification import load
from queue_conformance.specification.applicability import installed_releases
from queue_conformance.upgrades import store

preload()  # once, and not in each process that a run forks

T = TypeVar("T")

TESTS = Path(__file__).parent
RELEASES = installed_releases()

FIFO_MEMORY = "queue_reference.memory.FifoMemoryQueue"
LIFO_MEMORY = "queue_reference.memory.LifoMemoryQueue"
FIFO_DISK = "queue_reference.disk.FifoDiskQueue"
LIFO_DISK = "queue_reference.disk.LifoDiskQueue"
FIFO_BYTES = "queue_reference.bytequeues.FifoByteQueue"
PRIORITY = "queue_reference.collections.PriorityQueue"
TURNS = "queue_reference.collections.RoundRobinQueue"
SCHEDULER = "queue_reference.scheduler.Scheduler"
DUPEFILTER = "queue_reference.dupefilter.DupeFilter"
STATE = "queue_reference.state.SpiderState"
REQUEST_PRIORITY = "queue_reference.pqueues.PriorityQueue"
SLOT_PRIORITY = "queue_reference.pqueues.SlotPriorityQueue"
ASYNC_MEMORY = "queue_reference.async_queues.MemoryQueue"
ASYNC_DISK = "queue_reference.async_queues.DiskQueue"

NO_POSTGRESQL = PostgreSQLServer.missing() or ("" if PSYCOPG else "the extra 'postgresql' is not installed")
"""Why queues on PostgreSQL cannot be tested here, or ``""``."""

REFERENCES = (
    FIFO_MEMORY,
    LIFO_MEMORY,
    FIFO_DISK,
    LIFO_DISK,
    FIFO_BYTES,
    "queue_reference.bytequeues.LifoByteQueue",
    "queue_reference.bytequeues.FifoMemoryByteQueue",
    "queue_reference.bytequeues.LifoMemoryByteQueue",
    PRIORITY,
    TURNS,
    SCHEDULER,
    DUPEFILTER,
    STATE,
    REQUEST_PRIORITY,
    SLOT_PRIORITY,
    *((ASYNC_MEMORY, ASYNC_DISK, "queue_reference.async_scheduler.Scheduler") if QCRAWL else ()),
)
"""Every reference implementation."""

SETTINGS: Mapping[str, Mapping[str, str]] = {
    SCHEDULER: {
        "DUPEFILTER_CLASS": DUPEFILTER,
        "SCHEDULER_DISK_QUEUE": LIFO_DISK,
        "SCHEDULER_START_DISK_QUEUE": FIFO_DISK,
    }
}
"""What references are built with, where a test says nothing else: a job keeps no more than its queues do."""


def examine(
    path: str,
    claims: Mapping[str, str] | None = None,
    *,
    seed: int = 0,
    only: str | Collection[str] | None = None,
    time_limit: float = 10.0,
    examples: int = 100,
    crawls: int = 1,
    settings: Mapping[str, str] | None = None,
    server: str = "",
    allow: Sequence[str] = (),
    meets: Callable[[int, Check], bool] = lambda number, check: True,
    shows: frozenset[str] = frozenset(),
    factory: Callable[..., Any] | None = None,
    kept: Sequence[KeptStore] = (),
) -> ImplementationReport:
    """Run the checks of a class, or only those of some names, and which ``meets`` says of their numbers and of themselves.

    If these do not find that the rules of ``shows`` fail, run the machines too.
    """
    names = {only} if isinstance(only, str) else only
    given = SETTINGS.get(path, {}) if settings is None else settings

    def choose(implementation_run: ImplementationRun) -> Iterator[Check]:
        checks = [check for number, check in enumerate(implementation_run.checks) if meets(number, check)]
        yield from (check for check in checks if names is None or check.name in names)
        if not shows <= failed_rules(run.report().implementations[0]):
            yield from (check for check in implementation_run.checks if check.is_machine)

    with tempfile.TemporaryDirectory(dir=scratch_root()) as directory:
        asked = Options((), seed=seed, time_limit=time_limit, examples=examples, crawls=crawls, allow=tuple(allow))
        run = Run(asked, Path(directory))
        with closing(run):
            target = Target(path, "", path, given, claims or {}, server, kept=tuple(kept))
            run.examine(target, choose, factory=factory)
        assert not run.internal_errors, "\n".join(run.internal_errors.values())
        (report,) = run.report().implementations
        return report


class Lean:
    """A process that has imported little: each fork of it, and each run makes several, costs half as much as one of a worker."""

    def __init__(self) -> None:
        self._host: Host | None = None

    def begin(self) -> None:
        """Start the process: what this one has not imported yet is not there either."""
        self._host = Host(_examine_there, AssertionError, timeout=3600.0)  # no sign of life comes from there

    def examine(self, *arguments: Any, **how: Any) -> ImplementationReport:
        """Do what :func:`examine` does, with what can be pickled; what a test has replaced is not replaced there."""
        if self._host is None:
            self.begin()
        assert self._host is not None
        try:
            report: ImplementationReport = self._host.ask((os.getcwd(), dict(os.environ), arguments, how))
        except AssertionError:
            raise
        except BaseException:
            self.close()  # it may have ended, which is no affair of the next test
            raise
        return report

    def close(self) -> None:
        """End the process; the next class is tested in another one."""
        if self._host is not None:
            self._host.close()
            self._host = None


def _examine_there(request: tuple[str, Mapping[str, str], Sequence[Any], Mapping[str, Any]]) -> ImplementationReport:
    directory, environment, arguments, how = request
    os.chdir(directory)
    os.environ.clear()
    os.environ.update(environment)
    return examine(*arguments, **how)


def kept_for(mutant: Mutant, directory: Path) -> KeptStore:
    """Keep what the earlier version of a mutant stores, and return it as one that the mutant itself has kept."""
    claims = {name: value for name, value in mutant.claims.items() if name == "kind"}
    with guarded() as config:
        store.keep(Target(mutant.kept, "", mutant.kept, mutant.settings, claims), directory, config)
    return replace(kept_store.load(directory), path=mutant.path)


def further(*values: object) -> list[Any]:
    """Return parameters for which those before them stand: ``make test-all`` tries them."""
    return [pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=pytest.mark.further) for value in values]


def without_jobs(_number: int, check: Check) -> bool:
    """Whether a check crawls no whole jobs; say ``meets=without_jobs``."""
    return not check.module.startswith("queue_conformance.kinds.job.")


def without_crawls(number: int, check: Check) -> bool:
    """Whether a check makes no whole crawls, those of jobs included."""
    return without_jobs(number, check) and not check.module.startswith("queue_conformance.kinds.crawl.")


def must_meet(mutant: Mutant, number: int, check: Check) -> bool:
    """Whether a check is one of those for the rules that a mutant breaks.

    The machines, which can see most mistakes, are run if these did not show all that fails; ``--everything`` runs all
    checks, most of which should say nothing.
    """
    own = check.name in ("smoke", "claims.true") or not (check.is_machine or mutant.fails.isdisjoint(check.rules))
    return own and may_meet(mutant, number, check)


def may_meet(mutant: Mutant, number: int, check: Check) -> bool:
    """Whether a check is for this mutant: whole crawls are for the mistakes that only they show.

    Many mutants look at all that they hold, as that is short: what they cost is a matter of those alone that are meant to grow.
    """
    if check.module.endswith(".checks.growth"):
        return not mutant.fails.isdisjoint(check.rules)
    return without_crawls(number, check) or mutant.path.startswith(f"mutants.{check.module.split('.')[2]}s")


def hints_named(mutant: Mutant) -> set[tuple[str, str]]:
    """Return the rules and the first words of the hints that a mutant says are shown for it."""
    rules = load()
    named = {
        (rule, words) for rule in mutant.fails for words in mutant.hints for hint in rules[rule].hints if hint.startswith(words)
    }
    assert {words for _, words in named} == mutant.hints, f"{mutant.path}: no rule that it fails has such a hint"
    return named


def failed_rules(report: ImplementationReport) -> set[str]:
    """Return the ids of the failed rules."""
    return {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.FAILED}


def untested(report: ImplementationReport) -> set[str]:
    """Return the rules without an answer, but for those on jobs, which are tested by themselves."""
    silent = {verdict.rule.id for verdict in report.verdicts if verdict.verdict in (Verdict.BLOCKED, Verdict.NOT_COVERED)}
    return {rule for rule in silent if not rule.startswith("job.")}


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


@cache
def implementation(path: str) -> Implementation:
    """Return a class with what is known of it."""
    with tempfile.TemporaryDirectory(dir=scratch_root()) as directory:
        return discover(path, {}, {}, RunConfig(Path(directory))).implementation()


@contextmanager
def context(path: str) -> Iterator[CheckContext]:
    """Give a context for a class, in this process."""
    with tempfile.TemporaryDirectory(dir=scratch_root()) as directory:
        yield CheckContext(implementation(path), Path(directory), Watchdog())


def alone(function: Callable[[], T]) -> T:
    """Call a function in a process of its own, lest a reactor that it imports be in the way of other tests."""
    ended = isolation.run(lambda watchdog: function(), time_limit=300.0)
    assert isinstance(ended, isolation.Answer), ended
    return ended.value


def scratch_root() -> str | None:
    """Return a directory in memory, if there is one with room for what the tests write."""
    room = os.access("/dev/shm", os.W_OK) and shutil.disk_usage("/dev/shm").free >= 2 << 30
    return "/dev/shm" if room else None


@cache
def downloads() -> bool:
    """Whether the command line of Scrapy can download anything here; old releases cannot with new ones of Twisted."""
    with tempfile.TemporaryDirectory() as directory, closing(crawls.ForkedSite({0: []}, directory, {})) as site:
        return site.crawl().hits == [0]


@cache
def mounts() -> bool:
    """Whether this process may make file systems of its own."""
    with tempfile.TemporaryDirectory() as directory:
        pid = os.fork()
        if pid == 0:
            with suppress(OSError):
                mount_small_filesystem(directory)
                os._exit(0)
            os._exit(1)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


for _name in ("CI", "GITHUB_STEP_SUMMARY"):  # the runs that tests make are a user's, and no results of this project's own
    os.environ.pop(_name, None)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (TESTS, TESTS.parent / "reference", TESTS.parent)))}


class ForkServer:
    """A process that runs Python sooner than an interpreter would; see ``fork_server.py``."""

    def __init__(self, python: str | Path = sys.executable, environment: Mapping[str, str] = os.environ) -> None:
        self._python = python
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def run_script(self, text: str, directory: Path, time_limit: float = 60.0) -> subprocess.CompletedProcess[str]:
        """Run a script in an empty directory."""
        file = directory / "script.py"
        file.write_text(text, "utf-8")
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            self.start([str(file)], directory, ENVIRONMENT, out, err)
            status = self.wait(time_limit)
            out.seek(0)
            err.seek(0)
            said = [stream.read().decode("utf-8", "replace") for stream in (out, err)]
        return subprocess.CompletedProcess([str(file)], status, *said)

    def start(self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str], stdout: IO[Any], stderr: IO[Any]) -> None:
        """Begin to run an interpreter with these arguments: ``-m`` and a module, or a script."""
        message = json.dumps({"arguments": arguments, "cwd": str(cwd), "env": dict(env)}).encode()
        with open(os.devnull, "rb") as stdin:
            socket.send_fds(self.socket, [message], [stream.fileno() for stream in (stdin, stdout, stderr)])

    @property
    def socket(self) -> socket.socket:
        """What is asked for runs of Python, and answers with the status of each."""
        if self._process is None:
            self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            command = [str(self._python), str(TESTS / "fork_server.py")]
            plain = {name: value for name, value in self._environment.items() if name != "PYTHONPATH"}
            self._process = subprocess.Popen(command, cwd="/", env=plain, stdin=theirs, start_new_session=True)
            theirs.close()
            descriptors.withhold(self._socket.fileno())  # what is tested may write wherever it can
        return self._socket

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end, and return its status."""
        self._socket.settimeout(timeout)
        try:
            return int(self._socket.recv(16))
        except TimeoutError:
            self.close()
            raise

    def close(self) -> None:
        """End the process and what it started."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
            self._socket.close()
            self._process = None


FORK_SERVER = ForkServer()
run_script = FORK_SERVER.run_script

LEAN = Lean()
