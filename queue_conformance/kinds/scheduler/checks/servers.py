"""Checks of schedulers whose queue has a temporary problem, or that store in a server."""

from __future__ import annotations

import time
from collections.abc import Iterator

from queue_conformance.engine.blocks import may_refuse, raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import note
from queue_conformance.faults.fault import Fault
from queue_conformance.faults.outages import Refused
from queue_conformance.kinds.queue.faults import backend_of, stalled
from queue_conformance.kinds.scheduler.faulty import EmptyPops
from queue_conformance.kinds.scheduler.fixtures import close, drain, drained_at_once, urls


def unreachable(context: CheckContext) -> Iterator[Refused]:
    """Yield a server that cannot be reached."""
    yield Refused(backend_of(context))


def outages(context: CheckContext) -> Iterator[Fault]:
    """Yield what has nothing to give for a moment: disk queues of the settings, and a server of its own."""
    if context.offers("configurable"):
        yield EmptyPops()
    if context.backend is not None or not context.offers("configurable"):
        yield from unreachable(context)


@check("scheduler.ctor.fail-early", fault=[unreachable])
def an_unreachable_server_is_found_early(open_scheduler, fault):
    """A scheduler that stores in a server finds out in `from_crawler` or `open` that the server cannot be reached, and raises."""
    with raises(Exception, because=": its server cannot be reached"), fault:
        scheduler = open_scheduler("job")  # noqa: F841


@check("scheduler.next.outage", fault=[outages], numbers=((0, 1), (0, 3, 8, 20), (8, 9)))
def a_temporary_problem_is_no_end(open_scheduler, faulty_queues, fault, numbers):
    """While the external queue has a temporary problem `next_request` returns `None`, `has_pending_requests` stays true,
    nothing is raised, and everything comes out afterwards.
    """
    scheduler = open_scheduler("job", holding=numbers, **(faulty_queues if isinstance(fault, EmptyPops) else {}))
    with under_test():
        with fault:
            for _ in range(3):
                assert scheduler.next_request() is None
                assert scheduler.has_pending_requests(), "has_pending_requests() true"
        left = drain(scheduler)
    fault.must_hit()
    assert sorted(left) == sorted(urls(numbers))


@check("scheduler.next.frozen", operation=("next", "pending", "enqueue"), fault=[stalled])
def nothing_waits_for_a_server_that_says_nothing(open_scheduler, fresh, operation, fault):
    """`next_request`, `enqueue_request` and `has_pending_requests` return or raise in a bounded time while the server says
    nothing.
    """
    scheduler = open_scheduler("job", holding=[0])
    started = time.monotonic()
    with under_test(), may_refuse(only=["Exception"]), fault:  # what raises did not wait
        if operation == "next":
            scheduler.next_request()
        elif operation == "pending":
            scheduler.has_pending_requests()
        else:
            scheduler.enqueue_request(fresh(1))
    note("while the server says nothing:", f"{operation} after {time.monotonic() - started:.1f} s")


PROCESSES = 3


@check("scheduler.shared")
def each_request_is_handed_out_once(open_scheduler, scheduler_factory, fresh):
    """Of several processes on one store each request is handed to exactly one, none is disturbed by another one, and closing
    one does not empty the others'.
    """
    scheduler = open_scheduler("job")
    for number in range(100, 160):
        scheduler.enqueue_request(fresh(number))
    with under_test():
        received = drained_at_once(scheduler_factory, PROCESSES)
    twice = [url for url in received if received.count(url) > 1]
    assert twice == [], f"each request in one of {PROCESSES} processes"
    assert sorted(received) == urls(range(100, 160))


@check("scheduler.shared", name="shared.close")
def who_closes_takes_nothing_from_others(open_scheduler, fresh):
    """Of several processes on one store each request is handed to exactly one, none is disturbed by another one, and closing
    one does not empty the others'.
    """
    scheduler = open_scheduler("job")
    with under_test():
        other = open_scheduler("job")
    for number in (0, 3):
        scheduler.enqueue_request(fresh(number))
    close(scheduler)
    with under_test():
        left = drain(other)
    assert sorted(left) == urls([0, 3]), "both requests, after another process closed"
    close(other)
