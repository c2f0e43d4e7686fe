"""The crash sweep of schedulers that are claimed to be safe against SIGKILL."""

from queue_conformance.engine.crash import crash_sweep
from queue_conformance.engine.killpoints import When
from queue_conformance.kinds.scheduler.pool import traits
from queue_conformance.kinds.scheduler.script_support import LastingFilter

SAFE = "scheduler.crash.safe"
NO_LIMBO = "scheduler.crash.no-limbo"

WORKLOADS = (
    "enqueue:0 enqueue:3 next enqueue:1 next",
    "enqueue:0 enqueue:20 enqueue:8 enqueue:23 next enqueue:9 next enqueue:6",
    "enqueue:15 enqueue:0 next enqueue:16 enqueue:13 next",
)
"""Start requests, priorities, slots, and requests that the disk queue refuses."""


@crash_sweep(
    SAFE,
    NO_LIMBO,
    workloads=lambda context: WORKLOADS,
    ways={When.AFTER, When.LINE},
    points=lambda context: 120,
    masked={NO_LIMBO: SAFE},
)
def sigkill_costs_no_request(crash, open_scheduler, faulty_queues, fresh, remaining, urls, about, context):
    # Queues that can refuse a request, and a filter that forgets nothing.
    settings = {**faulty_queues, "DUPEFILTER_CLASS": LastingFilter} if context.offers("configurable") else {}

    @crash.child
    def died():
        scheduler = open_scheduler("job", **settings)
        for operation in crash:
            if operation.name == "enqueue":
                scheduler.enqueue_request(fresh(operation.number))
            else:
                scheduler.next_request()

    with about(SAFE):
        scheduler = open_scheduler("job", **settings)
        left = remaining(scheduler)
    stored = urls([number for number in died.stored if number not in died.refused], on_disk=True)
    lost = [each for each in stored if each not in left]
    assert lost[died.spared :] == [], "every stored request pending"
    if died.spared or context.driver.silent:
        return
    for number in died.put:
        if number not in died.gone and not traits(number).dont_filter and urls([number])[0] not in left:
            with about(NO_LIMBO):
                accepted = scheduler.enqueue_request(fresh(number))
                assert accepted, "a request that is not pending accepted again"
