"""Checks under a disk that takes nothing more."""

from __future__ import annotations

from collections.abc import Iterator

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.faults import disk
from queue_conformance.kinds.async_queue.fixtures import drained, put, urls_of


def full_disk(context: CheckContext) -> Iterator[disk.SizeLimit]:
    """Yield a disk that takes nothing more, for what stores in files."""
    if not context.offers("filesystem"):
        raise NotApplicable("it stores in no files")
    if not disk.AVAILABLE or not context.owns_process():
        raise NotCovered("this platform cannot limit the size of files")
    yield disk.SizeLimit(context.driver.directory, 0)


@check("aqueue.fault.recovers", name="fault.disk", fault=[full_disk])
def a_put_that_the_disk_refused_leaves_no_trace(open_async_queue, loop, request_of_size, fault):
    """After a put that was refused, or any fault of its disk, its server or its process, a queue works again when that is
    over, and `close` raises nothing.
    """
    queue = open_async_queue(holding=[4])
    with may_raise() as refused, fault:
        loop.run(queue.put(request_of_size(10_000), priority=0))
    if not refused:
        raise NotCovered("no put is refused for want of room on the disk")
    with under_test():
        assert loop.run(queue.size()) == 1
        put(queue, 8)
        left = drained(loop, queue, 4)
        assert sorted(one.url for one in left) == sorted(urls_of([4, 8]))
        loop.run(queue.close())
