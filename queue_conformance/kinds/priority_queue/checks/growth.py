"""Checks of what priority queues cost as they grow, and keep, by counts that are the same on a busy machine."""

from scrapy import Request

from queue_conformance.engine.check import check
from queue_conformance.engine.growing import SIZE
from queue_conformance.kinds.priority_queue.fixtures import use_queues
from queue_conformance.kinds.queue.costs import bytes_kept_of_popped, growing_costs


@check("pq.scale.stored")
def operations_cost_the_same_however_much_is_stored(open_queue):
    """What `push`, `pop`, `peek` and `len()` cost does not grow in proportion to what is stored in one bucket."""
    use_queues(persistent=False)
    queue = open_queue()
    growing = growing_costs(queue)
    assert growing == [], "no cost that grows in proportion to what is stored"
    queue.close()


@check("pq.scale.kept")
def what_is_gone_takes_no_memory(open_queue):
    """What was popped is not kept in memory while the queue is in use, though it is never empty."""
    use_queues(persistent=False)
    queue = open_queue()
    queue.push(Request("https://example.com/1"))
    kept, passed = bytes_kept_of_popped(queue, SIZE)
    assert kept < passed // 2 * SIZE, f"less than half of the bytes of {passed} requests of {SIZE} bytes, which are gone"
    queue.close()
