"""What several tests of the kit use."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from queue_conformance.faults.filesystem import mount_small_filesystem
from queue_conformance.implementations import Implementation
from queue_conformance.isolation import FlightRecorder
from queue_conformance.reports import ImplementationReport, report_on
from queue_conformance.specification.applicability import installed_releases
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.examination import Examination
from queue_conformance.suites.execution import Conditions
from queue_conformance.suites.survey import survey
from queue_conformance.verdicts import Verdict

TESTS = Path(__file__).parent
RELEASES = installed_releases()

FIFO_MEMORY = "queue_reference.memory.FifoMemoryQueue"
LIFO_MEMORY = "queue_reference.memory.LifoMemoryQueue"
FIFO_DISK = "queue_reference.disk.FifoDiskQueue"
LIFO_DISK = "queue_reference.disk.LifoDiskQueue"
FIFO_BYTES = "queue_reference.bytequeues.FifoByteQueue"
PRIORITY = "queue_reference.collections.PriorityQueue"
TURNS = "queue_reference.collections.RoundRobinQueue"
REQUEST_PRIORITY = "queue_reference.pqueues.PriorityQueue"
SLOT_PRIORITY = "queue_reference.pqueues.SlotPriorityQueue"

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
    REQUEST_PRIORITY,
    SLOT_PRIORITY,
)
"""Every reference implementation."""


def examine(
    path: str,
    claims: Mapping[str, str] | None = None,
    *,
    seed: int = 0,
    only: str | None = None,
    time_limit: float = 10.0,
    examples: int = 100,
    settings: Mapping[str, str] | None = None,
    server: str = "",
) -> ImplementationReport:
    """Run the checks of a class, or only the one of a name."""
    with tempfile.TemporaryDirectory(dir=scratch_root()) as directory:
        conditions = Conditions(Path(directory), seed=seed, time_limit=time_limit, examples=examples, server=server)
        found = survey(path, settings or {}, claims or {}, conditions)
        examination = Examination(found, conditions, RELEASES)
        checks = [check for check in examination.checks if only in (None, check.name)]
        return report_on(found, [examination.run(check) for check in checks], RELEASES)


def broken(report: ImplementationReport) -> set[str]:
    """Return the ids of the broken rules."""
    return {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.BROKEN}


@cache
def implementation(path: str) -> Implementation:
    """Return a class with what is known of it."""
    with tempfile.TemporaryDirectory(dir=scratch_root()) as directory:
        return survey(path, {}, {}, Conditions(Path(directory))).implementation()


@contextmanager
def bench(path: str) -> Iterator[Bench]:
    """Give a bench for a class, in this process."""
    with tempfile.TemporaryDirectory(dir=scratch_root()) as directory:
        yield Bench(implementation(path), Path(directory), FlightRecorder())


def scratch_root() -> str | None:
    """Return a directory in memory, if there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


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


def run_script(text: str, directory: Path, time_limit: float = 60.0) -> subprocess.CompletedProcess[str]:
    """Run a script with plain Python in an empty directory."""
    file = directory / "script.py"
    file.write_text(text, "utf-8")
    path = os.pathsep.join([str(TESTS), str(TESTS.parent / "reference")])
    return subprocess.run(
        [sys.executable, str(file)],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=time_limit,
    )
