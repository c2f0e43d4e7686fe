"""The faults that checks of queues meet, as values of their cases."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from queue_conformance.engine.cases import Attempt
from queue_conformance.engine.check import NotCovered
from queue_conformance.faults import disk
from queue_conformance.faults.disk import DiskFault, NoDescriptors, NoFault, NoPermission, NoSpace, SizeLimit
from queue_conformance.faults.filesystem import mount_small_filesystem
from queue_conformance.suites.bench import Bench

ROOMS = (0, 4096, 4 * 4096, 16 * 4096)
"""Bytes that are left on a full file system."""


def disk_faults(bench: Bench, attempt: Attempt) -> Iterator[DiskFault]:
    """Yield limits at each place where a write can be cut, and what else of the process can be limited."""
    if not bench.offers("filesystem"):
        raise NotCovered("nothing is known of files that it stores in")
    if not disk.AVAILABLE:
        raise NotCovered("this platform cannot limit the size of files")
    usual = NoFault(_fresh(bench))
    attempt(usual)
    for limit in bench.each("places", disk.places(usual.before, usual.after, bench.examples // 20, bench.seed)):
        yield SizeLimit(_fresh(bench), limit)
    yield NoDescriptors(_fresh(bench))
    if disk.permissions_matter(bench.driver.directory):
        yield NoPermission(_fresh(bench))
    else:
        _note(bench, "no permission (needs a user who is not root)")


def full_disk(bench: Bench, attempt: Attempt) -> Iterator[DiskFault]:
    """Yield file systems on which little is left. The process is on one of its own from here on, so this comes last."""
    if not bench.offers("filesystem"):
        return
    if not _is_on_a_small_filesystem(bench):
        _note(bench, "no space on a file system of its own (needs Linux, and root or user namespaces)")
        return
    attempt(NoFault(_fresh(bench)))
    for room in ROOMS:
        for left in bench.directory.iterdir():
            shutil.rmtree(left)  # the next one needs the space
        yield NoSpace(_fresh(bench), room)


def files_that_may_not_grow(bench: Bench, attempt: Attempt) -> Iterator[SizeLimit]:
    """Yield the fault of a disk that takes nothing more."""
    attempt(NoFault(bench.driver.directory))
    bench.restart()
    yield SizeLimit(bench.driver.directory, 0)


def _fresh(bench: Bench) -> str:
    bench.restart()
    return str(bench.driver.directory)


def _note(bench: Bench, what: str) -> None:
    line = f"disk faults not covered: {what}"
    bench.notes += [line] if line not in bench.notes else []


def _is_on_a_small_filesystem(bench: Bench) -> bool:
    """Move the bench to a file system of its own, if possible; it vanishes with the process of the check."""
    place = bench.directory / "small"
    if bench.directory.name == "small" or place.exists() or not bench.isolated:
        return bench.directory.name == "small"
    place.mkdir()
    try:
        mount_small_filesystem(str(place))
    except (OSError, AttributeError):  # forbidden; no such functions on this platform
        return False
    bench.directory = place
    return True
