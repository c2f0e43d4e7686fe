"""Checks of requests that cannot be serialized, and of what becomes of those that are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy import Request

from queue_conformance.engine.cases import Attempt, FaultMissed
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.faults.serialization import COMMON, FOREIGN_CALLBACKS, UNUSUAL, Cause
from queue_conformance.kinds.scheduler.fixtures import TRUE
from queue_conformance.kinds.scheduler.layout import jobs
from queue_conformance.script_support.support import exit_if

ANSWERS = "scheduler.enqueue.answers"
UNSEEN = "scheduler.enqueue.refused-not-seen"


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
    Refused("body", Cause("1 MB", lambda: b"x" * 1_000_000)),  # nothing is wrong with it, but some stores refuse it
)


@check(ANSWERS, job=[jobs], refused=CAUSES)
def there_is_an_answer_to_every_request(
    context, open_scheduler, faulty_queues, made_here, remaining, urls, close, unless_the_queue_raises, about, job, refused
):
    scheduler = open_scheduler(job, holding=[0], **(faulty_queues if job else {}))
    with unless_the_queue_raises() as raised:
        accepted = scheduler.enqueue_request(made_here(refused))
    if raised or (accepted is None and context.driver.silent):
        return
    if not accepted:
        exit_if(accepted)
    left = remaining(scheduler)
    with about(TRUE if accepted or urls([0])[0] not in left else "scheduler.enqueue.false"):
        wanted = urls([0, 1] if accepted else [0])
        answer = "accepted" if accepted else "rejected"
        assert sorted(left) == wanted, f"{' and '.join(wanted)}: {refused.name}, {answer}"
    close(scheduler)


def some(context: CheckContext, _attempt: Attempt) -> Iterator[Refused]:
    """Yield two requests that a scheduler may refuse; it may refuse none."""
    yield VALUES[0]
    yield CALLBACKS[0]
    if not context.covered[UNSEEN] and UNSEEN not in context.failed:
        raise NotApplicable("it refuses no request")


@check(UNSEEN, request=[some], job=[jobs])
def what_was_refused_is_not_remembered(open_scheduler, fresh, made_here, uncertain, about, request, job):
    scheduler = open_scheduler(job)
    with uncertain() as refused:
        accepted = scheduler.enqueue_request(made_here(request))
    if not refused:
        if accepted:
            raise FaultMissed("it refuses no request")
        exit_if(accepted)
    with about(UNSEEN):
        accepted = scheduler.enqueue_request(fresh(1))
        assert accepted, "a true result: nothing with this fingerprint was stored before"
