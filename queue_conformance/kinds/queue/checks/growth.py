"""Checks of what queues cost as they grow, by counts that are the same on a busy machine."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.queue.fixtures import growing_costs


@check("queue.scale.stored")
def operations_cost_the_same_however_much_is_stored(open_queue):
    """What `push`, `pop`, `peek` and `len()` cost does not grow in proportion to what is stored."""
    queue = open_queue()
    growing = growing_costs(queue)
    assert growing == [], "no cost that grows in proportion to what is stored"
    queue.close()
