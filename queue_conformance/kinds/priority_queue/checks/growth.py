"""Checks of what priority queues cost as they grow, by counts that are the same on a busy machine."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.priority_queue.fixtures import use_queues
from queue_conformance.kinds.queue.fixtures import growing_costs


@check("pq.scale.stored")
def operations_cost_the_same_however_much_is_stored(open_queue):
    """What `push`, `pop`, `peek` and `len()` cost does not grow in proportion to what is stored in one bucket."""
    use_queues(persistent=False)
    queue = open_queue()
    growing = growing_costs(queue)
    assert growing == [], "no cost that grows in proportion to what is stored"
    queue.close()
