"""Checks of pop and close while downstream queues fail."""

from urllib.parse import urlsplit

from queue_conformance.engine.blocks import may_raise, raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.priority_queue.fixtures import START, disturbed, pop_urls, through_json, use_queues


@check(
    "pq.pop.never-close-nonempty",
    sequence=(
        "push:0 push:0 push:4 pop_none pop_none pop pop pop",
        "push:1 pop_none push:0 pop_none pop pop",
        "push:1 push:3 pop_none pop",
    ),
)
def only_empty_queues_are_given_up(context, run, sequence, rule):
    """A downstream queue is given up only when its `len` is 0, or by `close`; only one that keeps its requests under its key
    may be closed meanwhile, to be built again from it when it is needed.
    """
    run(sequence, configure=lambda driver: driver.configure(persistent=False))  # over queues that are lost when they are closed
    if not context.covered[rule]:
        raise NotCovered("no downstream queue was asked while it says None")


@check("pq.pop.drained-closed", persistent=(False, True))
def drained_queues_are_closed(open_queue, request, persistent):
    """A downstream queue that is drained is closed, and can be built again later."""
    store = use_queues(persistent=persistent)
    queue = open_queue()
    for priorities in ((0, 1, 0, -2), (0, 1), (1, 0)):
        pushed = [request(priority=priority) for priority in priorities] + [request(host="b.example", meta=START)]
        for each in pushed:
            queue.push(each)
        with under_test("pq.pop.exactly-once"):
            assert sorted(pop_urls(queue, len(pushed))) == sorted(each.url for each in pushed)
        left_open = sum(not found.closed for found in store.built)
        assert left_open == 0, "no queue open, all are drained"


@check(
    "pq.pop.error-keeps-rest",
    "pq.len.sum",
    priorities=((0, 0, 1, 1, -2), (0, 0, 2, -2), (0, 0, 0, 1), (0, 0, 0, 0, -1)),
    errors=(1, 5),
)
def errors_of_pops_lose_nothing_else(open_queue, request, priorities, errors):
    """An exception that the `pop` of a downstream queue raises reaches the caller, and loses no other request."""
    store = use_queues()
    queue = open_queue()
    pushed = [request(host=f"{'abc'[number % 3]}.example", priority=priority) for number, priority in enumerate(priorities)]
    for each in pushed:
        queue.push(each)
    first = {urlsplit(each.url).netloc: each.url for each in sorted(pushed, key=lambda each: each.priority)}
    error = RuntimeError("broken")
    for _ in range(errors):
        with raises(error), disturbed(store, "pop", error) as waiting:
            queue.pop()
            if waiting:
                raise NotCovered("it popped from no downstream queue")
    left = len(queue)
    with under_test():
        urls = pop_urls(queue, len(pushed))
        missing = sorted({each.url for each in pushed} - {*urls})
        assert len(missing) <= errors, "no request missing but perhaps those that were popped"
        assert sorted({*missing} - {*first.values()}) == [], "no request missing but the first ones of their slots"
        assert len(urls) == len({*urls}), "no request twice"
    with under_test("pq.len.sum"):
        assert left == len(urls), f"{left} requests, as len() says"


@check("pq.pop.cleanup-error", operation=("__len__", "close"), priorities=((0,), (0, 1, -2), (0, 0, 1, 1)))
def an_error_of_the_clean_up_loses_nothing(open_queue, request, operation, priorities):
    """If the `len` or the `close` of a downstream queue raises when a request was taken out, that request is not lost."""
    store = use_queues()
    queue = open_queue()
    pushed = [request(priority=priority) for priority in priorities]
    for each in pushed:
        queue.push(each)
    urls = []
    with may_raise(), disturbed(store, operation, RuntimeError("no connection")) as waiting:
        urls = pop_urls(queue, 1)
    if waiting:
        raise NotCovered("pop called neither len() nor close() of a downstream queue")
    with under_test():
        others = pop_urls(queue, len(pushed) - len(urls))
        assert sorted([*urls, *others]) == sorted(each.url for each in pushed)


@check("pq.close.fault", persistent=(False, True))
def an_error_of_one_close_leaves_no_other_open(open_queue, persistent):
    """If the `close` of a downstream queue raises, the others are closed all the same, and what they hold is there after
    resuming from the state, if `close` returns one.
    """
    store = use_queues(persistent=persistent)
    queue = open_queue(holding=range(12))
    with may_raise(), disturbed(store, "close", OSError("no connection")) as waiting:
        queue.close()
    if waiting or len(store.built) == 1:
        raise NotCovered("close() closed no downstream queue, or there is one alone")
    left_open = sum(not found.closed for found in store.built)
    assert left_open <= 1, "no queue open but the one that could not be closed"


@check("pq.close.fault", name="close.fault.state")
def an_error_of_one_close_costs_no_other(resumable, open_queue):
    """If the `close` of a downstream queue raises, the others are closed all the same, and what they hold is there after
    resuming from the state, if `close` returns one.
    """
    store = use_queues()
    queue = open_queue(holding=range(12))
    with may_raise() as refused, disturbed(store, "close", OSError("no connection")) as waiting:
        left = queue.close()
    if refused:
        raise NotCovered("close() raises, and so returns no state")
    kept = [request.url for found in store.built if found.closed for request in found.items]
    if waiting or not kept:
        raise NotCovered("close() closed no downstream queue, or no other than the one that cannot be")
    state = through_json(left)
    with under_test():
        queue = open_queue(state=state)
        missing = sorted({*kept} - {*pop_urls(queue, 12)})
    assert missing == [], "no request missing that another queue holds"
