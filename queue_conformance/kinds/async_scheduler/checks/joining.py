"""Checks of ``join`` and ``task_done``."""

from queue_conformance.engine.blocks import raises, under_test
from queue_conformance.engine.check import check
from queue_conformance.kinds.async_queue.fixtures import cancel
from queue_conformance.kinds.async_scheduler.common import DISK, MEMORY, WORKS
from queue_conformance.kinds.async_scheduler.fixtures import new, waiting_get
from queue_conformance.loops import WAITING, outcome_of


@check("ascheduler.join", name="join.idle")
def join_ends_at_once_where_nothing_is_to_do(new_scheduler, loop):
    """`join` ends exactly when every accepted request has been got and marked done."""
    scheduler = new_scheduler()
    loop.run(scheduler.join())


@check("ascheduler.join", another=(False, True))
def join_waits_until_all_is_done(new_scheduler, page, loop, another):
    """`join` ends exactly when every accepted request has been got and marked done."""
    scheduler = new_scheduler()
    loop.run(scheduler.add(page(1)))
    loop.run(scheduler.add(page(2)))
    joining = loop.start(scheduler.join())
    if another:
        given_up = loop.start(scheduler.join())
        loop.settle()
        cancel(given_up)
    for step in ("get", "task_done", "get", "task_done"):
        loop.settle()
        assert outcome_of(joining) == WAITING, "join waits, as something is left to do"
        if step == "get":
            loop.run(scheduler.get())
        else:
            loop.call(scheduler.task_done)
    with under_test():
        loop.run(joining)


@check("ascheduler.join", name="join.direct")
def join_waits_for_what_was_delivered_directly(new_scheduler, page, loop):
    """`join` ends exactly when every accepted request has been got and marked done."""
    scheduler = new_scheduler()
    waiting_get(scheduler)
    loop.run(scheduler.add(page(1)))
    joining = loop.start(scheduler.join())
    loop.settle()
    assert outcome_of(joining) == WAITING, "join waits for the request that was delivered"
    loop.call(scheduler.task_done)
    with under_test():
        loop.run(joining)


@check("ascheduler.join", name="join.adding")
def join_waits_for_what_is_being_added(new_scheduler, page, loop):
    """`join` ends exactly when every accepted request has been got and marked done."""
    queue = new("LateQueue")
    scheduler = new_scheduler(queue)
    loop.start(scheduler.add(page(1)))
    loop.tick()
    joining = loop.start(scheduler.join())
    loop.settle()
    assert outcome_of(joining) == WAITING, "join waits for the request that is being added"


@check("ascheduler.join", name="join.dropped", depends_on=WORKS)
def join_waits_after_another_request_was_dropped(new_scheduler, page, loop):
    """`join` ends exactly when every accepted request has been got and marked done."""
    queue = new("MemoryQueue", maxsize=1)
    scheduler = new_scheduler(queue)
    loop.run(scheduler.add(page(1)))
    with under_test("ascheduler.add.full-no-hang"):
        loop.run(scheduler.add(page(2)))
    joining = loop.start(scheduler.join())
    loop.settle()
    assert outcome_of(joining) == WAITING, "join waits for the request that was accepted"
    loop.run(scheduler.get())
    loop.call(scheduler.task_done)
    with under_test():
        loop.run(joining)


@check("ascheduler.join.recovered", depends_on=WORKS, kind=(MEMORY, DISK))
def recovered_requests_count(fill, new_scheduler, page, loop, directory, kind):
    """Requests that a persistent queue recovers count like others: `join` waits for them, and `task_done` accepts them."""
    place = [f"{directory}/queue"] if kind == DISK else []
    queue = new(kind, *place)
    loop.run(fill(queue, page(1)))
    if place:
        queue = new(kind, *place)
    scheduler = new_scheduler(queue)
    joining = loop.start(scheduler.join())
    loop.settle()
    assert outcome_of(joining) == WAITING, "join waits, as the queue holds a request"
    with under_test():
        assert loop.run(scheduler.get()) == page(1)
        loop.settle()
        assert outcome_of(joining) == WAITING, "join waits, as the request is being processed"
        loop.call(scheduler.task_done)
        loop.run(joining)


@check("ascheduler.join.shared", depends_on=WORKS, own=(True, False))
def crawlers_share_a_queue(new_scheduler, page, loop, own):
    """With a queue that several crawlers share, `join` and `task_done` stay right in each of them: a request that one adds and
    another one gets keeps neither from ending.
    """
    queue = new("MemoryQueue")
    scheduler = new_scheduler(queue)
    other = new_scheduler(queue)
    loop.run(scheduler.add(page(1)))
    with under_test():
        assert loop.run(other.get()) == page(1)
        loop.call(other.task_done)
        if own:
            loop.run(scheduler.join())
        else:
            loop.run(other.join())


@check("ascheduler.task-done.extra", worked=(False, True))
def one_task_done_too_many_is_refused(new_scheduler, page, loop, worked):
    """`task_done` raises `ValueError` when it is called more often than requests were got."""
    scheduler = new_scheduler()
    if worked:
        loop.run(scheduler.add(page(1)))
        loop.run(scheduler.get())
        with under_test():
            loop.call(scheduler.task_done)
    with raises(ValueError):
        loop.call(scheduler.task_done)


@check("ascheduler.task-done.early")
def task_done_without_get_is_refused(new_scheduler, page, loop):
    """`task_done` raises `ValueError` while a request was added and none was got."""
    scheduler = new_scheduler()
    loop.run(scheduler.add(page(1)))
    with raises(ValueError, because=", as the request is only queued"):
        loop.call(scheduler.task_done)
