"""Checks of what a scheduler says of itself."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_scheduler.scene import KINDS, Scene, add


@check("ascheduler.stats.keys", kinds=KINDS)
def stats_are_numbers(bench: Bench) -> None:
    rule = "ascheduler.stats.keys"
    scene = Scene(bench, rule)
    scene.stats()
    scene.steps(add(1), add(2), add(1))
    scene.stats()
    scene.expect("2 seen", "stats['seen'] == 2", "stats")
    scene.expect("no waiting consumers", "stats['waiting_consumers'] == 0", "stats")
    scene.expect("closed 0", "stats['closed'] == 0", "stats")
    scene.steps("loop.run(scheduler.get())", "loop.run(scheduler.get())")
    scene.consumer("waiting")
    scene.stats()
    scene.expect("1 waiting consumer", "stats['waiting_consumers'] == 1", "stats")
    scene.do("loop.run(scheduler.close())")
    scene.stats()
    scene.expect("closed 1", "stats['closed'] == 1", "stats")


@check("ascheduler.stats.pending", kinds=KINDS)
def pending_requests_are_being_processed(bench: Bench) -> None:
    scene = Scene(bench, "ascheduler.stats.pending")
    queued = pending = 0
    for step in (
        add(1),
        add(2),
        "loop.run(scheduler.get())",
        "loop.run(scheduler.get())",
        "loop.call(scheduler.task_done)",
        "loop.call(scheduler.task_done)",
    ):
        scene.do(step)
        queued += ("add" in step) - ("get" in step)
        pending += ("get" in step) - ("done" in step)
        scene.stats()
        assertion = f"(stats['queued'], stats['pending']) == ({queued}, {pending})"
        scene.expect(
            f"{queued} queued and {pending} pending", assertion, "f\"{stats['queued']} queued and {stats['pending']} pending\""
        )


@check("ascheduler.stats.idle", kinds=KINDS)
def idle_means_nothing_to_do(bench: Bench) -> None:
    rule = "ascheduler.stats.idle"
    for steps in (
        (add(1), "loop.run(scheduler.get())", "loop.call(scheduler.task_done)"),
        (add(1), "loop.call(scheduler.task_done)"),
    ):
        with bench.collecting():
            scene = Scene(bench, rule)
            if len(steps) == 2:
                scene.consumer("getting")
            for step in steps:
                scene.do(step)
                scene.do("loop.settle()")
                idle = "done" in step
                scene.stats()
                assertion = f"(stats['queued'] == 0 and stats['pending'] == 0) is {idle}"
                scene.expect("both 0, as it is idle" if idle else "not both 0, as it is not idle", assertion, "stats")


@check("ascheduler.qsize", kinds=KINDS)
def qsize_counts_the_queue(bench: Bench) -> None:
    scene = Scene(bench, "ascheduler.qsize")
    size = 0
    get = "loop.run(scheduler.get())"
    for step in (
        None,
        add(1),
        add(2),
        add(1),
        get,
        add(3),
        get,
        "loop.call(scheduler.task_done)",
        get,
        "loop.call(scheduler.task_done)",
    ):
        if step is not None:
            scene.do(step)
            size += (step in (add(1), add(2), add(3)) and not (step == add(1) and size == 2)) - (step == get)
        scene.do("size = loop.run(scheduler.qsize())")
        scene.expect(f"{size}", f"size == {size}", "size")
