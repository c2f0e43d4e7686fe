"""Checks of ``get``."""

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import clock_at
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.samples import NOON, PATIENT
from queue_conformance.kinds.async_queue.fixtures import cancel
from queue_conformance.kinds.async_scheduler.common import MEMORY, SLOW, SUSPENDING, WORKS
from queue_conformance.kinds.async_scheduler.fixtures import new, waiting_get
from queue_conformance.loops import outcome_of, stuck

PRIORITIES = (0, 10, -5, 3, 10, -10)
HOSTS = ("example.com", "example.org")


@check("ascheduler.get.order")
def the_highest_priority_comes_first(new_scheduler, page, loop):
    """`get` returns the request that its queue serves first: the scheduler hands the priority over as it is."""
    scheduler = new_scheduler()
    for number, priority in enumerate(PRIORITIES):
        loop.run(scheduler.add(page(number, priority=priority)))
    for priority in sorted(PRIORITIES, reverse=True):
        got = loop.run(scheduler.get())
        assert getattr(got, "priority", None) == priority, f"priority {priority}"


@check(
    "ascheduler.get.order",
    name="get.order-after-cancel",
    depends_on=WORKS,
    kind=(MEMORY, SUSPENDING),
    begins=("add", "get"),
    ticks=range(8),
)
def what_a_cancelled_consumer_gives_back_keeps_its_priority(new_scheduler, page, loop, kind, begins, ticks):
    """`get` returns the request that its queue serves first: the scheduler hands the priority over as it is."""
    queue = new(kind)
    scheduler = new_scheduler(queue)
    if begins == "get":
        consumer = waiting_get(scheduler)
    loop.start(scheduler.add(page(1, priority=10)))
    if begins == "add":
        consumer = loop.start(scheduler.get())
    for _ in range(ticks):
        loop.tick()
    cancel(consumer)
    loop.settle()
    if not consumer.cancelled():
        raise NotCovered("it had the request before it was cancelled")
    loop.run(scheduler.add(page(2, priority=5)))
    consumers = [loop.start(scheduler.get()) for _ in range(2)]
    loop.settle()
    if stuck(*consumers):
        raise NotCovered("the request is lost, which is no matter of order")
    assert outcome_of(consumers[0]) == ("returned", page(1, priority=10)), "priority 10 before priority 5"


@check("ascheduler.get.waits")
def get_waits_for_a_request(new_scheduler, page, loop):
    """`get` waits while nothing is queued."""
    scheduler = new_scheduler()
    for number in (1, 2):
        getting = waiting_get(scheduler)
        loop.run(scheduler.add(page(number)))
        with under_test():
            assert loop.run(getting) == page(number)


@check("ascheduler.get.waits", name="get.waits.later")
def what_was_handed_out_does_not_come_again(new_scheduler, page, loop):
    """`get` waits while nothing is queued."""
    with clock_at(NOON):
        scheduler = new_scheduler()
        loop.run(scheduler.add(page(1)))
        loop.run(scheduler.get())
    with clock_at(NOON + PATIENT):  # who waits longer for task_done gives no page that is slow to somebody else, too
        loop.advance(PATIENT)
        waiting_get(scheduler)


@check("ascheduler.get.no-lost-wakeup", kind=(SUSPENDING, SLOW), count=(1, 2), steps=range(8))
def no_request_waits_beside_a_consumer(new_scheduler, page, loop, kind, count, steps):
    """If a request is queued, some waiting consumer receives it, also when the operations of the queue suspend."""
    queue = new(kind)
    scheduler = new_scheduler(queue)
    consumers = [loop.start(scheduler.get()) for _ in range(count)]
    for _ in range(steps):
        loop.advance(0.05) if kind == SLOW else loop.tick()
    for number in range(count):
        loop.start(scheduler.add(page(number)))
    loop.settle()
    waiting = stuck(*consumers)
    assert waiting == [], "each consumer gets a request"


@check("ascheduler.fault.recovers", depends_on=(WORKS, "ascheduler.get.waits"))
def consumers_outlive_an_outage(new_scheduler, page, outage, loop):
    """After an outage of its queue, a scheduler hands out what is queued to the consumers that wait."""
    queue = new("OutageQueue")
    scheduler = new_scheduler(queue)
    consumers = [waiting_get(scheduler) for _ in range(2)]
    loop.run(outage(queue, 1))
    for number in range(2):
        with under_test():
            loop.run(scheduler.add(page(number)))
    loop.settle()
    waiting = stuck(*consumers)
    assert waiting == [], "each consumer ends, as the queue works again"


@check("ascheduler.get.no-lost-wakeup", name="no-lost-wakeup.hosts", depends_on=WORKS)
def workers_get_what_many_hosts_have(new_scheduler, work_through, loop):
    """If a request is queued, some waiting consumer receives it, also when the operations of the queue suspend."""
    scheduler = new_scheduler()
    working = loop.start(work_through(scheduler, HOSTS, range(30), 20))
    loop.advance(60)  # a scheduler may keep a distance between the requests of a host
    waiting = stuck(working)
    assert waiting == [], "join ends, as 20 workers get all 60 requests"
    done = loop.run(working)
    assert sorted(done) == sorted(f"https://{host}/{number}" for host in HOSTS for number in range(30)), "each request once"


@check("ascheduler.get.closed", count=(0, 2))
def a_closed_scheduler_is_emptied_first(new_scheduler, page, loop, count):
    """`get` on a closed scheduler returns what is still queued, and raises `CancelledError` once nothing is."""
    scheduler = new_scheduler()
    for number in range(count):
        loop.run(scheduler.add(page(number)))
    loop.run(scheduler.close())
    with under_test():
        for number in range(count):
            assert loop.run(scheduler.get()) == page(number)
        getting = loop.start(scheduler.get())
        loop.settle()
        waiting = stuck(getting)
        assert waiting == [], "CancelledError, as nothing is left"
        assert outcome_of(getting) == ("cancelled", None), "CancelledError, as nothing is left"
