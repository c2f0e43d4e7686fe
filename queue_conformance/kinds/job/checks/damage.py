"""Checks of jobs whose metadata is torn, whose disk is full, or whose process is killed in a write."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from scrapy import Request

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.cases import Attempt, FaultMissed
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.killpoints import evenly
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.samples import affordable
from queue_conformance.faults import disk
from queue_conformance.kinds.job.fixtures import close_under_limit, tear_file
from queue_conformance.kinds.scheduler.fixtures import close, drain, enqueue_many, urls
from queue_conformance.kinds.scheduler.metadata import metadata_of
from queue_conformance.kinds.scheduler.script_support import enqueued
from queue_conformance.processes import process

SOME = (0, 1, 3, 6, 8, 21)
"""Requests of several priorities and slots, start requests among them."""

MANY, FIRST = range(100, 160), 10**11
"""Plain requests, and what is added to their numbers for priorities that make metadata larger than the file of one priority."""


# --- Stored jobs -----------------------------------------------------------------------------------------------------


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
        enqueued(scheduler.raw, numbers, FIRST, levels=FIRST)
    else:
        for number in numbers:
            scheduler.enqueue_request(context.driver.fresh(number))
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


# --- Torn metadata ---------------------------------------------------------------------------------------------------


def tears(context: CheckContext, attempt: Attempt) -> Iterator[tuple[int, str]]:
    """Yield the number of each file of metadata, and what becomes of it, up to where something is lost."""
    found = metadata_in(store(context, SOME))
    if not found:
        raise NotCovered("no file holds metadata only")
    attempt((0, "whole"))
    for number, content in enumerate(found.values()):
        for state in ("gone", "empty", "cut in half", "one byte short"):
            if content and "job.torn-metadata" not in context.failed:
                yield number, state


@check("job.torn-metadata", tear=[tears])
def torn_metadata_is_no_empty_job(open_scheduler, directory, tear):
    """Metadata that is cut, empty or gone is reported at start, or done without; it is never silently taken for «nothing
    pending».
    """
    number, state = tear
    stored = urls(SOME)
    scheduler = open_scheduler("job", holding=SOME)
    close(scheduler, "shutdown")
    torn = tear_file(directory + "/job", number, state)
    with may_raise(when=state != "whole") as reported:
        scheduler = open_scheduler("job")
        left = drain(scheduler)
    if not reported:
        lost = [url for url in stored if url not in left]
        assert lost == [], f"an exception, or every request, where job/{torn} is {state}"


LIMITS = 40
"""Places at which a write is cut, at most."""

SIZES = (100, 20000)
"""Bytes of the requests that do not fit on the disk."""


# --- Metadata --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Cut:
    """A write that is cut.

    Attributes:
        numbers: the requests that are stored.
        limit: the size from which no file can grow.
        how: whether that kills the process, and whether metadata is put back as it was before.
    """

    numbers: Sequence[int]
    limit: int
    how: Mapping[str, bool]


def cuts(context: CheckContext) -> Iterator[Cut]:
    """Yield cuts of what a close writes, up to one that loses something although only metadata was hit."""
    must_limit_files()
    for numbers in (SOME, MANY):
        job = store(context, numbers)
        scheduler = context.driver.open(job="job")
        before = stamps(job)
        scheduler.close("shutdown")
        changed = [path for path, stamp in stamps(job).items() if before.get(path) != stamp]
        sizes = [len(content) for path, content in metadata_in(job).items() if content and path in changed]
        for limit in sorted({limit for size in sizes for limit in (0, 1, size // 2, size - 1)}):
            for how in ({}, {"kill": True}):
                yield Cut(numbers, limit, how)
                if failure := context.failed.pop("job.atomic-metadata", None):
                    yield Cut(numbers, limit, {**how, "restored": True})
                    if not context.failed.pop("job.atomic-metadata", None):
                        raise failure
        if context.covered["job.atomic-metadata"]:
            return
    raise NotCovered("no write of metadata could be cut")


@check("job.atomic-metadata", cut=[cuts])
def metadata_is_replaced_atomically(open_scheduler, fresh, scheduler_factory, directory, cut):
    """Metadata is replaced atomically: a full disk or a crash while it is written keeps the old one."""
    stored = urls(cut.numbers)
    scheduler = open_scheduler("job")
    if cut.numbers is MANY:
        enqueue_many(scheduler, MANY, FIRST)
    for number in SOME if cut.numbers is SOME else ():
        scheduler.enqueue_request(fresh(number))
    close(scheduler, "shutdown")
    hit = close_under_limit(scheduler_factory, directory + "/job", cut.limit, **cut.how)
    if not hit:
        raise FaultMissed("no write of metadata could be cut")
    with under_test():
        scheduler = open_scheduler("job")
        left = drain(scheduler)
    lost = [url for url in stored if url not in left]
    assert lost == [], f"the job as it was before: a write was cut at byte {cut.limit}"


# --- Requests --------------------------------------------------------------------------------------------------------


def limits(context: CheckContext, attempt: Attempt) -> Iterator[disk.SizeLimit]:
    """Yield limits on the size of files, the same with each seed, around what storing a request adds, up to one that harms."""

    def ways() -> int:
        failure = context.failed.get("job.disk-full")
        return 1 + len(failure.others) if failure else 0

    must_limit_files()
    context.restart()
    usual, began, before = disk.Sizes(context.driver.directory), context.watchdog.now, ways()
    attempt(usual)
    found = evenly(disk.places(usual.before, usual.after, 0, 0), LIMITS, 0)
    for limit in context.each("places", affordable(context, found, context.watchdog.now - began)):
        if ways() == before:
            context.restart()
            yield disk.SizeLimit(context.driver.directory, limit)


@check("job.disk-full", size=SIZES, resumed=(False, True), fault=[limits])
def a_full_disk_loses_nothing(open_scheduler, size, resumed, fault):
    """A disk that is full for a while does no harm to the requests that were stored before."""
    stored = urls(SOME)
    scheduler = open_scheduler("job", holding=SOME)
    if resumed:
        close(scheduler, "shutdown")
        scheduler = open_scheduler("job")
    with may_raise(), fault:
        scheduler.enqueue_request(Request("https://example.com/900", body=b"x" * size))
    fault.must_hit()
    with may_raise():
        close(scheduler, "shutdown")
    del scheduler
    with under_test():
        scheduler = open_scheduler("job")
        left = drain(scheduler)
    lost = [url for url in stored if url not in left]
    assert lost == [], f"every request that was stored before a write was cut at byte {fault.number}"
