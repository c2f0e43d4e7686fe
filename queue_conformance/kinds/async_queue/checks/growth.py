"""Checks of what asynchronous queues cost as they grow, by counts that are the same on a busy machine."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.async_queue.fixtures import growing_costs_of_calls


@check("aqueue.scale.stored")
def operations_cost_the_same_however_much_is_stored(context, open_async_queue, loop):
    """What `put`, `get` and `size` cost does not grow in proportion to what is stored."""
    queue = open_async_queue(**context.driver.unlimited)
    growing = growing_costs_of_calls(queue)
    assert growing == [], "no cost that grows in proportion to what is stored"
    loop.run(queue.close())
