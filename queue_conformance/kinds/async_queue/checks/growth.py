"""Checks of what asynchronous queues cost as they grow, and keep, by counts that are the same on a busy machine."""

from queue_conformance.engine.check import check
from queue_conformance.engine.growing import SIZE
from queue_conformance.kinds.async_queue.fixtures import bytes_kept_of_got, growing_costs_of_calls


@check("aqueue.scale.stored")
def operations_cost_the_same_however_much_is_stored(context, open_async_queue, loop):
    """What `put`, `get` and `size` cost does not grow in proportion to what is stored."""
    queue = open_async_queue(**context.driver.unlimited)
    growing = growing_costs_of_calls(queue)
    assert growing == [], "no cost that grows in proportion to what is stored"
    loop.run(queue.close())


@check("aqueue.scale.kept")
def what_is_gone_takes_no_memory(context, open_async_queue, loop, request_of_size):
    """What was got is not kept in memory while the queue is in use, though it is never empty."""
    queue = open_async_queue(**context.driver.unlimited)
    loop.run(queue.put(request_of_size(SIZE), priority=0))
    kept, passed = bytes_kept_of_got(queue, SIZE)
    assert kept < passed // 2 * SIZE, f"less than half of the bytes of {passed} requests of {SIZE} bytes, which are gone"
    loop.run(queue.close())
