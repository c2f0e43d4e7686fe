"""Checks of the constructor."""

from contextlib import chdir

from queue_conformance.engine.blocks import may_raise, raises, under_test
from queue_conformance.engine.cases import FaultMissed
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import shortened_file
from queue_conformance.engine.samples import MOST_FILES
from queue_conformance.kinds.async_scheduler.common import WORKS
from queue_conformance.kinds.async_scheduler.fixtures import new


@check("ascheduler.ctor.none", depends_on="add:0 get", part=("queue", "fingerprinter"))
def both_parts_are_required(construct, part):
    """`None` for the queue or the fingerprinter raises `ValueError`."""
    with raises(ValueError):
        construct(**{part: None})


REFUSALS = (({"fingerprinter": None}, None), *(({}, number) for number in range(MOST_FILES)))
"""What a scheduler may refuse: a part that is missing, and one of the files that is too short."""


@check("ascheduler.ctor.refused-keeps", depends_on=WORKS, start=REFUSALS)
def a_refused_construction_keeps_the_queue(construct, new_scheduler, page, loop, directory, start):
    """A construction that is refused keeps what the queue holds: the next right one gives every request."""
    parts, file = start
    with chdir(directory):
        queue = new("DiskQueue", f"{directory}/queue")
        scheduler = new_scheduler(queue)
        loop.run(scheduler.add(page(1)))
        loop.run(scheduler.add(page(2)))
        loop.run(scheduler.close())
        queue = new("DiskQueue", f"{directory}/queue")
        with shortened_file(directory, file):
            with may_raise() as refused:
                scheduler = construct(queue=queue, **parts)
            if not refused:
                raise FaultMissed("it refuses nothing")
        with under_test():
            queue = new("DiskQueue", f"{directory}/queue")
            scheduler = new_scheduler(queue)
            assert loop.run(scheduler.qsize()) == 2, "both requests, as a construction that is refused keeps them"
            for _ in range(2):
                assert loop.run(scheduler.get()) in [page(1), page(2)]
