"""The first use of a request queue."""

from queue_kind_crawlee.commands import RequestQueueLockstep

RULES = ("rq.interface",)
SHOWN = ()

METHODS = ("add_request", "fetch_next_request", "mark_request_as_handled", "reclaim_request", "is_empty", "get_handled_count")


def smoke(context):
    """Look for the methods, and ask a new queue whether it is empty."""
    lockstep = RequestQueueLockstep(context, 0)
    queue = lockstep.sources.give(lockstep.queue.raw, "queue")
    lockstep.expect(
        RULES[0],
        lambda: [name for name in METHODS if not hasattr(queue, name)] == [],
        expected="every method of the interface",
        actual=f"without {', '.join(name for name in METHODS if not hasattr(queue, name))}",
        final=True,
    )
    result = lockstep.queue.call("is_empty()", RULES[0], "result = ")
    lockstep.expect(RULES[0], lambda result: result is True, result, expected="an empty queue", final=True)
