"""The interleaving sweep of schedulers that several processes use: one operation inside another one, at every place of it."""

from __future__ import annotations

from collections.abc import Iterator

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.interleaving import Between, Traced, cases_between, elsewhere, finished, in_between, step, undelayed
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.scheduler.fixtures import close, drain, next_soon, pending_soon, urls
from queue_conformance.kinds.scheduler.script_support import overtake_requests, use_scheduler

PAIRS = (
    ("next_request", "next_request", (0, 3, 8)),
    ("next_request", "next_request", (3,)),
    ("next_request", "enqueue_request", (3,)),
    ("enqueue_request", "next_request", (3,)),
    ("enqueue_request", "enqueue_request", (3,)),
    ("next_request", "close", (0, 3)),
    ("enqueue_request", "close", ()),
    ("has_pending_requests", "next_request", (3,)),
)
"""An operation, what another process does in the midst of it, and the numbers of the requests that are there before."""

MINE, THEIRS = 120, 130
"""The numbers of the requests that the two processes enqueue."""


def interleavings(context: CheckContext) -> Iterator[Between]:
    """Yield the cases of a scheduler."""
    yield from cases_between(context, [Between(*pair) for pair in PAIRS], operate)


def operate(context: CheckContext, pair: Between, traced: Traced) -> None:
    """Do an operation of a scheduler that nobody else uses."""
    scheduler = context.open(job="job")
    for number in pair.holding:
        scheduler.enqueue_request(context.driver.fresh(number))
    if pair.mine == "enqueue_request":
        traced(lambda: scheduler.enqueue_request(context.driver.fresh(MINE)))
    else:
        traced(getattr(scheduler, pair.mine))


@check("scheduler.shared", name="shared.between", between=[interleavings])
def what_is_in_between_loses_and_doubles_no_request(tested_class, open_scheduler, scheduler_factory, fresh, between):
    """Of several processes on one store each request is handed to exactly one, none is disturbed by another one, and closing
    one does not empty the others'.
    """
    mine, theirs = between.mine, between.theirs
    arguments = [fresh(THEIRS)] if theirs == "enqueue_request" else []
    with (
        under_test(expected=f"no exception, though {between.where}"),
        elsewhere(use_scheduler, scheduler_factory, theirs, *arguments) as other,
    ):
        scheduler = open_scheduler("job", holding=between.holding)
        step(other)
        with in_between(tested_class, between.number, other):
            if mine == "enqueue_request":
                scheduler.enqueue_request(fresh(MINE))
            elif mine == "next_request":
                request = scheduler.next_request()
            else:
                scheduler.has_pending_requests()
        with undelayed(other):
            got = finished(other)
        close(scheduler)
        if theirs != "close":
            step(other)
        last = open_scheduler("job")
        left = drain(last)
    received = [*left]
    if mine == "next_request":
        received = [*received, getattr(request, "url", None)]
    if theirs == "next_request":
        received = [*received, got]
    enqueued = urls(between.stored("enqueue_request", MINE, THEIRS))
    twice = [url for url in received if url is not None and received.count(url) > 1]
    assert twice == [], f"each request once, though {between.where}"
    lost = [url for url in enqueued if url not in received]
    assert lost == [], f"each request, though {between.where}"


def overtakings(context: CheckContext) -> Iterator[Between]:
    """Yield the cases of an `enqueue_request` that another process overtakes: it enqueues and takes a request meanwhile."""
    yield from cases_between(context, [Between("enqueue_request", "enqueue_request and next_request")], operate)


@check(
    "scheduler.shared-visible", "scheduler.shared", name="shared.overtaken", depends_on="shared.between", between=[overtakings]
)
def what_was_overtaken_is_seen(tested_class, open_scheduler, scheduler_factory, fresh, between):
    """What another process enqueues and takes is seen without reopening: `next_request` returns it, and `has_pending_requests`
    is true while something waits, and false when nothing does.
    """
    with (
        under_test("scheduler.shared", f"no exception, though {between.where}"),
        elsewhere(overtake_requests, scheduler_factory, fresh(THEIRS)) as other,
    ):
        scheduler = open_scheduler("job")
        step(other)
        with in_between(tested_class, between.number, other):
            scheduler.enqueue_request(fresh(MINE))
        with undelayed(other):
            finished(other)
        received = step(other)
        close(scheduler)
        step(other)
        last = open_scheduler("job")
        left = drain(last)
    enqueued = urls((MINE, THEIRS))
    hidden = [url for url in enqueued if url not in received]
    lost = [url for url in hidden if url not in left]
    with under_test("scheduler.shared"):
        assert lost == [], f"each request, though {between.where}"
    with under_test("scheduler.shared-visible"):
        assert hidden == [], f"each request in the other process, without reopening, though {between.where}"


@check("scheduler.shared-visible", look=("next_request", "has_pending_requests"))
def what_another_process_enqueues_is_seen(open_scheduler, scheduler_factory, fresh, look):
    """What another process enqueues and takes is seen without reopening: `next_request` returns it, and `has_pending_requests`
    is true while something waits, and false when nothing does.
    """
    with under_test("scheduler.shared"), elsewhere(use_scheduler, scheduler_factory, "enqueue_request", fresh(THEIRS)) as other:
        scheduler = open_scheduler("job")
        step(other)  # it opens the scheduler
        scheduler.next_request()
        scheduler.has_pending_requests()  # false, which must not be remembered
        step(other)  # it enqueues
        with under_test("scheduler.shared-visible"):
            if look == "next_request":
                assert next_soon(scheduler) == fresh(THEIRS), "what another process has enqueued"
            else:
                pending = pending_soon(scheduler, True)
                assert pending, "true, for another process has enqueued a request"
        close(scheduler)


@check("scheduler.shared-visible", name="shared.gone")
def what_another_process_takes_is_not_pending(open_scheduler, scheduler_factory):
    """What another process enqueues and takes is seen without reopening: `next_request` returns it, and `has_pending_requests`
    is true while something waits, and false when nothing does.
    """
    with under_test("scheduler.shared"), elsewhere(use_scheduler, scheduler_factory, "next_request") as other:
        scheduler = open_scheduler("job", holding=[3])
        scheduler.has_pending_requests()  # true, which must not be remembered
        step(other)  # it opens the scheduler
        got = step(other)  # it takes a request
        step(other)  # it closes
        if got is None:
            raise NotCovered("another process gets nothing")
        scheduler.next_request()
        with under_test("scheduler.shared-visible"):
            pending = pending_soon(scheduler, False)
            assert not pending, "false, for another process has taken the only request"
        close(scheduler)
