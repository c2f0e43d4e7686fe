"""The check of where asynchronous queues store if nobody says where."""

from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotApplicable


@check("aqueue.persist.isolated")
def default_places_are_not_shared(context, default_place, child, open_async_queue, put, loop):
    if context.driver.place is None or context.driver.requires(context.driver.place):
        raise NotApplicable("the place of storage has no default")

    @child
    def other():
        queue = open_async_queue(placed=False)
        put(queue, 4)

    queue = open_async_queue(placed=False)
    assert loop.run(queue.size()) == 0, "size 0 in another process"
