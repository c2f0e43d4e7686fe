"""Checks of a queue that several processes use at once, as the machine lets them, and some of which are killed."""

from __future__ import annotations

from collections.abc import Iterator

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import note
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.queue.checks.crash import LEASED
from queue_conformance.kinds.queue.fixtures import consume, pop_and_die, push_all, side_by_side
from queue_conformance.kinds.queue.kind import REQUESTS_ONLY
from queue_conformance.script_support.processes import urls

# --- Each item once --------------------------------------------------------------------------------------------------

WAITING = 100
"""Requests that are there when the processes begin."""

EACH = 25
"""Requests that each of four processes pushes."""

STALL = 0.8
"""Seconds without an operation after which a process may be taken for dead: what it had popped then rightly comes once more."""


def up_to_three(context: CheckContext) -> Iterator[int]:
    """Yield up to three attempts, until one is conclusive, as none is in which a process stood still for too long."""
    for number in range(3):
        yield number
        if context.has_tested("queue.shared.once"):
            return


@check("queue.shared.once", "queue.shared.undisturbed", kinds=REQUESTS_ONLY, number=[up_to_three])
def each_item_goes_to_one_process(context, open_queue, factory):
    """With several processes on one key, each item goes to exactly one of them."""
    size = max(1, min(4, context.examples // 100))
    waiting, each = WAITING * size, EACH * size
    most = waiting + 4 * each
    with under_test():
        queue = open_queue()
        push_all(queue, range(waiting))
        with under_test("queue.shared.undisturbed"), may_raise(TimeoutError) as refused:
            received, stall = side_by_side(factory, waiting, each)
        if refused:
            raise NotCovered(f"this machine is too slow: {refused.raised} after {STALL:g} s")
        last = open_queue()
        missing = [url for url in urls(range(most)) if url not in received]
        received = received + consume(last, missing)
        twice = [url for url in received if received.count(url) > 1]
        lost = [url for url in missing if url not in received]
        gone = lost[len(last) :]  # what len() still counts may come later
        assert gone == [], "each item"
        if twice and stall >= STALL:
            raise NotCovered(f"this machine is too slow: items came twice, but a process did nothing for {stall:.1f} s")
        assert twice == [], "each item in one process"
    if lost:
        note("shared:", f"{len(lost)} items were not back in time, but counted")


# --- Nothing lost with a process -------------------------------------------------------------------------------------

KILLS = (None, *range(8))
"""Where processes are killed: after a pop, or in one when the server has sent so many replies."""


def all_or_one(context: CheckContext) -> Iterator[tuple[int | None, ...]]:
    """Yield all kills; if something is lost with them, look for one that is enough."""
    yield KILLS
    if failure := context.failed.pop("queue.shared.no-loss", None):
        try:
            for kill in KILLS:
                yield (kill,)
                if "queue.shared.no-loss" in context.failed:
                    return
        finally:
            context.failed.setdefault("queue.shared.no-loss", failure)


@check("queue.shared.no-loss", kinds=REQUESTS_ONLY, kills=[all_or_one])
def a_process_that_dies_takes_nothing_with_it(backend, open_queue, factory, kills):
    """A process that dies after `pop` returned loses at most the items it held; one that dies before does not lose any."""
    most = 4 + 2 * len(kills)
    queue = open_queue()
    push_all(queue, range(most))
    popped = []
    died = 0
    with under_test():
        for kill in kills:
            received, hit = pop_and_die(factory, backend, kill)
            if not received:
                raise NotCovered("no pop returned an item in another process")
            popped = popped + received
            if not hit:
                break
            died += 1
        last = open_queue()
        missing = [url for url in urls(range(most)) if url not in popped]
        left = consume(last, missing)
        lost = [url for url in missing if url not in left]
        gone = lost[len(last) :]
        assert gone == [], "every item but what a pop had returned"
    if lost:
        raise NotCovered(LEASED)
    if died < min(2, len(kills)):
        raise NotCovered("no process could be killed inside pop: it does not wait for a reply of the server")
    note("processes killed:", f"{died}, all but one in pop while a reply was on its way")
