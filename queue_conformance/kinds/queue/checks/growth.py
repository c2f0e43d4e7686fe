"""Checks of what queues cost as they grow, and keep, by counts that are the same on a busy machine."""

from queue_conformance.engine.check import check
from queue_conformance.engine.growing import SIZE
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.queue.costs import bytes_kept_of_popped, growing_costs
from queue_conformance.kinds.queue.fixtures import push_often
from queue_conformance.script_support.support import open_files


@check("queue.scale.stored")
def operations_cost_the_same_however_much_is_stored(open_queue):
    """What `push`, `pop`, `peek` and `len()` cost does not grow in proportion to what is stored."""
    queue = open_queue()
    growing = growing_costs(queue)
    assert growing == [], "no cost that grows in proportion to what is stored"
    queue.close()


@check("queue.scale.stored", name="scale.files", depends_on="push:0 push:1 pop pop")
def no_item_holds_a_file_open(open_queue, item):
    """What `push`, `pop`, `peek` and `len()` cost does not grow in proportion to what is stored."""
    queue = open_queue(holding=[1, 2])
    files = open_files()
    if not files:
        raise NotCovered("nothing tells which files are open")
    push_often(queue, item(3), 128)
    more = open_files() - files
    assert more < 64, "no file held open for each of 128 items"
    queue.close()


@check("queue.scale.kept", depends_on="push:0 push:1 pop pop")
def what_is_gone_takes_no_memory(open_queue, sized):
    """What was popped is not kept in memory while the queue is in use, though it is never empty."""
    queue = open_queue()
    queue.push(sized(SIZE))
    kept, passed = bytes_kept_of_popped(queue, SIZE)
    assert kept < passed // 2 * SIZE, f"less than half of the bytes of {passed} items of {SIZE} bytes, which are gone"
    queue.close()
