"""Checks of ``join`` and ``task_done``."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_scheduler.scene import Scene, add, request, url_of


@check("ascheduler.join")
def join_waits_until_all_is_done(bench: Bench) -> None:
    rule = "ascheduler.join"
    scene = Scene(bench, rule)
    scene.blamed("loop.run(scheduler.join())")
    scene = Scene(bench, rule)
    scene.steps(add(1), add(2), "joining = loop.start(scheduler.join())", "loop.settle()")
    for step in ("loop.run(scheduler.get())", "loop.call(scheduler.task_done)", "loop.run(scheduler.get())"):
        scene.expect_waiting("joining")
        scene.steps(step, "loop.settle()")
    scene.expect_waiting("joining")
    scene.steps("loop.call(scheduler.task_done)", "loop.settle()")
    scene.expect_done("joining", "join ends, as both requests are done")
    scene = Scene(bench, rule)
    scene.consumer("getting")
    scene.steps(add(1), "joining = loop.start(scheduler.join())")
    scene.do("loop.settle()")
    scene.expect_waiting("joining")
    scene.steps("loop.call(scheduler.task_done)", "loop.settle()")
    scene.expect_done("joining", "join ends, as the request that was delivered directly is done")
    scene = Scene(bench, rule, "LateQueue()")
    scene.steps(f"adding = loop.start(scheduler.add({request(1)}))", "loop.tick()")
    scene.steps("joining = loop.start(scheduler.join())", "loop.settle()")
    scene.expect_waiting("joining")


@check("ascheduler.join.recovered")
def recovered_requests_count(bench: Bench) -> None:
    rule = "ascheduler.join.recovered"
    Scene(bench, rule).works()
    for queue in ("MemoryQueue()", 'DiskQueue(directory + "/queue")'):
        with bench.collecting():
            before = (f"earlier = {queue}", f"loop.run(earlier.put({request(1)}))")
            scene = Scene(bench, rule, "earlier" if queue.startswith("Memory") else queue, before)
            scene.steps("joining = loop.start(scheduler.join())", "loop.settle()")
            scene.expect_waiting("joining", "join waits, as the queue holds a request")
            scene.blamed("getting = loop.start(scheduler.get())", "loop.settle()")
            scene.expect_got("getting", 1)
            scene.expect_waiting("joining")
            scene.blamed("loop.call(scheduler.task_done)", "loop.settle()")
            scene.expect_done("joining", "join ends, as the request is done")


@check("ascheduler.join.shared")
def crawlers_share_a_queue(bench: Bench) -> None:
    rule = "ascheduler.join.shared"
    Scene(bench, rule).works()
    for first in ("scheduler", "other"):
        with bench.collecting():
            scene = Scene(bench, rule)
            bench.open(variable="other", queue="queue")
            scene.steps(add(1), "getting = loop.start(other.get())", "loop.settle()")
            scene.expect_got("getting", 1)
            scene.blamed("loop.call(other.task_done)")
            scene.steps(f"joining = loop.start({first}.join())", "loop.settle()")
            scene.expect_done("joining", f"the join of {'the one that added' if first == 'scheduler' else 'the other one'} ends")


@check("ascheduler.task-done.extra")
def one_task_done_too_many_is_refused(bench: Bench) -> None:
    rule = "ascheduler.task-done.extra"
    for before in ((), (add(1), "loop.run(scheduler.get())", "loop.call(scheduler.task_done)")):
        with bench.collecting():
            scene = Scene(bench, rule)
            scene.steps(*before)
            bench.expect_raises(rule, (ValueError,), lambda: bench.driver.do("loop.call(scheduler.task_done)", rule))
    scene = Scene(bench, rule)
    scene.steps(add(1), "loop.run(scheduler.get())")
    scene.blamed("loop.call(scheduler.task_done)")


@check("ascheduler.task-done.early")
def task_done_without_get_is_refused(bench: Bench) -> None:
    rule = "ascheduler.task-done.early"
    scene = Scene(bench, rule)
    scene.do(add(1))
    bench.expect_raises(
        rule,
        (ValueError,),
        lambda: bench.driver.do("loop.call(scheduler.task_done)", rule),
        why=f", as {url_of(1)} is only queued",
    )
