"""Checks of what becomes of a request that the queue does not take, and of the signals."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_scheduler.checks.adding import STATS
from queue_conformance.kinds.async_scheduler.scene import Scene, add, request, url_of

DISK = 'DiskQueue(directory + "/queue", maxsize=1)'


@check("ascheduler.add.put-failure")
def a_failed_put_leaves_no_trace(bench: Bench) -> None:
    rule = "ascheduler.add.put-failure"
    Scene(bench, rule).works()
    scene = Scene(bench, rule, "FailingQueue()")
    scene.do(f"before = {STATS}")
    scene.do(f"adding = loop.start(scheduler.add({request(1)}))")
    scene.do("loop.settle()")
    scene.expect(
        "add raises the OSError of the queue's put",
        "adding.done() and not adding.cancelled() and isinstance(adding.exception(), OSError)",
        "'it returned' if adding.done() else 'it waits'",
    )
    scene.do(f"after = {STATS}")
    scene.expect("stats() as before", "after == before", "f'{after}, before {before}'")
    scene.do(add(1), rule)
    scene.steps("getting = loop.start(scheduler.get())", "loop.settle()")
    scene.expect_got("getting", 1)
    scene.blamed("loop.call(scheduler.task_done)", "loop.run(scheduler.join())")


@check("ascheduler.add.put-duplicate")
def a_duplicate_of_the_queue_is_not_counted(bench: Bench) -> None:
    rule = "ascheduler.add.put-duplicate"
    Scene(bench, rule).works()
    scene = Scene(bench, rule, f'DuplicatesQueue("{url_of(1)}")')
    scene.stats()
    scene.do("before = stats['pending']")
    scene.blamed(add(1))
    scene.stats()
    scene.expect("pending does not grow", "stats['pending'] == before", "f\"{stats['pending']} pending\"")
    scene.do(add(2))
    scene.steps("getting = loop.start(scheduler.get())", "loop.settle()")
    scene.expect_got("getting", 2)
    scene.blamed("loop.call(scheduler.task_done)", "loop.run(scheduler.join())")


@check("ascheduler.add.full")
def what_finds_no_room_is_dropped(bench: Bench) -> None:
    rule = "ascheduler.add.full"
    Scene(bench, rule).works()
    for queue in ("MemoryQueue(maxsize=1)", DISK):
        with bench.collecting():
            scene = Scene(bench, rule, queue)
            scene.steps("logs = Logs()", add(1), f"before = {STATS}")
            scene.do(add(2), "ascheduler.add.full-no-hang")
            scene.do(f"after = {STATS}")
            scene.expect("stats() as before", "after == before", "f'{after}, before {before}'")
            line = f"Queue full, dropping request: {url_of(2)}"
            scene.expect(f"the warning «{line}»", f"'{line}' in logs.messages", "logs.messages")
            scene.steps("loop.run(scheduler.get())", add(2))
            scene.steps("getting = loop.start(scheduler.get())", "loop.settle()")
            scene.expect_got("getting", 2)
            scene.blamed("loop.call(scheduler.task_done)", "loop.call(scheduler.task_done)", "loop.run(scheduler.join())")


@check("ascheduler.add.full-signal")
def what_finds_no_room_is_announced(bench: Bench) -> None:
    rule = "ascheduler.add.full-signal"
    Scene(bench, rule).works()
    for queue in ("MemoryQueue(maxsize=1)", DISK):
        with bench.collecting():
            scene = Scene(bench, rule, queue)
            scene.steps('dropped = Signals("request_dropped")', add(1))
            scene.do(add(2), "ascheduler.add.full-no-hang")
            scene.expect("request_dropped sent for it once", f"dropped.urls == ['{url_of(2)}']", "f'sent for {dropped.urls}'")


@check("ascheduler.add.full-no-hang")
def nobody_waits_for_room(bench: Bench) -> None:
    rule = "ascheduler.add.full-no-hang"
    Scene(bench, rule).works()
    for queue in ("MemoryQueue(maxsize=1)", "MemoryPriorityQueue(maxsize=1)"):
        with bench.collecting():
            scene = Scene(bench, rule, queue)
            scene.steps(add(1), add(2).replace("loop.run", "adding = loop.start"), "loop.settle()")
            scene.expect_done("adding", "add ends, though the queue is full")
            scene.steps("loop.run(scheduler.get())", "loop.call(scheduler.task_done)")
            scene.do("joining = loop.start(scheduler.join())")
            scene.do("loop.settle()")
            scene.expect_done("joining", "join ends, as the other request was dropped")


@check("ascheduler.add.signals")
def accepted_requests_are_announced(bench: Bench) -> None:
    rule = "ascheduler.add.signals"
    for queue, lines, accepted in (
        ("MemoryQueue()", (add(1), add(1), add(2)), (1, 2)),
        ("MemoryQueue()", ("getting = loop.start(scheduler.get())", "loop.settle()", add(1)), (1,)),
        ("MemoryQueue()", ("loop.run(scheduler.close())", add(1)), ()),
        ("MemoryQueue(maxsize=1)", (add(1), add(2)), (1,)),
    ):
        with bench.collecting():
            scene = Scene(bench, rule, queue)
            scene.do('scheduled = Signals("request_scheduled")')
            for line in lines:
                scene.do(line, "ascheduler.add.full-no-hang" if "maxsize" in queue else None)
            wanted = [url_of(number) for number in accepted]
            expected = f"request_scheduled sent for {', '.join(wanted) or 'nothing'}, once"
            scene.expect(expected, f"scheduled.urls == {wanted}", "f'sent for {scheduled.urls}'")
