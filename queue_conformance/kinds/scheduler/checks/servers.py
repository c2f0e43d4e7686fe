"""Checks of schedulers whose queue has a temporary problem, or that store in a server."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.faults.outages import Refused, Stalled
from queue_conformance.kinds.queue.faults import backend_of
from queue_conformance.kinds.scheduler.checks.storing import opened
from queue_conformance.kinds.scheduler.scenes import SCHEDULERS, case, expect_left, fill, short
from queue_conformance.kinds.scheduler.script_support import Trouble, drain
from queue_conformance.script_support.processes import in_processes


@check("scheduler.ctor.fail-early", kinds=SCHEDULERS)
def an_unreachable_server_is_found_early(bench: Bench) -> None:
    rule = "scheduler.ctor.fail-early"
    try:
        with bench.under(Refused(backend_of(bench))):
            bench.open(job="job", owner=rule)
    except OperationRaised:
        bench.examined[rule] += 1
        return
    for step in bench.recorder.steps:
        step.refusable = step.source.lstrip().startswith(("scheduler = ", "opened = "))
    tail = ["raise AssertionError('built and opened, though its server cannot be reached')"]
    bench.fail(rule, "an exception", "built and opened, though its server cannot be reached", tail, final=True)


@check("scheduler.next.outage", kinds=SCHEDULERS)
def a_temporary_problem_is_no_end(bench: Bench) -> None:
    if bench.offers("configurable"):
        for numbers in ((0, 1), (0, 3, 8, 20), (8, 9)):
            with case(bench):
                scheduler = opened(bench)
                fill(bench, scheduler, *numbers)
                bench.recorder.note("Trouble.silences = 1000")
                Trouble.silences = 1000
                _during(bench, scheduler)
                bench.recorder.note("Trouble.silences = 0")
                Trouble.silences = 0
                expect_left(bench, "scheduler.next.outage", scheduler, numbers, ordered=False, blamed=True)
    if bench.backend is None and bench.offers("configurable"):
        return
    with case(bench):
        scheduler = bench.open(job="job")
        fill(bench, scheduler, 0, 3, 8)
        with bench.under(Refused(backend_of(bench))):
            _during(bench, scheduler)
        expect_left(bench, "scheduler.next.outage", scheduler, (0, 3, 8), ordered=False, blamed=True)


def _during(bench: Bench, scheduler: Any) -> None:
    rule = "scheduler.next.outage"
    for _ in range(3):
        popped = scheduler.next(rule)
        bench.expect(rule, popped is None, "None", popped, "popped is None", final=True)
        pending = scheduler.pending(rule)
        bench.expect(rule, bool(pending), "has_pending_requests() true", pending, "pending", final=True)


@check("scheduler.next.frozen", kinds=SCHEDULERS)
def nothing_waits_for_a_server_that_says_nothing(bench: Bench) -> None:
    rule = "scheduler.next.frozen"
    slowest = 0.0
    operations: dict[str, Callable[[Any], Any]] = {
        "next": lambda scheduler: scheduler.next(rule),
        "pending": lambda scheduler: scheduler.pending(rule),
        "enqueue": lambda scheduler: scheduler.enqueue(bench.driver.fresh(1), rule),
    }
    for operate in operations.values():
        bench.restart()
        scheduler = bench.open(job="job")
        fill(bench, scheduler, 0)
        started = time.monotonic()
        with suppress(OperationRaised), bench.under(Stalled(backend_of(bench))) as fault:  # what raises did not wait
            operate(scheduler)
        slowest = max(slowest, time.monotonic() - started)
        bench.examined[rule] += fault.hit
    bench.notes.append(f"answers after {slowest:.1f} s at most while the server says nothing")


PROCESSES = 3
MANY = range(100, 160)


@check("scheduler.shared", kinds=SCHEDULERS)
def each_request_is_handed_out_once(bench: Bench) -> None:
    rule = "scheduler.shared"
    with case(bench):
        scheduler = bench.open(job="job")
        fill(bench, scheduler, *MANY)
        lines = [*bench.driver.opening({}, "job"), "barrier.wait()", "return drain(scheduler)"]
        for line in ["def worker(barrier):", *(f"    {line}" for line in lines)]:
            bench.recorder.note(line)
        found = scheduler.call(
            f"left = in_processes([worker] * {PROCESSES})", rule, lambda: in_processes([_worker(bench)] * PROCESSES)
        )
        came = sorted(url for urls in found for url in urls)
        expected = sorted(map(bench.driver.url, MANY))
        twice = sorted({url for url in came if came.count(url) > 1})
        lost = [url for url in expected if url not in came]
        actual = f"{len(twice)} twice, {len(lost)} never"
        assertion = f"sorted(sum(left, [])) == sorted(f'https://example.com/{{n}}' for n in range({MANY.start}, {MANY.stop}))"
        text = f"each of {len(expected)} requests in one of {PROCESSES} processes"
        bench.expect(rule, came == expected, text, actual, assertion)
    with case(bench):
        scheduler = bench.open(job="job")
        other = bench.open(job="job", variable="other", owner=rule)
        fill(bench, scheduler, 0, 3)
        scheduler.close("finished")
        left = other.drain(rule)
        expected = sorted(map(bench.driver.url, (0, 3)))
        text = f"{short(expected)}, after another process closed"
        bench.expect(rule, sorted(left) == expected, text, short(sorted(left)), f"sorted(left) == {expected!r}")
        other.close()


def _worker(bench: Bench) -> Callable[[Any], list[str]]:
    """Return what takes out everything in a process of its own."""

    def work(barrier: Any) -> list[str]:
        _, crawler = bench.driver.new_crawler({}, "job")
        scheduler = bench.driver.construction("job", crawler=crawler)[1]()
        if callable(getattr(scheduler, "open", None)):
            scheduler.open(crawler.spider)
        barrier.wait()
        urls: list[str] = drain(scheduler)
        return urls

    return work
