"""The fixed command sequences of schedulers, by the rules that they test."""

from queue_conformance.engine import registry
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixed import sequences
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import NotApplicable


def everywhere(context: CheckContext, sequence: str) -> None:
    """Run a sequence in memory, where the scheduler can do that, and with a job directory, where it can use one."""
    if not context.implementation.capabilities.needs_job:
        run(context, sequence, job=False)
    if context.offers("persistent"):
        run(context, sequence, job=True)


@registry.check("scheduler.enqueue.false")
def what_is_rejected_never_comes(context: CheckContext) -> None:
    """A false result means rejected for good: nothing is stored, and `next_request` never returns the request."""
    if not context.offers("filters"):
        raise NotApplicable("it rejects nothing")
    everywhere(context, "enqueue:0 enqueue:0 enqueue:8 enqueue:8 next next next enqueue:0 next")


sequences(
    __name__,
    {
        "scheduler.enqueue.true": (
            "enqueue:0 enqueue:3 enqueue:8 enqueue:13 enqueue:13 next next enqueue:1 next next next next next",
        ),
        "scheduler.enqueue.bool": "enqueue:0 enqueue:8 enqueue:13 enqueue:3 next next next next",
        "scheduler.next.none-empty": "next next enqueue:0 next next next enqueue:8 next next",
        "scheduler.next.priority": "enqueue:0 enqueue:6 enqueue:3 enqueue:8 enqueue:11 next next enqueue:4 next next next next",
        "scheduler.pending.exact": (
            "pending enqueue:0 pending next pending next pending enqueue:8 enqueue:1 enqueue:1 pending next pending next pending",
            "enqueue:15 pending next pending enqueue:0 enqueue:16 pending next pending next pending",  # the disk refuses some
        ),
        "scheduler.len": (
            "length enqueue:0 length enqueue:0 length enqueue:8 enqueue:3 length next length next next length next length",
            "enqueue:15 length enqueue:0 length enqueue:16 length next length next length next length",
        ),
        "scheduler.enqueue.stats": "enqueue:0 enqueue:0 enqueue:15 enqueue:8 enqueue:13 next enqueue:0",
        "scheduler.next.stats": "next enqueue:0 enqueue:0 enqueue:15 enqueue:8 next next next next",
    },
    run=everywhere,
)

sequences(
    __name__,
    {
        "scheduler.next.no-spurious-none": (  # a request that the disk queue refuses, where there is nothing else
            "enqueue:0 enqueue:24 next next",
            "enqueue:8 enqueue:15 next next",
            "enqueue:0 enqueue:17 next next",
        ),
        "scheduler.resume.all": "enqueue:0 enqueue:3 enqueue:8 reopen reopen next enqueue:9 reopen "
        "enqueue:1 next reopen next next",
        "scheduler.resume.seen": "enqueue:0 enqueue:3 enqueue:8 next reopen enqueue:0 enqueue:3 enqueue:8",
        "scheduler.enqueue.disk-first": "enqueue:0 enqueue:3 enqueue:8 enqueue:13 reopen",
        "scheduler.enqueue.unserializable-stat": "enqueue:0 enqueue:15 enqueue:8 enqueue:16 enqueue:18 enqueue:3 reopen",
        "scheduler.next.memory-first": (
            "enqueue:0 enqueue:15 next next",
            "enqueue:3 enqueue:17 next next",
            "enqueue:8 enqueue:18 next next",
        ),
        "scheduler.resume.no-dup": (
            "enqueue:0 enqueue:3 enqueue:8 enqueue:9 next reopen next reopen next next next reopen next",
            "enqueue:0 next reopen next enqueue:1 enqueue:2 next reopen next next",
        ),
    },
)
