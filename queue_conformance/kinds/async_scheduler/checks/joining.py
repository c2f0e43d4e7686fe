"""Checks of ``join`` and ``task_done``, and of what ``stats`` says of work that is left."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.async_scheduler.common import NUMBERS, WORKS
from queue_conformance.loops import WAITING, outcome_of
from queue_conformance.script_support.support import values_of

JOIN = "ascheduler.join"


@check(JOIN, name="join.adding")
def join_waits_for_what_is_being_added(new, new_scheduler, page, loop):
    queue = new("LateQueue")
    scheduler = new_scheduler(queue)
    loop.start(scheduler.add(page(1)))
    loop.tick()
    joining = loop.start(scheduler.join())
    loop.settle()
    assert outcome_of(joining) == WAITING, "join waits for the request that is being added"


@check("ascheduler.join.recovered", presupposes=WORKS, kind=("MemoryQueue", "DiskQueue"))
def recovered_requests_count(new, fill, new_scheduler, page, loop, directory, about, rule, kind):
    place = [f"{directory}/queue"] if kind == "DiskQueue" else []
    queue = new(kind, *place)
    loop.run(fill(queue, page(1)))
    if place:
        queue = new(kind, *place)
    scheduler = new_scheduler(queue)
    joining = loop.start(scheduler.join())
    loop.settle()
    assert outcome_of(joining) == WAITING, "join waits, as the queue holds a request"
    with about(rule):
        assert loop.run(scheduler.get()) == page(1)
        loop.settle()
        assert outcome_of(joining) == WAITING, "join waits, as the request is being processed"
        loop.call(scheduler.task_done)
        loop.run(joining)


@check("ascheduler.join.shared", presupposes=WORKS, own=(True, False))
def crawlers_share_a_queue(new, new_scheduler, page, loop, about, rule, own):
    queue = new("MemoryQueue")
    scheduler = new_scheduler(queue)
    other = new_scheduler(queue)
    loop.run(scheduler.add(page(1)))
    with about(rule):
        assert loop.run(other.get()) == page(1)
        loop.call(other.task_done)
        if own:
            loop.run(scheduler.join())
        else:
            loop.run(other.join())


IDLE = {"queued": 0, "pending": 0}


@check("ascheduler.stats.idle", consumer=(False, True))
def idle_means_nothing_to_do(new_scheduler, page, loop, about, consumer):
    scheduler = new_scheduler()
    if consumer:
        getting = loop.start(scheduler.get())
        loop.settle()
        with about("ascheduler.get.waits"):
            outcome = outcome_of(getting)
            assert outcome == ("waiting", None)
    loop.run(scheduler.add(page(1)))
    loop.settle()
    assert values_of(loop.run(scheduler.stats()), IDLE) != IDLE, "not both 0, as it is not idle"
    if not consumer:
        loop.run(scheduler.get())
        assert values_of(loop.run(scheduler.stats()), IDLE) != IDLE, "not both 0, as it is not idle"
    loop.call(scheduler.task_done)
    loop.settle()
    assert values_of(loop.run(scheduler.stats()), IDLE) == IDLE


@check("ascheduler.idle-running", presupposes=WORKS)
def an_idle_scheduler_works_on(new_scheduler, page, loop, about, rule):
    scheduler = new_scheduler()
    with about(rule):
        for number in (1, 2):
            loop.run(scheduler.add(page(number)))
            joining = loop.start(scheduler.join())
            assert loop.run(scheduler.get()) == page(number)
            assert outcome_of(joining) == WAITING, "join waits"
            loop.call(scheduler.task_done)
            loop.run(joining)


@check("ascheduler.stats.keys")
def stats_are_numbers(new_scheduler, page, loop, about):
    scheduler = new_scheduler()
    assert values_of(loop.run(scheduler.stats()), NUMBERS) == dict.fromkeys(NUMBERS, 0)
    for number in (1, 2, 1):
        loop.run(scheduler.add(page(number)))
    expected = {"seen": 2, "waiting_consumers": 0, "closed": 0}
    assert values_of(loop.run(scheduler.stats()), expected) == expected
    loop.run(scheduler.get())
    loop.run(scheduler.get())
    waiting = loop.start(scheduler.get())
    loop.settle()
    with about("ascheduler.get.waits"):
        outcome = outcome_of(waiting)
        assert outcome == ("waiting", None)
    assert values_of(loop.run(scheduler.stats()), ["waiting_consumers"]) == {"waiting_consumers": 1}
    loop.run(scheduler.close())
    assert values_of(loop.run(scheduler.stats()), ["closed"]) == {"closed": 1}
