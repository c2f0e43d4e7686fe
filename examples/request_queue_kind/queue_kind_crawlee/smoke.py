"""The first use of a request queue."""

RULES = ("rq.interface",)
SHOWN = ()

METHODS = ("add_request", "fetch_next_request", "mark_request_as_handled", "reclaim_request", "is_empty", "get_handled_count")


def smoke(context):
    """Look for the methods, and ask a new queue whether it is empty."""
    queue = context.open()
    missing = [name for name in METHODS if not hasattr(queue.raw, name)]
    left = f"left = [name for name in {METHODS} if not hasattr(queue, name)]"
    context.recorder.call(left, RULES[0], lambda: missing)
    context.expect(
        RULES[0], not missing, "every method of the interface", f"without {', '.join(missing)}", "left == []", final=True
    )
    result = queue.call("is_empty()", RULES[0], "result = ")
    context.expect(RULES[0], result is True, "an empty queue", result, "result is True", final=True)


def show_absence(context, rule, name):
    """Nothing is claimed of request queues."""
