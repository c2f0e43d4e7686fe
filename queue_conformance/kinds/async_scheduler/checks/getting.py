"""Checks of ``get``."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_scheduler.scene import Scene, add, request


@check("ascheduler.get.order")
def the_highest_priority_comes_first(bench: Bench) -> None:
    scene = Scene(bench, "ascheduler.get.order")
    priorities = (0, 10, -5, 3, 10, -10)
    for number, priority in enumerate(priorities, 1):
        scene.do(add(number, priority=priority))
    for priority in sorted(priorities, reverse=True):
        scene.do("got = loop.run(scheduler.get())")
        scene.expect(f"priority {priority}", f"got.priority == {priority}", "f'priority {got.priority}'")


@check("ascheduler.get.waits")
def get_waits_for_a_request(bench: Bench) -> None:
    scene = Scene(bench, "ascheduler.get.waits")
    for number in (1, 2):
        scene.consumer("getting")
        scene.do(add(number))
        scene.do("loop.settle()")
        scene.expect_got("getting", number)


@check("ascheduler.get.no-lost-wakeup")
def no_request_waits_beside_a_consumer(bench: Bench) -> None:
    rule = "ascheduler.get.no-lost-wakeup"
    for queue, step in (("SuspendingQueue()", "loop.tick()"), ("SlowQueue()", "loop.advance(0.05)")):
        for consumers in (1, 2):
            for ticks in range(8):
                with bench.collecting():
                    _meet(Scene(bench, rule, queue), consumers, [step] * ticks)
        if rule in bench.broken:
            return


def _meet(scene: Scene, consumers: int, between: list[str]) -> None:
    """Start consumers and, some iterations later, an add for each; all of them end."""
    names = [f"consumer{number}" for number in range(1, consumers + 1)]
    for name in names:
        scene.do(f"{name} = loop.start(scheduler.get())")
    scene.steps(*between)
    for number in range(1, consumers + 1):
        scene.do(f"adding{number} = loop.start(scheduler.add({request(number)}))")
    scene.do("loop.settle()")
    for name in names:
        scene.expect_done(
            name, f"{name} gets one of the {consumers} requests" if consumers > 1 else "the consumer gets the request"
        )


@check("ascheduler.get.closed")
def a_closed_scheduler_is_emptied_first(bench: Bench) -> None:
    rule = "ascheduler.get.closed"
    for left in (0, 2):
        with bench.collecting():
            scene = Scene(bench, rule)
            for number in range(1, left + 1):
                scene.do(add(number))
            scene.do("loop.run(scheduler.close())")
            for number in range(1, left + 1):
                scene.blamed("getting = loop.start(scheduler.get())", "loop.settle()")
                scene.expect_got("getting", number)
            scene.blamed("getting = loop.start(scheduler.get())", "loop.settle()")
            scene.expect_done("getting", "CancelledError, as nothing is left")
            scene.expect("CancelledError, as nothing is left", "getting.cancelled()", "getting.exception() or getting.result()")
