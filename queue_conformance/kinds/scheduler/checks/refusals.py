"""Checks of requests that cannot be serialized, and of what becomes of those that are refused."""

from __future__ import annotations

from typing import NamedTuple

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.driver import Item
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.faults.serialization import COMMON, FOREIGN_CALLBACKS, UNUSUAL
from queue_conformance.kinds.scheduler.driver import OpenScheduler
from queue_conformance.kinds.scheduler.layout import settings_of
from queue_conformance.kinds.scheduler.scenes import SCHEDULERS, UNLESS_ACCEPTED, case, jobs
from queue_conformance.kinds.scheduler.script_support import Trouble

ANSWERS = "scheduler.enqueue.answers"
UNSEEN = "scheduler.enqueue.refused-not-seen"

NUMBER = 1
"""The number in the URL of each cause."""


class Refused(NamedTuple):
    """A request that may be refused.

    Attributes:
        name: why, for messages.
        source: a Python expression for the request.
    """

    name: str
    source: str


def _with(name: str, arguments: str) -> Refused:
    return Refused(name, f"Request('https://example.com/{NUMBER}', {arguments})")


VALUES = tuple(_with(f"{cause.name} in meta", f"meta={{'value': {cause.source}}}") for cause in (*COMMON, *UNUSUAL))
CALLBACKS = tuple(
    _with(f"{cause.name} as {argument}", f"{argument}={cause.source}")
    for cause in FOREIGN_CALLBACKS
    for argument in ("callback", "errback")
)

LARGE = _with("a body of 1 MB", "method='POST', body=b'x' * 1_000_000")
"""Nothing is wrong with it, but some stores refuse it."""

CAUSES = (*VALUES, _with("a lambda in cb_kwargs", "cb_kwargs={'value': lambda: None}"), *CALLBACKS, LARGE)


@check(ANSWERS, kinds=SCHEDULERS)
def there_is_an_answer_to_every_request(bench: Bench) -> None:
    for job in jobs(bench):
        for cause in CAUSES:
            with case(bench):
                _answers(bench, cause, job)


def _answers(bench: Bench, cause: Refused, job: str | None) -> None:
    """Enqueue a request beside an ordinary one: what is accepted comes out, and what is rejected does not."""
    scheduler = bench.open(settings_of(bench) if job and bench.offers("configurable") else {}, job=job)
    scheduler.enqueue(bench.driver.fresh(0))
    try:
        accepted = scheduler.enqueue(bench.driver.evaluate(cause.source))
    except OperationRaised as raised:
        if raised.error not in Trouble.errors:
            raise
        if isinstance(raised.error, ValueError):
            raised.owner = "scheduler.enqueue.fallback-serialization"
            raise
        return  # what its disk queue raises so is a matter of the queue: queue.push.serialization-all-causes
    bench.examined[ANSWERS] += 1
    if accepted is None and bench.driver.silent:
        return
    if not accepted:
        bench.recorder.note(UNLESS_ACCEPTED)
    left = scheduler.drain()
    expected = sorted(bench.driver.url(number) for number in (0, NUMBER)[: 1 + bool(accepted)])
    rule = "scheduler.enqueue.true" if accepted or bench.driver.url(0) not in left else "scheduler.enqueue.false"
    text = f"{' and '.join(expected)}: {cause.name}, {'accepted' if accepted else 'rejected'}"
    bench.expect(rule, sorted(left) == expected, text, left, f"sorted(left) == {expected!r}")
    scheduler.close()


@check(UNSEEN, kinds=SCHEDULERS)
def what_was_refused_is_not_remembered(bench: Bench) -> None:
    refused = 0
    for job in jobs(bench):
        for cause in (VALUES[0], CALLBACKS[0]):
            with case(bench):
                scheduler = bench.open(job=job)
                bench.recorder.note("accepted = False")
                if _refuses(scheduler, bench.driver.evaluate(cause.source)):
                    refused += 1
                    bench.recorder.note("refused = not accepted")
                    accepted = scheduler.enqueue(bench.driver.fresh(NUMBER), UNSEEN)
                    text = "a true result: nothing with this fingerprint was stored before"
                    bench.expect(UNSEEN, bool(accepted), text, accepted, "accepted or not refused", final=True)
    if not refused:
        raise NotApplicable("it refuses no request")


def _refuses(scheduler: OpenScheduler, item: Item) -> bool:
    try:
        return not scheduler.enqueue(item)
    except OperationRaised:
        return True
