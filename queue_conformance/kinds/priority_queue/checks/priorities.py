"""Checks of priorities: which ones work, when they count, and how many."""

import math

from scrapy import Request

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import note, offers
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.recording import describe
from queue_conformance.engine.samples import few_and_many
from queue_conformance.faults.disk import AVAILABLE
from queue_conformance.kinds.priority_queue.fixtures import few_files, fill_buckets, pop_urls, through_json, use_queues

INTEGERS = (0, 1, -1, 9, 10, 100, -10, 2**31, -(2**31), 2**63, -(2**63), 2**64 + 1, -(2**64) - 1)
"""Priorities that fit and do not fit into machine words, and whose order as text is another one."""

OUTSIDE = {"10**300": 10**300, "-10**300": -(10**300), "1.5": 1.5, "nan": math.nan, "inf": math.inf, "'high'": "high"}
"""Priorities outside the contract, as they are noted."""

MANY = 1500
"""Buckets that are filled at once."""

TIME = 60.0
"""Seconds in which a slow class must have filled its share of them."""

DESCRIPTORS = 1024
"""Files that the process may open meanwhile: the usual limit, and less than there are buckets."""


@check("pq.priority.ints", name="ints.resumed", depends_on="pq.resume.all", disk=(True,))
@check("pq.priority.ints", disk=(False,))
def integers_of_all_sizes_work(open_queue, request, disk):
    """Negative, zero and large integers (beyond 64 bits) work as priorities, in memory and on disk."""
    with under_test():
        use_queues(disk=disk, persistent=False)
        queue = open_queue()
        pushed = [request(priority=priority) for priority in INTEGERS]
        for each in pushed:
            queue.push(each)
        if disk and offers("persistent"):
            state = through_json(queue.close())
            queue = open_queue(state=state)
        for each in sorted(pushed, key=lambda request: -request.priority):
            assert pop_urls(queue, 1) == [each.url]


@check("pq.priority.ints", name="priority.outside", priority=tuple(OUTSIDE))
def what_becomes_of_other_priorities_is_noted(open_queue, priority):
    """Negative, zero and large integers (beyond 64 bits) work as priorities, in memory and on disk."""
    use_queues(disk=True)
    queue = open_queue()
    odd = Request("https://a.example/1")
    odd.priority = OUTSIDE[priority]
    popped = []
    with may_raise() as refused:
        queue.push(odd)
    with may_raise() as failed:
        if offers("persistent"):
            state = through_json(queue.close())
            queue = open_queue(state=state)
        popped = pop_urls(queue, 1)
    fate = "works" if popped else f"raises {describe(failed.raised, 60)}" if failed else "is lost"
    note("priorities outside the contract:", f"{priority} {'is refused' if refused else fate}")


@check("pq.priority.at-push")
def the_priority_at_the_push_counts(queue):
    """The priority that counts is the one that a request has when it is pushed."""
    first = Request("https://a.example/1", priority=1)
    second = Request("https://a.example/2")
    third = Request("https://a.example/3", priority=-1)
    queue.push(first)
    queue.push(second)
    queue.push(third)
    first.priority, third.priority = -5, 5
    assert pop_urls(queue, 3) == ["https://a.example/1", "https://a.example/2", "https://a.example/3"]


@check(
    "pq.pop.exactly-once", name="pop.many", depends_on="push:0 push:2 pop pop", persistent=(False, True), numbers=[few_and_many]
)
def requests_of_many_buckets_come_once(open_queue, persistent, numbers):
    """Every accepted request is popped exactly once."""
    use_queues(persistent=persistent)
    queue = open_queue()
    for part in (numbers, numbers[:20]):  # a bucket may be needed again when it was drained
        pushed = fill_buckets(queue, part, offers("slots"))
        popped = pop_urls(queue, len(pushed))
        lost = len({*pushed} - {*popped})
        assert lost == 0, f"none of {len(pushed)} requests lost"


@check("pq.resume.all", name="resume.many", depends_on=["push:0 reopen pop", "pop.many"], numbers=[few_and_many])
def many_buckets_are_there_after_resuming(open_queue, numbers):
    """A queue that is built from the state of a closed one, with the same key, classes and settings, has the same length and
    the same requests in the same order, start requests included.
    """
    use_queues()
    queue = open_queue()
    pushed = fill_buckets(queue, numbers, offers("slots"))
    state = through_json(queue.close())
    with under_test():
        queue = open_queue(state=state)
        popped = pop_urls(queue, len(pushed))
        lost = len({*pushed} - {*popped})
        assert lost == 0, f"none of {len(pushed)} requests lost"


@check("pq.scale.buckets", depends_on="push:0 push:0 length pop pop")
def many_buckets_need_few_descriptors(context, open_queue):
    """Thousands of priorities or slots do not exhaust the file descriptors of the process."""
    if not AVAILABLE:
        raise NotCovered("this platform cannot limit how many files are open")
    if context.budget.calls(TIME) < MANY:
        raise NotCovered(f"{MANY} pushes take more than {context.budget.seconds(TIME):g} s{context.budget.more}")
    use_queues(disk=True)
    with few_files(DESCRIPTORS), under_test():
        queue = open_queue()
        pushed = fill_buckets(queue, range(MANY), context.offers("slots"))
        assert len(queue) == len(pushed)
        state = through_json(queue.close())
        if context.offers("persistent"):
            queue = open_queue(state=state)
            with under_test("pq.resume.all"):
                assert len(queue) == len(pushed)
            assert queue.pop() is not None
            queue.close()
