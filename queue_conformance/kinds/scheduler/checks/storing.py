"""Checks of where requests go, what happens when they cannot be stored there, and what becomes of those that are refused."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

from scrapy import Request

from queue_conformance.engine.blocks import may_raise, may_refuse, raises, under_test
from queue_conformance.engine.cases import FaultMissed
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.environments.unserializable import COMMON, FOREIGN_CALLBACKS, UNUSUAL, Cause
from queue_conformance.faults import disk
from queue_conformance.kinds.scheduler.faulty import PushRaises, stored
from queue_conformance.kinds.scheduler.fixtures import body_sizes_lost, close, drain, made_here, unless_the_queue_raises, urls
from queue_conformance.kinds.scheduler.layout import jobs
from queue_conformance.script_support.support import exit_if, logged
from queue_conformance.specification.kinds import EXTERNAL_QUEUE

# --- Fallbacks -------------------------------------------------------------------------------------------------------


def serialization_error(context: CheckContext) -> Iterator[PushRaises]:
    """Yield the errors which say that a request cannot be serialized."""
    yield PushRaises(ValueError("no"))
    yield PushRaises(UnicodeDecodeError("utf-8", b"x", 0, 1, "no"))
    if context.implementation.profile is EXTERNAL_QUEUE:
        source, error = context.driver.error("serialization-error")
        yield PushRaises(error, source)


def transient_error(context: CheckContext) -> Iterator[PushRaises]:
    """Yield the error of a queue that has a problem for a moment."""
    source, error = context.driver.error("transient-error")
    yield PushRaises(error, source)


def permanent_error(context: CheckContext) -> Iterator[PushRaises]:
    """Yield errors for which there is no fallback."""
    for error in (RuntimeError("no"), OSError(28, "No space left on device"), KeyError("no"), NotImplementedError()):
        yield PushRaises(error)


@check("scheduler.enqueue.fallback-serialization", numbers=((0, 1),), fault=[serialization_error])
@check("scheduler.enqueue.fallback-transient", numbers=((0, 1), (8, 0), (0, 20)), fault=[transient_error])
def what_the_disk_does_not_take_is_kept_in_memory(open_scheduler, faulty_queues, fresh, numbers, fault):
    """If the disk queue says by a `ValueError` that a request cannot be serialized, the request is kept in memory and the
    result is true.

    If the disk queue raises the transient error, the request is kept in memory and the result is true.
    """
    before, failing = numbers
    scheduler = open_scheduler("job", **faulty_queues)
    scheduler.enqueue_request(fresh(before))
    with under_test(), fault:
        accepted = scheduler.enqueue_request(fresh(failing))
    fault.must_hit()
    assert accepted, "a true result"
    assert sorted(drain(scheduler)) == sorted(urls(numbers))


@check("scheduler.enqueue.fallback-serialization", name="enqueue.lambda")
def a_lambda_is_kept_in_memory(open_scheduler):
    """If the disk queue says by a `ValueError` that a request cannot be serialized, the request is kept in memory and the
    result is true.
    """
    scheduler = open_scheduler("job")  # the queue of the settings, and what it really cannot serialize
    with under_test():
        accepted = scheduler.enqueue_request(Request("https://example.com/1", meta={"value": lambda: None}))
    assert accepted, "a true result"
    assert drain(scheduler) == ["https://example.com/1"]


def error_with_fallback(context: CheckContext) -> Iterator[PushRaises]:
    """Yield an error of each kind for which there is a fallback."""
    yield PushRaises(ValueError("no"))
    if context.implementation.profile is EXTERNAL_QUEUE:
        yield from transient_error(context)


@check("scheduler.enqueue.fallback-once", fault=[error_with_fallback])
def the_next_request_tries_the_disk_again(open_scheduler, faulty_queues, fresh, fault):
    """The fallback concerns that request only: the next one tries the disk queue again."""
    scheduler = open_scheduler("job", **faulty_queues)
    with (
        under_test(
            "scheduler.enqueue.fallback-serialization"
            if isinstance(fault.error, ValueError)
            else "scheduler.enqueue.fallback-transient"
        ),
        fault,
    ):
        scheduler.enqueue_request(fresh(0))
    fault.must_hit()
    scheduler.enqueue_request(fresh(1))
    assert stored() == urls([1]), "the second request on disk"


# --- Other errors ----------------------------------------------------------------------------------------------------


@check("scheduler.enqueue.other-propagates", fault=[permanent_error])
def other_errors_reach_the_caller(open_scheduler, faulty_queues, fresh, fault):
    """Any other exception of the disk queue reaches the caller, the request is not stored, and nothing that was stored is
    lost.
    """
    scheduler = open_scheduler("job", holding=(0, 3), **faulty_queues)
    with raises(type(fault.error)), fault:
        scheduler.enqueue_request(fresh(1))
    assert sorted(drain(scheduler)) == urls([0, 3])


@check("scheduler.enqueue.failed-not-seen", fault=[permanent_error])
def what_failed_can_be_enqueued_again(open_scheduler, faulty_queues, fresh, fault):
    """If storing fails with an exception, the request is not remembered as seen: the same request can be enqueued later."""
    if not offers("configurable", "persistent"):
        raise NotApplicable("its disk queue is none of the settings")  # scheduler.fault.keeps lets what it uses fail
    scheduler = open_scheduler("job", **faulty_queues)
    with may_raise() as failed, fault:
        scheduler.enqueue_request(fresh(1))
    if failed:  # where it is kept in memory, or in a buffer, another rule says whether that is right
        with under_test():
            accepted = scheduler.enqueue_request(fresh(1))
        assert accepted, "a true result: nothing was stored before"


def failing_disk(context: CheckContext) -> Iterator[disk.DiskFault]:
    """Yield a disk that takes nothing more, and one on which no more files can be opened."""
    if not context.offers("configurable", "persistent") or not disk.AVAILABLE or not context.owns_process():
        raise NotApplicable("its disk queue is none of the settings")
    yield disk.SizeLimit(context.driver.directory, 0)
    context.restart()
    yield disk.NoDescriptors(context.driver.directory)


@check("scheduler.enqueue.failed-not-seen", name="enqueue.failing-disk", fault=[failing_disk])
def what_the_disk_did_not_take_can_be_enqueued_again(open_scheduler, fault):
    """If storing fails with an exception, the request is not remembered as seen: the same request can be enqueued later."""
    scheduler = open_scheduler("job")
    with may_raise() as failed, fault:
        scheduler.enqueue_request(Request("https://example.com/1", body=b"x" * 100_000))
    if failed:
        with under_test():
            accepted = scheduler.enqueue_request(Request("https://example.com/1", body=b"x" * 100_000))
        assert accepted, "a true result: nothing was stored before"


# --- What is counted and logged --------------------------------------------------------------------------------------


@check("scheduler.enqueue.debug-log", debug=(True, False))
def the_first_fallback_is_logged(open_scheduler, faulty_queues, fresh, debug):
    """With `SCHEDULER_DEBUG` the first request that cannot be serialized is logged and later ones are not; without it none is."""
    scheduler = open_scheduler("job", SCHEDULER_DEBUG=debug, **faulty_queues)
    with logged(logging.WARNING) as texts:
        for number in (0, 15, 16, 18):
            scheduler.enqueue_request(fresh(number))
    found = [text for text in texts if "https://example.com/1" in text]
    assert len(found) == int(debug), "one record, of the first fallback" if debug else "no record"
    assert all("https://example.com/15" in text for text in found)


# --- Requests that cannot be serialized ------------------------------------------------------------------------------


class Refused(Cause):
    """A request that may be refused, for what a cause makes is one of its arguments."""

    def __init__(self, argument: str, cause: Cause) -> None:
        super().__init__(f"{cause.name} as {argument}", cause.make)
        self.argument = argument

    def __call__(self, *arguments: Any) -> Request:
        value = super().__call__(*arguments)
        given: dict[str, Any] = {self.argument: {"value": value} if self.argument == "meta" else value}
        return Request("https://example.com/1", **given)

    @property
    def source(self) -> str:
        value = super().source
        value = f"{{'value': {value}}}" if self.argument == "meta" else value
        return f"Request('https://example.com/1', {self.argument}={value})"


VALUES = [Refused("meta", cause) for cause in (*COMMON, *UNUSUAL)]
CALLBACKS = [Refused(argument, cause) for cause in FOREIGN_CALLBACKS for argument in ("callback", "errback")]
CAUSES = (
    *VALUES,
    Refused("cb_kwargs", Cause("a lambda", lambda: {"value": lambda: None})),
    *CALLBACKS,
    *(Cause(f"a request to {url}", partial(Request, url)) for url in ("data:,x", "file:///x", "http://[::1]:8080/")),
    Refused("body", Cause("1 MB", lambda: b"x" * 1_000_000)),  # nothing is wrong with it, but some stores refuse it
)


@check("scheduler.enqueue.answers", job=[jobs], refused=CAUSES)
def there_is_an_answer_to_every_request(context, open_scheduler, faulty_queues, job, refused):
    """`enqueue_request` answers true or false and raises for no request that a spider can make, one that cannot be serialized
    included.
    """
    scheduler = open_scheduler(job, holding=[0], **(faulty_queues if job else {}))
    request = made_here(refused)
    with unless_the_queue_raises() as raised:
        accepted = scheduler.enqueue_request(request)
    if raised or (accepted is None and context.driver.silent):
        return
    if not accepted:
        exit_if(accepted)
    left = drain(scheduler)
    with under_test("scheduler.enqueue.true" if accepted or urls([0])[0] not in left else "scheduler.enqueue.false"):
        wanted = sorted([*urls([0]), request.url] if accepted else urls([0]))
        answer = "accepted" if accepted else "rejected"
        assert sorted(left) == wanted, f"{' and '.join(wanted)}: {refused.name}, {answer}"
    close(scheduler)


@check("scheduler.pending.exact", name="pending.unserializable", job=[jobs], request=(VALUES[0], CALLBACKS[0]))
def what_cannot_be_serialized_is_pending_too(open_scheduler, faulty_queues, job, request):
    """`has_pending_requests` is true exactly when requests that were accepted remain."""
    scheduler = open_scheduler(job, **(faulty_queues if job else {}))
    with may_refuse() as refused:
        accepted = scheduler.enqueue_request(made_here(request))
    if refused or not accepted:
        raise NotCovered("it refuses what cannot be serialized, or does not say whether it does")
    with under_test("scheduler.pending.exact"):
        pending = scheduler.has_pending_requests()
        assert pending, "true: a request waits"


def some(context: CheckContext) -> Iterator[Refused]:
    """Yield two requests that a scheduler may refuse; it may refuse none."""
    yield VALUES[0]
    yield CALLBACKS[0]
    if not context.has_tested("scheduler.enqueue.refused-not-seen"):
        raise NotApplicable("it refuses no request")


@check("scheduler.enqueue.refused-not-seen", request=[some], job=[jobs])
def what_was_refused_is_not_remembered(open_scheduler, fresh, request, job):
    """A request that was refused, by a false result or an exception, and that is no duplicate, is not remembered as seen."""
    scheduler = open_scheduler(job)
    with may_refuse() as refused:
        accepted = scheduler.enqueue_request(made_here(request))
    if not refused:
        if accepted:
            raise FaultMissed("it refuses no request")
        exit_if(accepted)
    with under_test("scheduler.enqueue.refused-not-seen"):
        accepted = scheduler.enqueue_request(fresh(1))
        assert accepted, "a true result: nothing with this fingerprint was stored before"


def near_a_page(context: CheckContext) -> Iterator[range]:
    """Yield sizes of bodies, of which some end with their page, whatever a record holds besides, for a store of its own."""
    if not context.offers("filesystem") or context.offers("configurable"):
        raise NotApplicable("it has no store of its own in files")
    if context.budget.short:
        raise NotCovered(f"operations are slow{context.budget.more}")
    yield range(3400, 4100, 4)


@check("scheduler.enqueue.true", name="enqueue.near-pages", depends_on="enqueue:0 next", sizes=[near_a_page])
def no_size_of_a_request_is_special(open_scheduler, sizes):
    """A true result means stored: `next_request` returns the request exactly once, in this run or, where the scheduler
    persists, in the next.
    """
    scheduler = open_scheduler("job")
    lost = body_sizes_lost(scheduler, sizes)
    assert lost == [], "a request of each size that was accepted"
    close(scheduler)
