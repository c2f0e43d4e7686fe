"""Jobs that are stored, to see what is in their files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from queue_conformance.engine import process
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.faults import disk
from queue_conformance.kinds.scheduler.script_support import enqueued
from queue_conformance.script_support.metadata import metadata_of

SOME = (0, 1, 3, 6, 8, 21)
"""Requests of several priorities and slots, start requests among them."""

MANY, FIRST = range(100, 160), 10**11
"""Plain requests, and what is added to their numbers for priorities that make metadata larger than the file of one priority."""


def must_limit_files() -> None:
    """Go on only where the size of files can be limited.

    Raises:
        NotCovered: if it cannot.
    """
    if not disk.AVAILABLE or not process.AVAILABLE:
        raise NotCovered("this platform cannot limit the size of files")


def store(context: CheckContext, numbers: Sequence[int]) -> Path:
    """Store requests in a new job, close it cleanly, and return its directory."""
    context.restart()
    scheduler = context.driver.open(job="job")
    if numbers is MANY:
        enqueued(scheduler.raw, numbers, FIRST)
    else:
        for number in numbers:
            scheduler.enqueue(context.driver.fresh(number))
    scheduler.close("shutdown")
    job: Path = context.driver.job("job")
    return job


def stamps(job: Path) -> dict[str, tuple[int, int, int]]:
    """Return what changes of each file when it is written or replaced."""
    stats = {os.path.relpath(path, job): path.stat() for path in job.rglob("*") if path.is_file()}
    return {path: (stat.st_ino, stat.st_mtime_ns, stat.st_size) for path, stat in stats.items()}


def metadata_in(job: Path) -> dict[str, bytes]:
    """Return the contents of the files of a job in which no request is, by their paths below it.

    Raises:
        NotCovered: if no file shows its requests.
    """
    found: dict[str, bytes] = metadata_of(job)
    if len(found) == len([path for path in job.rglob("*") if path.is_file()]):
        raise NotCovered("no file shows its requests, so metadata cannot be told from requests")
    return found
