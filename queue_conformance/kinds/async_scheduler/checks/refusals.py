"""Checks of what becomes of a request that the queue does not take, and of the signals."""

from queue_conformance.engine.blocks import may_raise, raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.async_queue.fixtures import cancel
from queue_conformance.kinds.async_scheduler.common import DISK, MEMORY, OF_QCRAWL, SLOW, SUSPENDING, WORKS
from queue_conformance.kinds.async_scheduler.fixtures import new, waiting_get
from queue_conformance.script_support.support import values_of

KINDS = (MEMORY, DISK)
DROPPED = "Queue full, dropping request: "


@check("ascheduler.add.put-failure", depends_on=WORKS)
def a_failed_put_leaves_no_trace(new_scheduler, page, loop):
    """If the queue's `put` raises, `add` raises too, and what is seen and pending is as before."""
    queue = new("FailingQueue")
    scheduler = new_scheduler(queue)
    before = loop.run(scheduler.stats())
    with raises(OSError):
        loop.run(scheduler.add(page(1)))
    assert loop.run(scheduler.stats()) == before
    with under_test():
        loop.run(scheduler.add(page(1)))
        assert loop.run(scheduler.get()) == page(1)
        loop.call(scheduler.task_done)
        loop.run(scheduler.join())


@check(
    "ascheduler.add.put-failure",
    name="put-failure.cancelled",
    depends_on=WORKS,
    kind=(SUSPENDING, SLOW),
    steps=range(6),
)
def a_cancelled_add_can_be_repeated(new_scheduler, page, loop, kind, steps):
    """If the queue's `put` raises, `add` raises too, and what is seen and pending is as before."""
    queue = new(kind)
    scheduler = new_scheduler(queue)
    adding = loop.start(scheduler.add(page(1)))
    for _ in range(steps):
        loop.advance(0.05) if kind == SLOW else loop.tick()
    cancel(adding)
    loop.settle()
    with under_test():
        loop.run(scheduler.add(page(1)))
        getting = loop.start(scheduler.get())
        assert loop.run(getting) == page(1)
        loop.call(scheduler.task_done)
        for _ in range(loop.run(scheduler.qsize())):  # the first add may have come through
            loop.run(scheduler.get())
            loop.call(scheduler.task_done)
        loop.run(scheduler.join())


RETRIES = [WORKS, "ascheduler.retry"]
"""What fails first where it has no retries."""


@check("ascheduler.add.put-failure", name="put-failure.retry", depends_on=RETRIES)
def a_page_whose_retry_fails_is_still_seen(new_scheduler, page, loop):
    """If the queue's `put` raises, `add` raises too, and what is seen and pending is as before."""
    queue = new("FailingQueue")
    scheduler = new_scheduler(queue)
    getting = waiting_get(scheduler)
    with may_raise() as refused:
        loop.run(scheduler.add(page(1)))
    if refused:
        raise NotCovered("it puts into the queue what a consumer waits for")
    again = loop.run(getting).copy()
    again.meta.update(retry_count=1, retry_delay=0.0)
    with may_raise() as refused:
        loop.run(scheduler.add(again))
    if not refused:
        raise NotCovered("it puts no retry into the queue")
    with under_test():
        loop.run(scheduler.add(page(1)))
        assert loop.run(scheduler.qsize()) == 0, "0, as the page was seen before its retry"


@check("ascheduler.add.full", name="full.retry", depends_on=RETRIES, kind=KINDS)
def a_page_whose_retry_finds_no_room_is_still_seen(bounded, new_scheduler, page, loop, kind):
    """When the queue has reached its `maxsize`, a new request is dropped: «Queue full, dropping request: {url}» is logged as a
    warning, and what is seen and pending is as before.
    """
    queue = bounded(kind)
    scheduler = new_scheduler(queue)
    loop.run(scheduler.add(page(1)))
    again = loop.run(scheduler.get()).copy()
    again.meta.update(retry_count=1, retry_delay=0.0)
    loop.run(scheduler.add(page(2)))
    with under_test("ascheduler.add.full-no-hang"):
        loop.run(scheduler.add(again))
    if loop.run(scheduler.qsize()) > 1:
        raise NotCovered("it finds room for a retry")
    loop.run(scheduler.get())
    with under_test():
        loop.run(scheduler.add(page(1)))
        assert loop.run(scheduler.qsize()) == 0, "0, as the page was seen before its retry"


@check("ascheduler.add.put-duplicate", depends_on=WORKS)
def a_duplicate_of_the_queue_is_not_counted(new_scheduler, page, loop):
    """If the queue reports a duplicate, that is if its `put` returns `False`, the request is not counted: `pending` does not
    grow, and `join` does not wait for it.
    """
    queue = new("DuplicatesQueue", page(1).url)
    scheduler = new_scheduler(queue)
    before = values_of(loop.run(scheduler.stats()), ["pending"])
    with under_test():
        loop.run(scheduler.add(page(1)))
    assert values_of(loop.run(scheduler.stats()), ["pending"]) == before
    loop.run(scheduler.add(page(2)))
    with under_test():
        assert loop.run(scheduler.get()) == page(2)
        loop.call(scheduler.task_done)
        loop.run(scheduler.join())


@check("ascheduler.add.full", depends_on=WORKS, kind=KINDS)
def what_finds_no_room_is_dropped(bounded, new_scheduler, page, loop, kind):
    """When the queue has reached its `maxsize`, a new request is dropped: «Queue full, dropping request: {url}» is logged as a
    warning, and what is seen and pending is as before.
    """
    queue = bounded(kind)
    scheduler = new_scheduler(queue)
    logs = new("Logs")
    loop.run(scheduler.add(page(1)))
    before = loop.run(scheduler.stats())
    with under_test("ascheduler.add.full-no-hang"):
        loop.run(scheduler.add(page(2)))
    assert loop.run(scheduler.stats()) == before
    assert set(logs.after(DROPPED)) == {page(2).url}, f"a warning «{DROPPED}{page(2).url}»"
    loop.run(scheduler.get())
    loop.run(scheduler.add(page(2)))
    with under_test():
        assert loop.run(scheduler.get()) == page(2)
        loop.call(scheduler.task_done)
        loop.call(scheduler.task_done)
        loop.run(scheduler.join())


@check("ascheduler.add.full-signal", depends_on=WORKS, kind=KINDS)
def what_finds_no_room_is_announced(bounded, new_scheduler, page, loop, kind):
    """`request_dropped` is sent once for each request that is dropped because the queue is full."""
    queue = bounded(kind)
    scheduler = new_scheduler(queue)
    dropped = new("Signals", "request_dropped")
    loop.run(scheduler.add(page(1)))
    with under_test("ascheduler.add.full-no-hang"):
        loop.run(scheduler.add(page(2)))
    assert dropped.urls == [page(2).url], f"request_dropped sent for {page(2).url} once"


@check("ascheduler.add.full-no-hang", depends_on=WORKS, kind=(MEMORY, OF_QCRAWL))
def nobody_waits_for_room(bounded, new_scheduler, page, loop, kind):
    """With a bounded queue, `add` and `join` never wait for room in it."""
    queue = bounded(kind)
    scheduler = new_scheduler(queue)
    loop.run(scheduler.add(page(1)))
    with under_test():
        loop.run(scheduler.add(page(2)))
    loop.run(scheduler.get())
    loop.call(scheduler.task_done)
    with under_test():
        loop.run(scheduler.join())


@check(
    "ascheduler.add.signals",
    case=(("accepted", (1, 1, 2), (1, 2)), ("waiting", (1,), (1,)), ("closed", (1,), ()), ("full", (1, 2), (1,))),
)
def accepted_requests_are_announced(new_scheduler, page, loop, case):
    """`request_scheduled` is sent once for each request that is accepted, and for no other."""
    state, added, accepted = case
    queue = new("MemoryQueue", maxsize=int(state == "full"))
    scheduler = new_scheduler(queue)
    scheduled = new("Signals", "request_scheduled")
    if state == "waiting":
        waiting_get(scheduler)
    elif state == "closed":
        loop.run(scheduler.close())
    with under_test("ascheduler.add.full-no-hang" if state == "full" else "ascheduler.add.forms"):
        for number in added:
            loop.run(scheduler.add(page(number)))
    urls = [page(number).url for number in accepted]
    assert scheduled.urls == urls, f"request_scheduled sent for {', '.join(urls) or 'nothing'}, once"
