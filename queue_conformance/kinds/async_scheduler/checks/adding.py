"""Checks of ``add``, of direct delivery, and of retries."""

from queue_conformance.engine.check import check
from queue_conformance.loops import WAITING, outcome_of


@check("ascheduler.ctor.none", presupposes="add:0 get", part=("queue", "fingerprinter"))
def both_parts_are_required(construct, raises, part):
    with raises(ValueError):
        construct(**{part: None})


@check("ascheduler.add.forms", priority=(None, 5))
def add_takes_urls_and_requests(new_scheduler, page, loop, about, rule, priority):
    scheduler = new_scheduler()
    with about(rule):
        loop.run(scheduler.add(page(1).url if priority is None else page(1, priority=priority)))
        got = loop.run(scheduler.get())
        assert got == page(1)
        assert got.priority == (priority or 0), f"priority {priority or 0}"


@check("ascheduler.add.dedupe", name="add.dedupe.forms", duplicate=({}, {"priority": 7}, "HTTPS://EXAMPLE.com:443/./1"))
def what_was_seen_is_ignored(new_scheduler, page, waiting_get, loop, about, rule, duplicate):
    again = duplicate if isinstance(duplicate, str) else page(1, **duplicate)
    scheduler = new_scheduler()
    loop.run(scheduler.add(page(1)))
    before = loop.run(scheduler.stats())
    with about(rule):
        loop.run(scheduler.add(again))
    assert loop.run(scheduler.stats()) == before, "stats() as before, as the duplicate does not count"
    loop.run(scheduler.get())
    loop.call(scheduler.task_done)
    waiting = waiting_get(scheduler)
    with about(rule):
        loop.run(scheduler.add(again))
        loop.settle()
        assert outcome_of(waiting) == WAITING


@check("ascheduler.add.closed")
def add_does_nothing_after_close(new_scheduler, page, loop, about, rule):
    scheduler = new_scheduler()
    loop.run(scheduler.add(page(1)))
    loop.run(scheduler.close())
    before = loop.run(scheduler.stats())
    for _ in range(2):
        with about(rule):
            loop.run(scheduler.add(page(2)))
        assert loop.run(scheduler.stats()) == before, "stats() as before, as nothing is added"
    with about("ascheduler.get.closed"):
        loop.run(scheduler.get())
    getting = loop.start(scheduler.get())
    loop.settle()
    outcome = outcome_of(getting)
    assert outcome[0] != "returned", "no request that was added after close"
