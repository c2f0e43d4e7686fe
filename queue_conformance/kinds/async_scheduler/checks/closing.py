"""Checks of ``close`` and ``async with``."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_scheduler.scene import Scene, add, unless_explained


@check("ascheduler.close.waiters")
def close_ends_whoever_waits(bench: Bench) -> None:
    rule = "ascheduler.close.waiters"
    for queue, step in (
        ("MemoryQueue()", "loop.tick()"),
        ("SuspendingQueue()", "loop.tick()"),
        ("SlowQueue()", "loop.advance(0.05)"),
    ):
        for requests in (0, 1):
            for ticks in range(8):
                with bench.collecting():
                    _close_after(Scene(bench, rule, queue), requests, [step] * ticks)
        if rule in bench.broken:
            return


def _close_after(scene: Scene, requests: int, between: list[str]) -> None:
    """Close some iterations after two consumers began; both end."""
    for number in range(1, requests + 1):
        scene.do(add(number))
    scene.steps("consumer1 = loop.start(scheduler.get())", "consumer2 = loop.start(scheduler.get())", *between)
    scene.steps("closing = loop.start(scheduler.close())", "loop.settle()")
    scene.expect_done("closing", "close ends", rule="ascheduler.close.queue")
    for name in ("consumer1", "consumer2"):
        scene.expect_done(name, f"{name} ends")


@check("ascheduler.close.queue")
def close_closes_the_queue(bench: Bench) -> None:
    scene = Scene(bench, "ascheduler.close.queue")
    scene.steps(add(1), "loop.run(scheduler.close())")
    scene.expect("the queue is closed", "queue.closed > 0", "'it is open'")


@check("ascheduler.close.twice")
def a_second_close_does_nothing(bench: Bench) -> None:
    rule = "ascheduler.close.twice"
    scene = Scene(bench, rule)
    scene.steps(add(1), "loop.run(scheduler.close())", "closed = queue.closed")
    scene.blamed("loop.run(scheduler.close())")
    scene.expect("the queue is not closed again", "queue.closed == closed", "f'closed {queue.closed} times'")
    scene.do("size = loop.run(queue.size())")
    scene.expect("what is left in the queue stays there", "size == 1", "f'{size} left'")


@check("ascheduler.close.join")
def join_ends_after_close(bench: Bench) -> None:
    rule = "ascheduler.close.join"
    Scene(bench, rule).works()
    for handed in (0, 1):
        with bench.collecting():
            scene = Scene(bench, rule)
            scene.steps(add(1), add(2))
            if handed:
                scene.do("loop.run(scheduler.get())")
            scene.steps("loop.run(scheduler.close())", "joining = loop.start(scheduler.join())", "loop.settle()")
            if handed:
                scene.expect_waiting("joining")
                scene.steps("loop.call(scheduler.task_done)", "loop.settle()")
            scene.expect_done("joining", f"join ends, with {2 - handed} left in the queue")


@check("ascheduler.context")
def a_context_ends(bench: Bench) -> None:
    rule = "ascheduler.context"
    Scene(bench, rule).works()
    for error in ('ValueError("in the block")', "asyncio.CancelledError()"):
        with bench.collecting():
            scene = Scene(bench, rule)
            scene.steps("loop.run(scheduler.__aenter__())", f"error = {error}")
            scene.steps("leaving = loop.start(scheduler.__aexit__(type(error), error, None))", "loop.settle()")
            scene.expect_done("leaving", "the context is left")
            passes = "leaving.cancelled() or leaving.exception() is not None or not leaving.result()"
            scene.expect("what the block raises passes through", passes, "leaving.result()")
    scene = Scene(bench, rule)
    scene.blamed("entered = loop.run(scheduler.__aenter__())")
    scene.expect("async with gives the scheduler", "entered is scheduler", "entered")
    scene.steps('loop.run(scheduler.add("https://example.com"))', add(1, priority=10), "got = loop.run(scheduler.get())")
    scene.steps("leaving = loop.start(scheduler.__aexit__(None, None, None))", "loop.settle()")
    scene.expect_waiting("leaving")
    scene.expect("the queue is closed", "queue.closed > 0", "'it is open'", rule="ascheduler.close.queue")
    scene.steps("loop.call(scheduler.task_done)", "loop.settle()")
    with unless_explained(bench, join_ends_after_close):  # it closes and joins with a request in the queue
        scene.expect_done("leaving", "the context is left")
    scene.expect("exceptions pass through", "not leaving.result()", "leaving.result()")
