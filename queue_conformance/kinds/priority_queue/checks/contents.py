"""Checks of push, pop and peek: where requests go, in which order they come, and what a failed push leaves behind."""

from queue_conformance.engine.blocks import may_raise, raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.samples import few_and
from queue_conformance.kinds.priority_queue.fixtures import START, disturbed, fill_buckets, peeked_otherwise, pop_urls, use_queues
from queue_conformance.kinds.priority_queue.script_support import BareQueue, FifoQueue, LifoQueue, TransientError, UnpeekableQueue

# --- Push ------------------------------------------------------------------------------------------------------------


@check("pq.push.bucket")
def each_priority_has_a_queue_of_its_own(open_queue, request):
    """All requests of one priority (of one slot, if the queue is aware of slots) share one downstream queue, and requests of
    different priorities never do.
    """
    store = use_queues(persistent=False)
    queue = open_queue()
    for priority in (0, 1, 0, -2, 1, 0, 7, 0):
        queue.push(request(priority=priority))
    assert sorted([each.priority for each in found.items] for found in store.built if found.items) == [
        [-2],
        [0, 0, 0, 0],
        [1, 1],
        [7],
    ]


@check("pq.push.start-bucket")
def start_requests_go_to_queues_of_their_class(start_queues, open_queue, request):
    """With a `start_queue_cls`, requests whose meta has a true `is_start_request` go to a queue of that class, and others
    never do.
    """
    store = use_queues(persistent=False)
    queue = open_queue()
    for meta in (START, {"is_start_request": False}, {}):
        for priority in (0, 1):
            queue.push(request(priority=priority, meta=meta))
    started = [found for found in store.built if isinstance(found, store.start)]
    assert sorted(each.url for found in started for each in found.items) == ["https://example.com/1", "https://example.com/2"]


@check("pq.push.start-disabled")
def without_a_class_start_requests_are_like_others(open_queue, request):
    """Without a `start_queue_cls` start requests are treated as any other."""
    store = use_queues(LifoQueue, None, persistent=False)
    with under_test():
        queue = open_queue()
        for start in (True, False, True):
            queue.push(request(meta={"is_start_request": start}))
        requests_in_each = [len(found.items) for found in store.built if found.items]
        assert requests_in_each == [3], "three requests in one downstream queue"


@check("pq.push.error-propagates", kind=(ValueError, TransientError, RuntimeError), earlier=(0, 1))
def errors_of_a_push_reach_the_caller(open_queue, request, kind, earlier):
    """An exception that the `push` of a downstream queue raises reaches the caller unchanged."""
    store = use_queues()
    queue = open_queue()
    for _ in range(earlier):
        queue.push(request())
    error = kind("refused")
    with raises(error), disturbed(store, "push", error):
        queue.push(request())


@check("pq.push.failed-no-trace", name="push.no-queue", other=({}, {"meta": START}, {"priority": 1}))
def a_push_without_a_queue_leaves_no_trace(open_queue, request, other):
    """After a failed push the priority queue behaves as if it had never happened: in the order of pop, in peek, len, close and
    after resuming.
    """
    store = use_queues()
    queue = open_queue()
    queue.push(request(host="b.example"))
    with may_raise() as refused, disturbed(store, "__init__", ConnectionError("refused")) as waiting:
        queue.push(request(host="a.example", **other))
    if waiting or not refused:
        raise NotCovered("push builds no downstream queue")
    with under_test():
        assert len(queue) == 1
        assert pop_urls(queue, 1) == ["https://b.example/1"]


# --- Pop --------------------------------------------------------------------------------------------------------------


@check("pq.pop.exactly-once", name="pop.apart", depends_on="push:0 push:2 pop pop")
def the_queues_in_memory_and_on_disk_stay_apart(open_queue, request):
    """Every accepted request is popped exactly once."""
    use_queues(persistent=False)
    in_memory = open_queue()
    use_queues()
    on_disk = open_queue()
    for priority in (0, 0, 1):
        in_memory.push(request(priority=priority))
        on_disk.push(request(priority=priority))
    assert sorted(pop_urls(in_memory, 3)) == [f"https://example.com/{number}" for number in (1, 3, 5)]
    assert sorted(pop_urls(on_disk, 3)) == [f"https://example.com/{number}" for number in (2, 4, 6)]


@check("pq.pop.exactly-once", name="pop.crawls", depends_on="push:0 push:2 pop pop pop")
def crawls_of_one_process_have_their_own(open_queue, use_another_crawler, request):
    """Every accepted request is popped exactly once."""
    use_queues(persistent=False)
    queue = open_queue()
    queue.push(request())
    use_another_crawler()
    other = open_queue()
    assert len(other) == 0, "0 in another crawl"
    other.push(request())
    assert pop_urls(queue, 1) == ["https://example.com/1"]
    assert pop_urls(other, 1) == ["https://example.com/2"]


# --- Pop, with other queues below, or with start requests ------------------------------------------------------------


@check("pq.pop.tie-downstream")
def the_downstream_queue_orders_equal_priorities(run):
    """Requests of equal priority come in the order of the downstream queue."""
    sequence = "push:0 push:0 push:0 pop push:0 push:0 pop pop pop pop"
    run(sequence)
    run(sequence, configure=lambda driver: driver.configure(FifoQueue, FifoQueue, persistent=False), lifo=False)


@check("pq.pop.tie-start-last")
def start_requests_come_last_at_equal_priority(start_queues, run):
    """With equal priority, other requests come before start requests."""
    run("push:1 push:0 push:1 push:0 pop pop push:0 pop pop pop")


@check("pq.pop.start-order")
def the_start_queue_orders_start_requests(start_queues, run):
    """Start requests of equal priority come in the order of the start queue."""
    run("push:1 push:1 push:1 pop push:1 pop push:0 pop pop pop")


@check("pq.pop.start-priority")
def start_requests_of_higher_priority_come_first(start_queues, run):
    """A start request of higher priority precedes any other request of lower priority."""
    run("push:0 push:3 push:4 push:1 push:3 pop pop pop pop pop")


# --- Peek ------------------------------------------------------------------------------------------------------------


@check("pq.peek.equals-pop", name="peek.many", depends_on="push:0 push:2 peek pop peek pop", numbers=[few_and(range(300))])
def peek_finds_the_next_of_many_buckets(open_queue, numbers):
    """`peek` returns what `pop` returns next."""
    use_queues(persistent=False)
    queue = open_queue()
    pushed = fill_buckets(queue, numbers, offers("slots"), started=False)
    assert peeked_otherwise(queue, len(pushed)) == []


@check("pq.peek.unsupported", downstream=(UnpeekableQueue, BareQueue))
def peek_says_that_it_is_not_supported(open_queue, request, downstream):
    """If the downstream class has no `peek`, or only one that raises `NotImplementedError`, `peek` raises
    `NotImplementedError`.
    """
    use_queues(downstream, downstream, persistent=False)
    queue = open_queue()
    queue.push(request())
    with raises(NotImplementedError, because=f", as a {downstream.__name__} cannot peek"):
        queue.peek()
