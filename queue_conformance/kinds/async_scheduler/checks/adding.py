"""Checks of ``add``, of direct delivery, and of retries."""

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.samples import few_and
from queue_conformance.kinds.async_queue.fixtures import cancel
from queue_conformance.kinds.async_scheduler.common import MEMORY, SUSPENDING, WORKS
from queue_conformance.kinds.async_scheduler.fixtures import new, waiting_get
from queue_conformance.loops import WAITING, outcome_of, stuck


@check("ascheduler.add.forms", priority=(None, 5))
def add_takes_urls_and_requests(new_scheduler, page, loop, priority):
    """`add` takes a URL, which gets priority 0, or a `Request`, and `get` returns the request."""
    scheduler = new_scheduler()
    with under_test():
        loop.run(scheduler.add(page(0).url if priority is None else page(0, priority=priority)))
        got = loop.run(scheduler.get())
        if priority is None:  # then the class is the scheduler's
            assert getattr(got, "url", got) == page(0).url
        else:
            assert got == page(0)
        assert got.priority == (priority or 0), f"priority {priority or 0}"


@check("ascheduler.add.dedupe", duplicate=({}, {"priority": 7}, "HTTPS://EXAMPLE.com:443/./0"))
def what_was_seen_is_ignored(new_scheduler, page, loop, duplicate):
    """A request whose fingerprint was seen is ignored: it is not queued, not counted as pending, and not delivered."""
    again = duplicate if isinstance(duplicate, str) else page(0, **duplicate)
    scheduler = new_scheduler()
    loop.run(scheduler.add(page(0)))
    before = loop.run(scheduler.stats())
    with under_test():
        loop.run(scheduler.add(again))
    assert loop.run(scheduler.stats()) == before, "stats() as before, as the duplicate does not count"
    loop.run(scheduler.get())
    loop.call(scheduler.task_done)
    waiting = waiting_get(scheduler)
    with under_test():
        loop.run(scheduler.add(again))
        loop.settle()
        assert outcome_of(waiting) == WAITING


@check("ascheduler.add.dedupe", name="add.dedupe.at-once")
def what_is_being_added_is_ignored(new_scheduler, page, loop):
    """A request whose fingerprint was seen is ignored: it is not queued, not counted as pending, and not delivered."""
    queue = new("SuspendingQueue")
    scheduler = new_scheduler(queue)
    loop.start(scheduler.add(page(1)))
    loop.start(scheduler.add(page(1)))
    loop.settle()
    assert len(queue.items) == 1


MANY = range(1000, 6100)
"""The numbers of requests, which are more than those that know but the latest few thousand remember."""


@check("ascheduler.add.dedupe", name="add.dedupe.many", numbers=[few_and(MANY)])
def what_was_seen_long_ago_is_ignored(new_scheduler, add_many, loop, numbers):
    """A request whose fingerprint was seen is ignored: it is not queued, not counted as pending, and not delivered."""
    scheduler = new_scheduler()
    for start in range(0, len(numbers), 500):  # not all in one run of the loop, which is taken never to end after many turns
        loop.run(add_many(scheduler, numbers[start : start + 500]))
    before = loop.run(scheduler.stats())
    loop.run(add_many(scheduler, numbers[:1100]))
    assert loop.run(scheduler.stats()) == before, "stats() as before, as all of them are duplicates"


@check("ascheduler.add.closed")
def add_does_nothing_after_close(new_scheduler, page, loop):
    """After `close`, `add` does nothing."""
    scheduler = new_scheduler()
    loop.run(scheduler.add(page(1)))
    loop.run(scheduler.close())
    before = loop.run(scheduler.stats())
    for late in (page(2), page(2), page(3).url):
        with under_test():
            loop.run(scheduler.add(late))
        assert loop.run(scheduler.stats()) == before, "stats() as before, as nothing is added"
    with under_test("ascheduler.get.closed"):
        loop.run(scheduler.get())
    getting = loop.start(scheduler.get())
    loop.settle()
    outcome = outcome_of(getting)
    assert outcome[0] != "returned", "no request that was added after close"


@check("ascheduler.add.direct", count=(1, 2))
def a_waiting_consumer_gets_a_request_at_once(new_scheduler, page, loop, count):
    """If a consumer is waiting, a request goes straight to it, and the queue stays empty."""
    queue = new("MemoryQueue")
    scheduler = new_scheduler(queue)
    consumers = [waiting_get(scheduler) for _ in range(count)]
    for number in range(count):
        loop.start(scheduler.add(page(number)))
    loop.settle()
    assert queue.puts == [], "nothing is put into the queue"
    with under_test("ascheduler.get.no-lost-wakeup"):
        waiting = stuck(*consumers)
        assert waiting == [], "each consumer gets a request"
    assert queue.items == [], "an empty queue"


@check("ascheduler.add.direct-fifo", gone=(0, 1))
def consumers_are_served_in_turn(new_scheduler, page, loop, gone):
    """Consumers that wait are served in the order in which they came."""
    scheduler = new_scheduler()
    consumers = [waiting_get(scheduler) for _ in range(4)]
    if gone:
        cancel(consumers[0])
        loop.settle()
    for number in range(gone, 4):
        loop.run(scheduler.add(page(number)))
        loop.settle()
    with under_test():
        for number in range(gone, 4):
            assert loop.run(consumers[number]) == page(number)


@check(
    "ascheduler.add.direct-cancel",
    depends_on=WORKS,
    kind=(MEMORY, SUSPENDING),
    both=(False, True),
    ticks=range(8),
)
def a_request_for_a_cancelled_consumer_is_not_lost(new_scheduler, page, loop, kind, both, ticks):
    """A request that was handed to a consumer which is cancelled before it runs is not lost: another consumer gets it."""
    queue = new(kind)
    scheduler = new_scheduler(queue)
    consumer = waiting_get(scheduler)
    if both:
        other = waiting_get(scheduler)
    loop.start(scheduler.add(page(1)))
    for _ in range(ticks):
        loop.tick()
    cancel(consumer)
    loop.settle()
    if not consumer.cancelled():
        raise NotCovered("it had the request before it was cancelled")
    with under_test():
        if not both:
            other = loop.start(scheduler.get())
        assert loop.run(other) == page(1)
        loop.call(scheduler.task_done)
        loop.run(scheduler.join())


@check("ascheduler.add.direct-cancel", name="direct-cancel.full", depends_on=WORKS, ticks=range(4))
def a_request_for_a_cancelled_consumer_needs_no_room(new_scheduler, page, loop, ticks):
    """A request that was handed to a consumer which is cancelled before it runs is not lost: another consumer gets it."""
    queue = new(MEMORY, maxsize=1)
    scheduler = new_scheduler(queue)
    dropped = new("Signals", "request_dropped")
    consumer = waiting_get(scheduler)
    loop.start(scheduler.add(page(1)))
    loop.start(scheduler.add(page(2)))  # fills the queue meanwhile, or is dropped
    for _ in range(ticks):
        loop.tick()
    cancel(consumer)
    loop.settle()
    if not consumer.cancelled():
        raise NotCovered("it had the request before it was cancelled")
    if page(2).url not in queue.puts:
        raise NotCovered("no other request had filled the queue")
    with under_test():
        consumers = [loop.start(scheduler.get()) for _ in range(2)]
        loop.settle()
        outcomes = [outcome_of(one) for one in consumers]
        if page(1).url in dropped.urls:
            raise NotCovered("it drops what finds no room, and says so")
        assert ("returned", page(1)) in outcomes, "the request, or request_dropped for it, though the queue was full"


@check("ascheduler.retry", waiting=(False, True))
def a_retry_is_scheduled_again(new_scheduler, page, loop, waiting):
    """A request that was handed out can be scheduled again by the retry mechanism."""
    scheduler = new_scheduler()
    loop.run(scheduler.add(page(1)))
    got = loop.run(scheduler.get())
    if waiting:
        getting = waiting_get(scheduler)
    for count in range(1, 11):
        again = got.copy()
        again.meta.update(retry_count=count, retry_delay=0.0)  # as qCrawl's RetryMiddleware does
        with under_test():
            loop.run(scheduler.add(again))
        loop.call(scheduler.task_done)
        with under_test():
            if count > 1 or not waiting:
                getting = loop.start(scheduler.get())
            got = loop.run(getting)
            assert got == page(1)
    with under_test():
        loop.call(scheduler.task_done)


@check("ascheduler.idle-running", depends_on=WORKS)
def an_idle_scheduler_works_on(new_scheduler, page, loop):
    """A scheduler whose work is done accepts new requests, and works on."""
    scheduler = new_scheduler()
    with under_test():
        for number in (1, 2):
            loop.run(scheduler.add(page(number)))
            joining = loop.start(scheduler.join())
            assert loop.run(scheduler.get()) == page(number)
            assert outcome_of(joining) == WAITING, "join waits"
            loop.call(scheduler.task_done)
            loop.run(joining)
