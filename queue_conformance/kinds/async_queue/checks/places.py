"""The check of where asynchronous queues store if nobody says where."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.async_queue.common import ASYNC


@check("aqueue.persist.isolated", kinds=ASYNC)
def default_places_are_not_shared(default_place, child, open_async_queue, prioritized, loop):
    @child
    def other():
        queue = open_async_queue(placed=False)
        request = prioritized(4)
        loop.run(queue.put(request, priority=request.priority))

    queue = open_async_queue(placed=False)
    assert loop.run(queue.size()) == 0, "size 0 in another process"
