"""Checks of jobs whose files cannot be written: the disk is full, or the process is killed in a write."""

from __future__ import annotations

import os
import random
import sys
from collections.abc import Callable, Sequence, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from queue_conformance.engine import process
from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.process import Say
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.faults import disk
from queue_conformance.faults.disk import DiskFault, SizeLimit, Sizes
from queue_conformance.kinds.job.job import Content, Job, files, many, metadata, some
from queue_conformance.script_support.kills import limit_writes

F = TypeVar("F", bound=DiskFault)

ATOMIC, FULL = "job.atomic-metadata", "job.disk-full"

MANY, FIRST = 60, 10**11
"""Priorities that make metadata larger than the file with the requests of one, so that only its write is cut."""

LIMITS = 40
"""Places at which a write is cut, at most."""

SIZES = (100, 20000)
"""Bytes of the requests that do not fit on the disk."""


# --- Metadata --------------------------------------------------------------------------------------------------------


@check(ATOMIC)
def metadata_is_replaced_atomically(bench: Bench) -> None:
    _need_faults()
    for content in (some(bench), many(bench, MANY, FIRST)):
        for limit in _limits(bench, content):
            for killed in (False, True):
                bench.examined[ATOMIC] += _replace(bench, content, limit, killed=killed)
        if bench.examined[ATOMIC]:
            return
    raise NotExercised("no write of metadata could be cut")


def _need_faults() -> None:
    if not disk.AVAILABLE or not process.AVAILABLE:
        raise NotExercised("this platform cannot limit the size of files")


def _limits(bench: Bench, content: Content) -> list[int]:
    """Return limits that cut the metadata which a close writes."""
    job = Job(bench)
    job.store(content)
    scheduler = bench.driver.open(job="job")
    before = job.stamps()
    scheduler.close("shutdown")
    after = job.stamps()
    known = [job.directory / path for path in metadata(job.directory)]
    sizes = [after[path][2] for path in known if before.get(path) != after[path] and after[path][2]]
    return sorted({limit for size in sizes for limit in (0, 1, size // 2, size - 1)})


def _replace(bench: Bench, content: Content, limit: int, *, killed: bool) -> bool:
    """Resume and close a job while files may not grow, and look whether all of it is there; tell whether metadata was hit."""
    job = Job(bench)
    job.store(content)
    stored = [step.source for step in bench.recorder.steps]
    old = job.keep("old")
    requests = {job.directory / path.relative_to(old) for path in files(old)} - {job.directory / path for path in metadata(old)}
    if not _close_under(bench, limit, requests, killed=killed):
        return False
    left = job.keep("left")
    harm = job.harm(content.urls)
    if not harm:
        return True
    opening = [step.source for step in bench.recorder.steps[len(stored) :] if "next_request" not in step.source]
    opening = opening[: next((n for n, line in enumerate(opening) if line.startswith("left = ")), len(opening))]
    # Is it the metadata, or another file? Look what comes with the old metadata.
    job.restore(left)
    cut = []
    for path in metadata(old):
        before, after = (old / path).read_bytes(), (left / path).read_bytes() if (left / path).exists() else b""
        cut += [f"job/{path}"] if before != after else []
        (job.directory / path).write_bytes(before)
    if job.harm(content.urls):
        return False
    lines = [*_closing(opening, limit, killed=killed), *opening, "left = drain(scheduler)"]
    bench.recorder.restart()
    for line in (*stored, *opening, f"# no file grows beyond {limit} bytes{'; SIGXFSZ kills' if killed else ''}"):
        bench.recorder.note(line)
    bench.recorder.note("scheduler.close('shutdown')")
    bench.recorder.note(opening[-1])
    body = [*stored, *lines, f"lost = {content.source} - set(left)", "assert not lost, f'lost: {lost}'"]
    how = f"{'killed in a write of' if killed else 'the disk was full for'} {' and '.join(cut) or 'metadata'}"
    bench.fail(ATOMIC, "the job as it was before", f"{harm}: {how} at byte {limit}", [], body=body, final=True)


def _close_under(bench: Bench, limit: int, requests: Set[Path], *, killed: bool) -> bool:
    """Resume a job and close it while files may not grow, in a process that ends with that.

    Args:
        bench: where.
        limit: bytes that a file may have.
        requests: the files that are not metadata.
        killed: whether it ends in the write.

    Returns:
        Whether the fault was felt, and metadata, or a file that would have replaced it, was opened to write.
    """

    def close(say: Say) -> None:
        scheduler = bench.driver.open(job="job")
        directory = str(bench.driver.job("job"))

        def notice(event: str, arguments: tuple[Any, ...]) -> None:
            if event == "open" and isinstance(arguments[0], str) and arguments[2] & (os.O_WRONLY | os.O_RDWR):
                path = os.path.abspath(arguments[0])
                if path.startswith(directory) and Path(path) not in requests:
                    say("metadata")

        sys.addaudithook(notice)
        fault = Sizes(bench.driver.directory) if killed else SizeLimit(bench.driver.directory, limit)
        if killed:
            limit_writes(limit)
        with suppress(OperationRaised), fault:
            scheduler.close("shutdown")
        say(fault.hit)

    ended = process.run(close, time_limit=bench.time_limit)
    return "metadata" in ended.said and (ended.hit if killed else ended.said[-1] is True)


def _closing(opening: Sequence[str], limit: int, *, killed: bool) -> list[str]:
    """Return lines of a script that resume a job and close it under a fault, in a process that ends with that."""
    begin = [f"limit_writes({limit})"] if killed else []
    block = "with suppress(Exception):" if killed else f"with suppress(Exception), SizeLimit(directory, {limit}):"
    lines = [*opening, *begin, block, "    scheduler.close('shutdown')", "os._exit(0)"]
    return ["child = os.fork()", "if child == 0:", *(f"    {line}" for line in lines), "os.waitpid(child, 0)"]


# --- Requests --------------------------------------------------------------------------------------------------------


@check(FULL)
def a_full_disk_does_no_harm_to_what_was_stored(bench: Bench) -> None:
    _need_faults()
    felt = 0
    for size in SIZES:
        for resumed in (False, True):
            usual, harm = _fill(bench, Sizes, size, resumed=resumed)
            if harm:
                raise NotExercised(f"{harm} without a fault of the disk, too")
            limits = disk.places(usual.before, usual.after, bench.examples // 20, bench.seed)
            if len(limits) > LIMITS:
                limits = sorted(random.Random(bench.seed).sample(limits, LIMITS))
            for limit in bench.each("places", limits):
                fault, harm = _fill(bench, partial(SizeLimit, number=limit), size, resumed=resumed)
                felt += fault.hit
                if fault.hit and harm:
                    _report_harm(bench, limit, size, harm, resumed=resumed)
    if not felt:
        raise NotExercised("no fault of the disk reached enqueue_request")
    bench.examined[FULL] += felt


def _fill(bench: Bench, make: Callable[[Path], F], size: int, *, resumed: bool) -> tuple[F, str]:
    """Enqueue while the disk is full, close when it no longer is, and look whether what was stored before is there.

    Returns:
        The fault, and what is wrong.
    """
    job = Job(bench)
    content = some(bench)
    if resumed:
        job.store(content)
    scheduler = bench.driver.open(job="job")
    for item in () if resumed else content.items:
        scheduler.enqueue(item)
    big = bench.driver.evaluate(_big(size))
    fault = make(bench.driver.directory)
    with suppress(OperationRaised), fault:
        scheduler.enqueue(big)
    with suppress(OperationRaised):
        scheduler.close("shutdown")
    bench.recorder.release()
    return fault, job.harm(content.urls)


def _big(size: int) -> str:
    return f'Request("https://example.com/900", body=b"x" * {size})'


def _report_harm(bench: Bench, limit: int, size: int, harm: str, *, resumed: bool) -> NoReturn:
    steps = [step.source for step in bench.recorder.steps]
    number = next(n for n, line in enumerate(steps) if _big(size) in line)
    last = max(n for n, line in enumerate(steps) if line.startswith("crawler = "))
    full = [f"with suppress(Exception), SizeLimit(directory, {limit}):", f"    {steps[number]}"]
    closing = ["with suppress(Exception):", "    scheduler.close('shutdown')"]
    opening = [line for line in steps[last:] if not line.startswith(("left = ", "closed = "))]
    lines = [*full, *closing, *opening, "left = drain(scheduler)"]
    body = [*steps[:number], *lines, f"lost = {some(bench).source} - set(left)", "assert not lost, f'lost: {lost}'"]
    bench.fail(
        FULL, "every request that was stored before", f"{harm}, after a write was cut at byte {limit}", [], body=body, final=True
    )
