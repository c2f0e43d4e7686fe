"""Checks under faults of what a scheduler stores in: files that cannot grow, and a server that is gone between two commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from scrapy import Request

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.killpoints import evenly
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.faults import disk
from queue_conformance.faults.outages import CutBetween
from queue_conformance.kinds.queue.faults import IMPATIENCE, backend_of
from queue_conformance.kinds.scheduler.checks.resuming import expect_resumable
from queue_conformance.kinds.scheduler.driver import OpenScheduler
from queue_conformance.kinds.scheduler.scenes import SCHEDULERS, case, fill, short
from queue_conformance.kinds.scheduler.script_support import Patient

KEEPS = "scheduler.fault.keeps"
UNSEEN = "scheduler.enqueue.failed-not-seen"

STORED = (0, 3, 8)
"""The requests that are stored before the fault."""

LAST = 1
"""The request that is enqueued meanwhile."""

DRAWN = 2
"""Places inside what a file grows by at which a write is cut, besides those at its ends."""

MOST = 24
"""Limits on the size of files that are tried at most for one operation."""

ENQUEUE, NEXT = "enqueue", "next"


@check(KEEPS, UNSEEN, kinds=SCHEDULERS)
def a_fault_loses_nothing_that_was_accepted(bench: Bench) -> None:
    if bench.offers("server"):
        backend_of(bench)
        for operation in (ENQUEUE, NEXT):
            for number in range(_turns(bench, operation)):
                with case(bench):
                    _between_commands(bench, operation, number)
    elif bench.offers("configurable"):
        raise NotApplicable("what it stores in are the queues of its settings, which are examined by themselves")
    elif not bench.offers("filesystem"):
        raise NotApplicable("it uses neither files nor a server")
    elif not disk.AVAILABLE or not bench.isolated:
        raise NotExercised("this process cannot limit its files")
    else:
        if bench.offers("persistent"):
            expect_resumable(bench)
        for fault in _disk_faults(bench):
            for reopen in (False, True) if bench.offers("persistent") else (False,):
                with case(bench):
                    _on_a_bad_disk(bench, fault(bench.driver.directory), reopen=reopen)


# --- The server ------------------------------------------------------------------------------------------------------


def _turns(bench: Bench, operation: str) -> int:
    """Return how often an operation asks the server, and waits for its answer."""
    bench.restart()
    scheduler = bench.open(job="job")
    fill(bench, scheduler, *STORED)
    proxy = backend_of(bench).proxy
    before = proxy.turns
    _operate(bench, scheduler, operation)
    return proxy.turns - before


def _operate(bench: Bench, scheduler: OpenScheduler, operation: str) -> object:
    return scheduler.enqueue(bench.driver.fresh(LAST), KEEPS) if operation == ENQUEUE else scheduler.next(KEEPS)


def _between_commands(bench: Bench, operation: str, number: int) -> None:
    """Let the server answer some commands of an operation, and be gone for the others; then it is there again."""
    scheduler = bench.open(job="job")
    fill(bench, scheduler, *STORED)
    bench.recorder.note("accepted, popped = False, None")
    result = None
    with suppress(OperationRaised), bench.under(CutBetween(backend_of(bench), number)) as fault:
        result = _operate(bench, scheduler, operation)
    bench.recorder.steps[-1].tolerated = True
    if not fault.hit:
        return
    bench.recorder.note("patient = Patient(scheduler)")
    patient = OpenScheduler(Patient(scheduler.raw, bench.patience), "patient", bench.driver, scheduler.crawler)
    why = f"the server was gone after {number} commands of {operation}_request"
    try:
        _account(bench, patient, operation, result, why)
    except OperationRaised:
        bench.patience = IMPATIENCE
        raise


# --- Files -----------------------------------------------------------------------------------------------------------


def _disk_faults(bench: Bench) -> Iterator[Callable[[Path], disk.DiskFault]]:
    """Yield what makes each fault: limits on the size of files, around what storing a request adds, and no descriptors."""
    bench.restart()
    scheduler = bench.open(job="job")
    fill(bench, scheduler, *STORED)
    with disk.Sizes(bench.driver.directory) as usual:
        scheduler.enqueue(bench.driver.fresh(LAST))
    limits = disk.places(usual.before, usual.after, DRAWN, bench.seed)
    for limit in {*limits[:2], *evenly(limits, MOST, bench.seed), *limits[-2:]}:
        yield partial(disk.SizeLimit, number=limit)
    yield disk.NoDescriptors


def _on_a_bad_disk(bench: Bench, fault: disk.DiskFault, *, reopen: bool) -> None:
    """Enqueue a request during a fault, and look for it and for others, in this run or in the next."""
    scheduler = bench.open(job="job")
    fill(bench, scheduler, *STORED)
    bench.recorder.note("accepted, popped = False, None")
    accepted = None
    with suppress(OperationRaised), bench.under(fault):
        accepted = scheduler.enqueue(bench.driver.fresh(LAST), KEEPS)
    bench.recorder.steps[-1].tolerated = True
    if reopen:
        scheduler.close(owner=KEEPS)
        scheduler = bench.open(job="job", owner=KEEPS)
        _account(bench, scheduler, NEXT, None, f"{fault.name} before a pause")
    else:
        _account(bench, scheduler, ENQUEUE, accepted, fault.name)


# --- Afterwards ------------------------------------------------------------------------------------------------------


def _account(bench: Bench, scheduler: OpenScheduler, operation: str, result: object, why: str) -> None:
    """Enqueue again what was refused, take out everything, and compare.

    Args:
        bench: where the check works.
        scheduler: the scheduler, after the fault.
        operation: what was tried during the fault.
        result: what it returned, or ``None`` if it raised.
        why: what the fault was.
    """
    expected = list(STORED)
    accepted = bool(result)
    if operation == ENQUEUE:
        expected.append(LAST)
        if not accepted:
            item = bench.driver.fresh(LAST)
            source = f"accepted = accepted or {scheduler.variable}.enqueue_request({item.source})"
            accepted = bool(bench.recorder.call(source, KEEPS, lambda: scheduler.raw.enqueue_request(item.value)))
    left = scheduler.drain(KEEPS)
    last = bench.driver.url(LAST)
    if operation == ENQUEUE and bench.offers("filters"):
        text = f"{short([last])} pending, or accepted again: {why}"
        bench.expect(UNSEEN, accepted or last in left, text, "rejected, as if it were stored", f"accepted or {last!r} in left")
    came = [*left, *([result.url] if isinstance(result, Request) else [])]
    missing = [url for url in map(bench.driver.url, expected) if url not in came]
    bench.recorder.note("came = left + ([popped.url] if popped else [])")
    urls = list(map(bench.driver.url, expected))
    bench.expect(KEEPS, not missing, f"{short(urls)}: {why}", f"{short(missing)} lost", f"set(came) >= {set(urls)!r}", final=True)
