"""Checks of where requests go, and what happens when they cannot be stored there."""

from __future__ import annotations

from functools import partial
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.registry import check
from queue_conformance.faults import disk
from queue_conformance.kinds.scheduler.driver import OpenScheduler
from queue_conformance.kinds.scheduler.layout import settings_of
from queue_conformance.kinds.scheduler.scenes import SCHEDULERS, case, expect_left, fill, short, trouble
from queue_conformance.kinds.scheduler.script_support import Records, Trouble
from queue_conformance.specification.kinds import EXTERNAL_QUEUE

OTHER_ERRORS = ('RuntimeError("no")', 'OSError(28, "No space left on device")', 'KeyError("no")', "NotImplementedError()")


def opened(bench: Bench, **settings: str) -> OpenScheduler:
    """Return a scheduler with a job directory, over disk queues that can misbehave."""
    scheduler: OpenScheduler = bench.open({**settings_of(bench), **settings}, job="job")
    return scheduler


@check("scheduler.enqueue.disk-first", kinds=SCHEDULERS)
def requests_go_to_disk(bench: Bench) -> None:
    rule = "scheduler.enqueue.disk-first"
    scheduler = opened(bench)
    numbers = (0, 3, 8, 13)
    fill(bench, scheduler, *numbers)
    expected = sorted(map(bench.driver.url, numbers))
    actual = f"{short(sorted(Trouble.stored))} on disk"
    bench.expect(rule, sorted(Trouble.stored) == expected, short(expected), actual, f"sorted(Trouble.stored) == {expected!r}")


# --- Fallbacks -------------------------------------------------------------------------------------------------------


@check("scheduler.enqueue.fallback-serialization", kinds=SCHEDULERS)
def what_cannot_be_serialized_is_kept_in_memory(bench: Bench) -> None:
    rule = "scheduler.enqueue.fallback-serialization"
    sources = ['ValueError("no")', 'UnicodeDecodeError("utf-8", b"x", 0, 1, "no")']
    if bench.implementation.profile is EXTERNAL_QUEUE:
        sources.append(bench.driver.error("serialization-error")[0])
    for source in sources:
        with case(bench):
            _falls_back(bench, rule, source)
    with case(bench):
        scheduler = bench.open(job="job")  # the queue of the settings, and what it really cannot serialize
        accepted = scheduler.enqueue(
            bench.driver.evaluate('Request("https://example.com/1", meta={"value": lambda: None})'), rule
        )
        bench.expect(rule, bool(accepted), "a true result", accepted, "accepted")
        expect_left(bench, rule, scheduler, [1], ordered=False)


@check("scheduler.enqueue.fallback-transient", kinds=SCHEDULERS)
def what_fails_for_a_moment_is_kept_in_memory(bench: Bench) -> None:
    for numbers in ((0, 1), (8, 0), (0, 20)):
        with case(bench):
            _falls_back(bench, "scheduler.enqueue.fallback-transient", bench.driver.error("transient-error")[0], *numbers)


def _falls_back(bench: Bench, rule: str, source: str, before: int = 0, failing: int = 1) -> None:
    scheduler = opened(bench)
    fill(bench, scheduler, before)
    error = trouble(bench, source)
    accepted = scheduler.enqueue(bench.driver.fresh(failing), rule)
    if error in Trouble.pushes:
        raise NotExercised("the disk queue was not tried")
    bench.expect(rule, bool(accepted), "a true result", accepted, "accepted")
    expect_left(bench, rule, scheduler, [before, failing], ordered=False)


@check("scheduler.enqueue.fallback-once", kinds=SCHEDULERS)
def the_next_request_tries_the_disk_again(bench: Bench) -> None:
    rule = "scheduler.enqueue.fallback-once"
    sources = {"scheduler.enqueue.fallback-serialization": 'ValueError("no")'}
    if bench.implementation.profile is EXTERNAL_QUEUE:
        sources["scheduler.enqueue.fallback-transient"] = bench.driver.error("transient-error")[0]
    for owner, source in sources.items():
        with case(bench):
            scheduler = opened(bench)
            error = trouble(bench, source)
            fill(bench, scheduler, 0, owner=owner)
            if error in Trouble.pushes:
                raise NotExercised("the disk queue was not tried")
            fill(bench, scheduler, 1)
            expected = [bench.driver.url(1)]
            actual = f"{short(Trouble.stored)} on disk"
            bench.expect(
                rule, Trouble.stored == expected, f"{short(expected)} on disk", actual, f"Trouble.stored == {expected!r}"
            )


# --- Other errors ----------------------------------------------------------------------------------------------------


@check("scheduler.enqueue.other-propagates", kinds=SCHEDULERS)
def other_errors_reach_the_caller(bench: Bench) -> None:
    rule = "scheduler.enqueue.other-propagates"
    for source in OTHER_ERRORS:
        with case(bench):
            scheduler = opened(bench)
            fill(bench, scheduler, 0, 3)
            error = trouble(bench, source)
            bench.expect_raises(rule, (type(error),), partial(scheduler.enqueue, bench.driver.fresh(1)))
            expect_left(bench, rule, scheduler, [3, 0], ordered=False)


@check("scheduler.enqueue.failed-not-seen", kinds=SCHEDULERS)
def what_failed_can_be_enqueued_again(bench: Bench) -> None:
    if not bench.offers("configurable", "persistent"):
        raise NotApplicable("its disk queue is none of the settings")  # scheduler.fault.keeps lets what it uses fail
    for source in OTHER_ERRORS[:2]:
        with case(bench):
            scheduler = opened(bench)
            trouble(bench, source)
            if _fails(scheduler, item := bench.driver.fresh(1)):
                _again(bench, scheduler, item)
    if disk.AVAILABLE and bench.isolated:
        for make in (partial(disk.SizeLimit, number=0), disk.NoDescriptors):
            with case(bench):
                _really_failing(bench, make(bench.driver.directory))


def _really_failing(bench: Bench, fault: disk.DiskFault) -> None:
    """Let the disk of the queues in the author's settings fail."""
    scheduler = bench.open(job="job")
    large = bench.driver.evaluate(f'Request("{bench.driver.url(1)}", body=b"x" * 100_000)')
    with bench.under(fault):
        failed = _fails(scheduler, large)
    if failed:
        _again(bench, scheduler, large)


def _fails(scheduler: OpenScheduler, item: Any) -> bool:
    """Enqueue a request; where it is kept in memory, or in a buffer, another rule says whether that is right."""
    try:
        scheduler.enqueue(item)
    except OperationRaised:
        return True
    return False


def _again(bench: Bench, scheduler: OpenScheduler, item: Any) -> None:
    """Enqueue a request that failed once, now that the reason has ended."""
    rule = "scheduler.enqueue.failed-not-seen"
    accepted = scheduler.enqueue(item, rule)
    bench.expect(rule, bool(accepted), "a true result: nothing was stored before", accepted, "accepted", final=True)


# --- What is counted and logged --------------------------------------------------------------------------------------


@check("scheduler.enqueue.unserializable-stat", kinds=SCHEDULERS)
def fallbacks_are_counted(bench: Bench) -> None:
    rule, name = "scheduler.enqueue.unserializable-stat", "scheduler/unserializable"
    scheduler = opened(bench)
    fill(bench, scheduler, 0, 15, 8, 16, 18, 3)
    count, expected = scheduler.crawler.stats.get_value(name, 0), Trouble.refusals  # 3, if it always tried the disk
    bench.expect(rule, count == expected, f"{expected}", describe(count), f'crawler.stats.get_value("{name}", 0) == {expected}')


@check("scheduler.enqueue.debug-log", kinds=SCHEDULERS)
def the_first_fallback_is_logged(bench: Bench) -> None:
    rule = "scheduler.enqueue.debug-log"
    for debug in (True, False):
        with case(bench):
            scheduler = opened(bench, SCHEDULER_DEBUG=repr(debug))
            bench.recorder.note("records = Records()")
            records = Records()
            fill(bench, scheduler, 0, 15, 16, 18)
            logged = [text for text in records.texts if "https://example.com/1" in text]
            expected = "one record, of https://example.com/15" if debug else "no record"
            ok = len(logged) == debug and all("example.com/15" in text for text in logged)
            assertion = f'sum("https://example.com/1" in text for text in records.texts) == {int(debug)}'
            if debug:
                assertion += ' and any("https://example.com/15" in text for text in records.texts)'
            bench.expect(rule, ok, expected, f"{len(logged)} records: {' | '.join(logged)[:80]}", assertion)
