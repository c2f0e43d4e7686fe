"""Checks of the minimal interface, which every scheduler has."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy import Request

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import clock_at, offers, time_zone
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import CLOCKS, MUCH_LATER, REASONS, ZONES, few_and, few_and_many
from queue_conformance.environments.alike import DISTINCT, OTHER_SITES, Pair, told_apart
from queue_conformance.environments.fixtures import occupy
from queue_conformance.kinds.scheduler.fixtures import (
    call_close,
    call_open,
    close,
    drain,
    enqueue_many,
    made_here,
    settled,
    urls,
)
from queue_conformance.kinds.scheduler.layout import jobs
from queue_conformance.kinds.scheduler.script_support import kind_of
from queue_conformance.script_support.clock import seconds

DEFERRED = ("None", "a Deferred", "a Deferred that fired")
"""What open and close may return."""


@check("scheduler.open.result")
def open_and_close_return_nothing_or_a_deferred(build_scheduler):
    """`open(spider)` and `close(reason)` return `None` or a Deferred, never a coroutine."""
    scheduler = build_scheduler("job")
    opened = call_open(scheduler)
    assert kind_of(opened) in DEFERRED
    settled(opened)
    closed = call_close(scheduler)
    assert kind_of(closed) in DEFERRED


@check("scheduler.enqueue.true", name="enqueue.clock", moments=CLOCKS)
def nothing_is_lost_by_the_clock(open_scheduler, fresh, moments):
    """A true result means stored: `next_request` returns the request exactly once, in this run or, where the scheduler
    persists, in the next.
    """
    with under_test():
        with clock_at(moments[0]):
            scheduler = open_scheduler("job")
        for number, moment in enumerate(moments):
            with clock_at(moment):
                scheduler.enqueue_request(fresh(number))
        left = drain(scheduler)
        assert sorted(left) == urls(range(4))


@check("scheduler.enqueue.true", name="enqueue.later", depends_on="enqueue:0 enqueue:3 next next")
def what_was_handed_out_does_not_come_again(open_scheduler):
    """A true result means stored: `next_request` returns the request exactly once, in this run or, where the scheduler
    persists, in the next.
    """
    if offers("shared"):
        raise NotApplicable("what a crawler was given may go to another one after a while")
    scheduler = open_scheduler("job", holding=(0, 3))
    drain(scheduler)
    with clock_at(MUCH_LATER):
        left = drain(scheduler)
        assert left == [], "nothing, as both were handed out"


@check("scheduler.enqueue.true", name="enqueue.zone", depends_on="enqueue:0 enqueue:3 next next", zone=ZONES)
def nothing_is_lost_in_another_time_zone(open_scheduler, zone):
    """A true result means stored: `next_request` returns the request exactly once, in this run or, where the scheduler
    persists, in the next.
    """
    with time_zone(zone):
        scheduler = open_scheduler("job", holding=(0, 3, 8))
        left = drain(scheduler)
        assert sorted(left) == urls([0, 3, 8])


LATER = 6000
"""The number of a request whose host, of 600, and priority, of 40, are those of request 0."""


@check(
    "scheduler.enqueue.true",
    name="enqueue.hosts",
    depends_on="enqueue.many",
    job=(None,),
    numbers=[few_and(range(600))],
    spread=({"hosts": 600},),
)
@check("scheduler.enqueue.true", name="enqueue.many", job=[jobs], numbers=[few_and_many], spread=({}, {"levels": 40}))
def all_that_are_accepted_come_once(open_scheduler, job, numbers, spread):
    """A true result means stored: `next_request` returns the request exactly once, in this run or, where the scheduler
    persists, in the next.
    """
    scheduler = open_scheduler(job)
    for part in (numbers, range(LATER, LATER + 20)):  # a host or a priority may come again when all of its requests were served
        accepted = enqueue_many(scheduler, part, **spread)
        left = drain(scheduler)
        assert len(left) == len(accepted), f"{len(accepted)} requests"
        assert sorted(left) == sorted(accepted), "each request once"


@check("scheduler.enqueue.true", name="enqueue.crawls", depends_on="enqueue:0 next")
def crawls_of_one_process_have_their_own(open_scheduler):
    """A true result means stored: `next_request` returns the request exactly once, in this run or, where the scheduler
    persists, in the next.
    """
    if offers("server") or offers("persistent"):
        raise NotApplicable("e2e.two-crawlers asks it of what keeps requests")
    first = open_scheduler(holding=[0, 1])
    second = open_scheduler(holding=[2])
    left = drain(second)
    assert left == urls([2]), "what this crawl has enqueued"
    close(second)
    left = drain(first)
    assert sorted(left) == urls([0, 1]), "what this crawl has enqueued"


AGAIN = (
    lambda: Request("https://example.com/1", priority=5),
    lambda: Request("https://example.com/1", headers={"Accept": "*/*"}, meta={"a": 1}),
    lambda: Request("https://example.com/1#part"),
)
"""Requests that equal an ordinary one."""


@check("scheduler.enqueue.duplicate", job=[jobs], again=AGAIN)
def equal_requests_are_rejected(open_scheduler, job, again):
    """A request whose fingerprint was enqueued before is rejected unless `dont_filter` is set."""
    if not offers("filters") and not offers("configurable"):
        raise NotApplicable("it does not filter, and uses no filter of the settings")
    scheduler = open_scheduler(job, holding=[1])
    with under_test():
        accepted = bool(scheduler.enqueue_request(made_here(again)))
    assert not accepted


def distinct(context: CheckContext) -> Iterator[Pair]:
    """Yield pairs that are two pages, whatever the author claims."""
    yield from told_apart(DISTINCT, context.driver.crawler.request_fingerprinter, context.implementation.capabilities.ignores)


@check("scheduler.enqueue.no-false-positive", job=[jobs], pair=[distinct])
def what_differs_is_accepted(open_scheduler, job, pair):
    """A request is accepted if neither it nor an equal one was enqueued before: requests whose URL (path in another case,
    query), method or body differs are two, unless the author claims to ignore that.
    """
    scheduler = open_scheduler(job)
    (path, arguments), (other_path, other_arguments) = pair.first, pair.second
    scheduler.enqueue_request(Request("https://example.com" + path, **arguments))
    with under_test():
        accepted = scheduler.enqueue_request(Request("https://example.com" + other_path, **other_arguments))
        assert accepted, f"a true result for another {pair.by.partition(' ')[0] or 'page'}"


@check("scheduler.enqueue.no-false-positive", name="enqueue.other-site", job=[jobs], other=OTHER_SITES)
def what_is_of_another_site_is_accepted(open_scheduler, job, other):
    """A request is accepted if neither it nor an equal one was enqueued before: requests whose URL (path in another case,
    query), method or body differs are two, unless the author claims to ignore that.
    """
    scheduler = open_scheduler(job, holding=[1])
    with under_test():
        accepted = scheduler.enqueue_request(Request(f"{other}/1"))
        assert accepted, "a true result for another site"


@check(
    "scheduler.enqueue.duplicate",
    name="duplicate.long-ago",
    depends_on="enqueue.many",
    numbers=[few_and(range(5000), 0.25)],
)
def what_was_seen_long_ago_is_rejected(open_scheduler, numbers):
    """A request whose fingerprint was enqueued before is rejected unless `dont_filter` is set."""
    if not offers("filters") and not offers("configurable"):
        raise NotApplicable("it does not filter, and uses no filter of the settings")
    scheduler = open_scheduler()
    enqueue_many(scheduler, numbers, hosts=500)
    with under_test():
        again = bool(scheduler.enqueue_request(Request(f"https://{numbers[0] % 500}.example/{numbers[0]}")))
    assert not again, f"a false result: it was enqueued {len(numbers)} requests ago"


@check("scheduler.enqueue.dont-filter", job=[jobs])
def dont_filter_is_always_stored(open_scheduler, job):
    """A request with `dont_filter` is always stored, also when it was seen before."""
    scheduler = open_scheduler(job, holding=[1])
    for _ in range(50):  # a spider may ask for one page again and again
        with under_test():
            accepted = scheduler.enqueue_request(Request("https://example.com/1", dont_filter=True))
        assert accepted, "a true result"
    left = drain(scheduler)
    with under_test("scheduler.enqueue.true"):
        assert left == urls([1] * 51), "the 51 requests for one page that were accepted"


@check("scheduler.enqueue.dont-filter-unseen", job=[jobs])
def dont_filter_is_not_recorded(context, open_scheduler, fresh, job):
    """A request with `dont_filter` is not recorded as seen: the same request without it is stored later."""
    scheduler = open_scheduler(job)
    scheduler.enqueue_request(Request("https://example.com/1", dont_filter=True))
    with under_test():
        accepted = scheduler.enqueue_request(fresh(1))
    if accepted is None and context.driver.silent:
        raise NotCovered("its answers do not say what it stored")
    assert accepted, "a true result"


PRIORITIES = (10, 9, 100, 0, -1, -10, 2**31, -(2**31), 10**12, 10**18, -(10**18), -(10**12))
"""Some are beyond whatever a class takes for the highest or the lowest priority."""


@check(
    "scheduler.next.priority",
    "scheduler.enqueue.true",
    "scheduler.enqueue.no-false-positive",
    name="next.priorities",
    job=[jobs],
)
def priorities_are_numbers(open_scheduler, job):
    """Requests of higher priority come first; within one slot, if the priority queue serves the slots of the downloader in
    turn.
    """
    scheduler = open_scheduler(job)
    for priority in PRIORITIES:
        accepted = scheduler.enqueue_request(Request(f"https://example.com/{priority}", priority=priority))
        with under_test("scheduler.enqueue.no-false-positive"):
            assert accepted or accepted is None, "a true result: it is new"
    left = drain(scheduler)
    wanted = [f"https://example.com/{priority}" for priority in sorted(PRIORITIES, reverse=True)]
    with under_test("scheduler.enqueue.true"):
        assert sorted(left) == sorted(wanted)
    assert left == wanted


LIMIT = 0.5
"""Seconds that an operation may take at most: a crawl stands still for so long."""


@check("scheduler.next.bounded-time")
def nothing_waits_for_work(open_scheduler, fresh):
    """`next_request`, `enqueue_request` and `has_pending_requests` return promptly, also when nothing is pending: they run on
    the event loop.
    """
    scheduler = open_scheduler("job")
    with under_test():  # the quickest of several: a busy machine delays one of them
        elapsed = [seconds(scheduler.next_request) for _ in range(3)]
        assert min(elapsed) < LIMIT
        elapsed = [seconds(scheduler.has_pending_requests) for _ in range(3)]
        assert min(elapsed) < LIMIT
        elapsed = []
        for number in range(3):
            request = fresh(number)
            elapsed = [*elapsed, seconds(lambda new=request: scheduler.enqueue_request(new))]
        assert min(elapsed) < LIMIT


@check("scheduler.pending.pure", depends_on="enqueue:0 enqueue:3 enqueue:8 next next next next", job=[jobs])
def pending_changes_nothing(open_scheduler, job):
    """`has_pending_requests` changes nothing; the engine calls it often."""
    scheduler = open_scheduler(job, holding=(0, 3, 8))
    with under_test():
        for _ in range(100):
            scheduler.has_pending_requests()
        left = drain(scheduler)
    assert sorted(left) == urls([0, 3, 8])


BUSY = 16
"""Requests of one slot in the downloader: as many as it takes in all, by default."""


@check("scheduler.pending.exact", name="pending.busy", depends_on="enqueue:0 pending next pending", job=[jobs])
def what_waits_for_a_busy_slot_is_pending(open_scheduler, its_crawler, job):
    """`has_pending_requests` is true exactly when requests that were accepted remain."""
    scheduler = open_scheduler(job)
    scheduler.enqueue_request(Request("https://example.com/1"))
    occupy(its_crawler(), "example.com", BUSY)
    with under_test():
        assert scheduler.has_pending_requests(), "true: a request waits, though its slot is busy"
    occupy(its_crawler(), "example.com", 0)
    with under_test("scheduler.enqueue.true"):
        assert drain(scheduler) == ["https://example.com/1"]
    close(scheduler)


@check("scheduler.close.reason", reason=REASONS)
def close_takes_any_reason(open_scheduler, fresh, reason):
    """`close` takes the reason, a `str`, whichever it is, and raises nothing."""
    scheduler = open_scheduler()
    if not callable(getattr(scheduler.raw, "close", None)):
        raise NotApplicable("it has no close")
    scheduler.enqueue_request(fresh(0))
    with under_test():
        close(scheduler, reason)
