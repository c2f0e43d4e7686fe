"""Checks under SIGKILL, and under faults of what a scheduler stores in: files that cannot grow, a server that is gone."""

from __future__ import annotations

from collections.abc import Iterator

from queue_conformance.engine.blocks import may_raise, may_refuse, under_test
from queue_conformance.engine.cases import Attempt
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.crash import crash_sweep
from queue_conformance.engine.crash_claim import suggested_claim
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.killpoints import When, evenly
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.faults import disk
from queue_conformance.faults.outages import Condition, CutBetween, OutOfSpace, ReadOnly, ServerFault, usual_traffic
from queue_conformance.kinds.queue.faults import backend_of, lost_replies, offered
from queue_conformance.kinds.scheduler.checks.resuming import RESUMABLE
from queue_conformance.kinds.scheduler.fixtures import close, drain, urls
from queue_conformance.kinds.scheduler.pool import traits
from queue_conformance.kinds.scheduler.script_support import LastingFilter

# --- SIGKILL ---------------------------------------------------------------------------------------------------------


USED = "open enqueue:0 enqueue:3 close open enqueue:8 next enqueue:1 kill enqueue:9 next enqueue:20 close"
"""A job that was paused, and killed, before."""

WORKLOADS = (
    "open enqueue:0 enqueue:3 next enqueue:1 next",
    "open enqueue:0 enqueue:20 enqueue:8 enqueue:23 next enqueue:9 next enqueue:6",
    "open enqueue:15 enqueue:0 next enqueue:16 enqueue:13 next",
    USED,
)
"""Start requests, priorities, slots, and requests that the disk queue refuses."""


@crash_sweep(
    "scheduler.crash.safe",
    "scheduler.crash.no-limbo",
    workloads=lambda context: WORKLOADS,
    ways={When.AFTER, When.LINE},
    points=lambda context: 120,
    masked={"scheduler.crash.no-limbo": "scheduler.crash.safe"},
)
def sigkill_costs_no_request(crash, open_scheduler, faulty_queues, fresh, context):
    """After SIGKILL every request that `enqueue_request` accepted on disk and `next_request` did not return is pending on
    resume.
    """
    # Queues that can refuse a request, and a filter that forgets nothing.
    settings = {**faulty_queues, "DUPEFILTER_CLASS": LastingFilter} if context.offers("configurable") else {}

    @crash.child
    def died():
        for operation in crash:
            if operation.name == "open":
                scheduler = open_scheduler("job", **settings)
            elif operation.name == "enqueue":
                scheduler.enqueue_request(fresh(operation.number))
            elif operation.name == "close":
                close(scheduler)
            else:
                scheduler.next_request()

    with under_test("scheduler.crash.safe"):
        scheduler = open_scheduler("job", **settings)
        left = drain(scheduler)
    stored = urls([number for number in died.stored if number not in died.refused], on_disk=True)
    lost = [each for each in stored if each not in left]
    assert lost[died.spared :] == [], "every stored request pending"
    if died.spared or context.driver.silent:
        return
    for number in died.put:
        if number not in died.gone and not traits(number).dont_filter and urls([number])[0] not in left:
            with under_test("scheduler.crash.no-limbo"):
                accepted = scheduler.enqueue_request(fresh(number))
                assert accepted, "a request that is not pending accepted again"


LENT = "what a dead crawler had is given out later: give a setting with which it is given out sooner"


@crash_sweep(
    "scheduler.crash.ends",
    workloads=lambda context: [USED],
    ways={When.AFTER, When.LINE},
    points=lambda context: 16,
    note=suggested_claim,
)
def a_job_that_was_killed_can_be_finished(crash, open_scheduler, fresh):
    """After SIGKILL the next run of the job raises, or can be finished: `has_pending_requests()` is true exactly as long as
    something comes.
    """

    @crash.child
    def died():
        for operation in crash:
            if operation.name == "open":
                scheduler = open_scheduler("job")
            elif operation.name == "enqueue":
                scheduler.enqueue_request(fresh(operation.number))
            elif operation.name == "close":
                close(scheduler)
            else:
                scheduler.next_request()

    with under_test("scheduler.crash.ends"):
        with may_raise() as refused:  # whoever gets an exception knows that the job cannot go on
            scheduler = open_scheduler("job")
            pending = scheduler.has_pending_requests()
            length = len(scheduler) if offers("length") else None
            left = drain(scheduler)
            after = scheduler.has_pending_requests()
        if not refused:
            if after and died.gone and offers("shared"):
                raise NotCovered(LENT)
            assert not after, "has_pending_requests() false when nothing comes any more"
            assert bool(pending) == bool(left), "has_pending_requests() true if something comes, and else false"
            if length is not None:
                assert length == len(left), "a length that is the number of requests that come"


# --- Disks and servers -----------------------------------------------------------------------------------------------


STORED = (0, 3, 8)
"""The requests that are stored before the fault."""

LAST = 1
"""The request that is enqueued meanwhile."""

UNFILTERED = 13
"""Another one, with dont_filter: whether it was seen keeps nobody from storing it twice."""

DRAWN = 2
"""Places inside what a file grows by at which a write is cut, besides those at its ends."""

MOST = 24
"""Limits on the size of files that are tried at most for one operation."""


def cuts_between_commands(context: CheckContext, attempt: Attempt) -> Iterator[CutBetween]:
    """Yield a server that is gone after each number of the commands that an operation takes."""
    if not context.offers("server"):
        raise NotApplicable("it uses no server")
    backend = backend_of(context)
    usual = usual_traffic(backend, attempt)
    for number in range(usual.turns):
        yield CutBetween(backend, number)


def refusals(context: CheckContext) -> Iterator[Condition]:
    """Yield a server that refuses to store."""
    if not context.offers("server"):
        raise NotApplicable("it uses no server")
    yield from offered(OutOfSpace, ReadOnly)(context)


@check("scheduler.fault.keeps", "scheduler.enqueue.failed-not-seen", operation=("enqueue", "next"), fault=[cuts_between_commands])
def a_server_gone_between_commands_loses_nothing(open_scheduler, patient, fresh, operation, fault):
    """A fault of its disk or of its server loses no request that was accepted before it or during it, and what tries again by
    itself stores a request once.
    """
    scheduler = open_scheduler("job", holding=STORED)
    accepted, popped = False, None
    with under_test("scheduler.fault.keeps"), may_refuse() as _, fault:
        if operation == "enqueue":
            accepted = scheduler.enqueue_request(fresh(LAST))
        else:
            popped = scheduler.next_request()
    fault.must_hit()
    with under_test("scheduler.fault.keeps"):
        scheduler = patient(scheduler)
        if operation == "enqueue" and not accepted:
            accepted = scheduler.enqueue_request(fresh(LAST))
        left = drain(scheduler)
    if operation == "enqueue" and offers("filters"):
        with under_test("scheduler.enqueue.failed-not-seen"):
            lost = [url for url in urls([LAST]) if not accepted and url not in left]
            assert lost == [], "the request pending, or accepted again"
    wanted = urls([*STORED, LAST] if operation == "enqueue" else STORED)
    lost = [url for url in wanted if url not in left and url != getattr(popped, "url", None)]
    assert lost == [], f"no request lost where the server goes away in {operation}"


def replies(context: CheckContext, attempt: Attempt) -> Iterator[ServerFault]:
    """Yield one reply after the other that does not come."""
    if not context.offers("server"):
        raise NotApplicable("it uses no server")
    yield from lost_replies(context, attempt)


@check("scheduler.fault.keeps", name="fault.reply", number=(LAST, UNFILTERED), fault=[replies])
def a_lost_reply_loses_and_doubles_nothing(open_scheduler, patient, fresh, number, fault):
    """A fault of its disk or of its server loses no request that was accepted before it or during it, and what tries again by
    itself stores a request once.
    """
    scheduler = open_scheduler("job", holding=STORED)
    accepted = False
    with under_test(), may_raise(), fault:
        accepted = scheduler.enqueue_request(fresh(number))
    fault.must_hit()
    with under_test():
        scheduler = patient(scheduler)
        if not accepted:
            scheduler.enqueue_request(fresh(number))
        left = drain(scheduler)
    lost = [url for url in urls([*STORED, number]) if url not in left]
    assert lost == [], "no request lost where a reply is"
    if accepted and fault.tried_again:  # who keeps it in memory instead cannot know that it was stored
        repeated = [url for url in left if left.count(url) > 1]
        assert repeated == [], "once what was stored at the second attempt"


def disk_faults(context: CheckContext, attempt: Attempt) -> Iterator[disk.DiskFault]:
    """Yield limits on the size of files, around what storing a request adds, and no descriptors."""
    if context.offers("server"):
        raise NotApplicable("it stores in a server")
    if context.offers("configurable"):
        raise NotApplicable("what it stores in are the queues of its settings, which are tested by themselves")
    if not context.offers("filesystem"):
        raise NotApplicable("it uses neither files nor a server")
    if not disk.AVAILABLE or not context.owns_process():
        raise NotCovered("this process cannot limit its files")
    context.restart()
    usual = disk.Sizes(context.driver.directory)
    attempt(usual)
    limits = disk.places(usual.before, usual.after, DRAWN, context.seed)
    for limit in {*limits[:2], *evenly(limits, MOST, context.seed), *limits[-2:]}:
        context.restart()
        yield disk.SizeLimit(context.driver.directory, limit)
    context.restart()
    yield disk.NoDescriptors(context.driver.directory)


@check("scheduler.fault.keeps", "scheduler.enqueue.failed-not-seen", name="fault.server", fault=[refusals])
@check("scheduler.fault.keeps", "scheduler.enqueue.failed-not-seen", name="fault.disk", depends_on=RESUMABLE, fault=[disk_faults])
def a_store_that_refuses_loses_nothing(open_scheduler, fresh, fault):
    """A fault of its disk or of its server loses no request that was accepted before it or during it, and what tries again by
    itself stores a request once.
    """
    scheduler = open_scheduler("job", holding=STORED)
    accepted = False
    with under_test("scheduler.fault.keeps"), may_raise(), fault:
        accepted = scheduler.enqueue_request(fresh(LAST))
    with under_test("scheduler.fault.keeps"):
        if not accepted:
            accepted = scheduler.enqueue_request(fresh(LAST))
        left = drain(scheduler)
    if offers("filters"):
        with under_test("scheduler.enqueue.failed-not-seen"):
            lost = [url for url in urls([LAST]) if not accepted and url not in left]
            assert lost == [], "the request pending, or accepted again"
    lost = [url for url in urls([*STORED, LAST]) if url not in left]
    assert lost == [], f"no request lost: {fault.name}"


@check("scheduler.fault.keeps", name="fault.pause", depends_on=RESUMABLE, fault=[disk_faults])
def a_bad_disk_before_a_pause_loses_nothing(open_scheduler, fresh, fault):
    """A fault of its disk or of its server loses no request that was accepted before it or during it, and what tries again by
    itself stores a request once.
    """
    if not offers("persistent"):
        raise NotApplicable("it keeps nothing")
    scheduler = open_scheduler("job", holding=STORED)
    with under_test("scheduler.fault.keeps"), may_raise(), fault:
        scheduler.enqueue_request(fresh(LAST))
    with under_test("scheduler.fault.keeps"):
        close(scheduler)
        scheduler = open_scheduler("job")
        left = drain(scheduler)
    lost = [url for url in urls(STORED) if url not in left]
    assert lost == [], f"no request lost: {fault.name} before a pause"
