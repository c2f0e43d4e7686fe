"""Checks of the minimal interface, which every scheduler has."""

from __future__ import annotations

import time

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.recording import Timed
from queue_conformance.engine.registry import check
from queue_conformance.kinds.scheduler.commands import run_everywhere
from queue_conformance.kinds.scheduler.preflight import expect_result
from queue_conformance.kinds.scheduler.scenes import SCHEDULERS, case, expect_left, fill, jobs, short


@check("scheduler.open.result", kinds=SCHEDULERS)
def open_and_close_return_nothing_or_a_deferred(bench: Bench) -> None:
    scheduler = bench.driver.build(job="job")
    expect_result(bench, "opened", scheduler.open(settled=False))
    expect_result(bench, "closed", scheduler.close(settled=False))


MANY = 1_100
"""Requests that are pending at once: more than a bounded queue of a thousand holds."""

SLOW = 0.5
"""Seconds for forty requests after which many are not tried."""


@check("scheduler.enqueue.true", kinds=SCHEDULERS)
def what_is_accepted_comes_once(bench: Bench) -> None:
    run_everywhere(bench, "enqueue:0 enqueue:3 enqueue:8 enqueue:13 enqueue:13 next next enqueue:1 next next next next next")
    for job in jobs(bench):
        with case(bench):
            scheduler = bench.open(job=job)
            started = bench.flight.now
            fill(bench, scheduler, *range(100, 140))
            expect_left(bench, "scheduler.enqueue.true", scheduler, range(100, 140), ordered=False)
            if bench.flight.now - started < SLOW:
                _many_come_once(bench, job)


def _many_come_once(bench: Bench, job: str | None) -> None:
    bench.restart()
    scheduler = bench.open(job=job)
    accepted = scheduler.enqueue_many(range(1000, 1000 + MANY))
    left = scheduler.drain()
    expected, actual = f"{len(accepted)} requests, each once", f"{len(set(left))} requests, {len(left) - len(set(left))} again"
    bench.expect("scheduler.enqueue.true", sorted(left) == sorted(accepted), expected, actual, "sorted(left) == sorted(accepted)")


@check("scheduler.enqueue.false", kinds=SCHEDULERS)
def what_is_rejected_never_comes(bench: Bench) -> None:
    if not bench.offers("filters"):
        raise NotApplicable("it rejects nothing")
    run_everywhere(bench, "enqueue:0 enqueue:0 enqueue:8 enqueue:8 next next next enqueue:0 next")


@check("scheduler.enqueue.bool", kinds=SCHEDULERS)
def the_answer_says_whether_it_was_stored(bench: Bench) -> None:
    run_everywhere(bench, "enqueue:0 enqueue:8 enqueue:13 enqueue:3 next next next next")


EQUAL = (
    ('Request("https://example.com/1", priority=5)', "another priority"),
    ('Request("https://example.com/1", headers={"Accept": "*/*"}, meta={"a": 1})', "other headers and meta"),
    ('Request("https://example.com/1#part")', "a fragment"),
)
DIFFERENT = (
    ('Request("https://example.com/2")', "another URL"),
    ('Request("https://example.com/1", method="POST")', "another method"),
    ('Request("https://example.com/1?page=2")', "a query"),
)


@check("scheduler.enqueue.duplicate", kinds=SCHEDULERS)
def duplicates_are_rejected_and_no_others(bench: Bench) -> None:
    rule = "scheduler.enqueue.duplicate"
    if not bench.offers("filters") and not bench.offers("configurable"):
        raise NotApplicable("it does not filter, and uses no filter of the settings")
    for job in jobs(bench):
        for cases, duplicate in ((EQUAL, True), (DIFFERENT, False)):
            for source, name in cases:
                with case(bench):
                    scheduler = bench.open(job=job)
                    scheduler.enqueue(bench.driver.fresh(1))
                    accepted = scheduler.enqueue(bench.driver.evaluate(source), rule)
                    expected = f"{'rejected' if duplicate else 'stored'}: {name}"
                    assertion = "not accepted" if duplicate else "accepted"
                    bench.expect(rule, bool(accepted) != duplicate, expected, accepted, assertion)


@check("scheduler.enqueue.dont-filter", kinds=SCHEDULERS)
def dont_filter_is_always_stored(bench: Bench) -> None:
    rule = "scheduler.enqueue.dont-filter"
    for job in jobs(bench):
        with case(bench):
            scheduler = bench.open(job=job)
            scheduler.enqueue(bench.driver.fresh(1))
            for _ in range(2):
                again = bench.driver.evaluate('Request("https://example.com/1", dont_filter=True)')
                accepted = scheduler.enqueue(again, rule)
                bench.expect(rule, bool(accepted), "a true result", accepted, "accepted")
            expect_left(bench, "scheduler.enqueue.true", scheduler, [1, 1, 1], ordered=False)


@check("scheduler.enqueue.dont-filter-unseen", kinds=SCHEDULERS)
def dont_filter_is_not_recorded(bench: Bench) -> None:
    rule = "scheduler.enqueue.dont-filter-unseen"
    for job in jobs(bench):
        with case(bench):
            scheduler = bench.open(job=job)
            scheduler.enqueue(bench.driver.evaluate('Request("https://example.com/1", dont_filter=True)'))
            accepted = scheduler.enqueue(bench.driver.fresh(1), rule)
            bench.expect(rule, bool(accepted), "a true result", accepted, "accepted")


@check("scheduler.next.none-empty", kinds=SCHEDULERS)
def nothing_comes_from_an_empty_scheduler(bench: Bench) -> None:
    run_everywhere(bench, "next next enqueue:0 next next next enqueue:8 next next")


PRIORITIES = (10, 9, 100, 0, -1, -10, 2**31, -(2**31))


@check("scheduler.next.priority", kinds=SCHEDULERS)
def higher_priorities_come_first(bench: Bench) -> None:
    run_everywhere(bench, "enqueue:0 enqueue:6 enqueue:3 enqueue:8 enqueue:11 next next enqueue:4 next next next next")
    for job in jobs(bench):
        with case(bench):
            scheduler = bench.open(job=job)
            for number, priority in enumerate(PRIORITIES, 100):
                scheduler.enqueue(bench.driver.evaluate(f'Request("https://example.com/{number}", priority={priority})'))
            sequence = sorted(range(len(PRIORITIES)), key=lambda n: -PRIORITIES[n])
            expect_left(bench, "scheduler.next.priority", scheduler, [100 + n for n in sequence])


@check("scheduler.next.bounded-time", kinds=SCHEDULERS)
def nothing_waits_for_work(bench: Bench) -> None:
    rule = "scheduler.next.bounded-time"
    scheduler = bench.open(job="job")
    for name in ("next", "pending", "enqueue"):
        taken = []
        for number in range(3):  # the quickest of several: a busy machine delays one of them
            started = time.monotonic()
            getattr(scheduler, name)(*([bench.driver.fresh(number)] if name == "enqueue" else []), owner=rule)
            taken.append(time.monotonic() - started)
        source = bench.recorder.steps[-1].source.partition(" = ")[2]
        bench.recorder.note("started = time.monotonic()")
        bench.recorder.note(source)
        bench.recorder.note("taken = time.monotonic() - started")
        bench.expect(rule, min(taken) < LIMIT, f"{name} returns within {LIMIT:g} s", f"{min(taken):.1f} s", f"taken < {LIMIT}")


LIMIT = 0.5
"""Seconds that an operation may take at most: a crawl stands still for so long."""


@check("scheduler.pending.exact", kinds=SCHEDULERS)
def pending_is_exact(bench: Bench) -> None:
    text = "pending enqueue:0 pending next pending next pending enqueue:8 enqueue:1 enqueue:1 pending next pending next pending"
    run_everywhere(bench, text)
    if bench.offers("persistent", "configurable"):
        run(bench, "enqueue:15 pending next pending enqueue:0 enqueue:16 pending next pending next pending", job=True)


@check("scheduler.pending.pure", kinds=SCHEDULERS)
def pending_changes_nothing(bench: Bench) -> None:
    rule = "scheduler.pending.pure"
    for job in jobs(bench):
        with case(bench):
            scheduler = bench.open(job=job)
            fill(bench, scheduler, 0, 3, 8)
            source = "for _ in range(100): scheduler.has_pending_requests()"
            timed = Timed(scheduler.raw, bench.flight)
            scheduler.call(source, rule, lambda raw: [raw.has_pending_requests() for _ in range(100)], timed)
            left = scheduler.drain(rule)
            expected = sorted(bench.driver.url(number) for number in (0, 3, 8))
            bench.expect(rule, sorted(left) == expected, short(expected), short(sorted(left)), f"sorted(left) == {expected!r}")


@check("scheduler.len", kinds=SCHEDULERS)
def length_counts_what_is_pending(bench: Bench) -> None:
    text = "length enqueue:0 length enqueue:0 length enqueue:8 enqueue:3 length next length next next length next length"
    run_everywhere(bench, text)
    if bench.offers("persistent", "configurable"):
        run(bench, "enqueue:15 length enqueue:0 length enqueue:16 length next length next length next length", job=True)


REASONS = ("finished", "shutdown", "cancelled", "closespider_timeout", "no more pages, naïve")


@check("scheduler.close.reason", kinds=SCHEDULERS)
def close_takes_any_reason(bench: Bench) -> None:
    rule = "scheduler.close.reason"
    for reason in REASONS:
        with case(bench):
            scheduler = bench.open()
            if not callable(getattr(scheduler.raw, "close", None)):
                raise NotApplicable("it has no close")
            scheduler.enqueue(bench.driver.fresh(0))
            scheduler.close(reason, rule)
            bench.examined[rule] += 1
