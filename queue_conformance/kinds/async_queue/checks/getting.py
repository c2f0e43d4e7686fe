"""Checks of get: waiting, closing, cancelling, several getters, iterating."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_queue.common import ASYNC, REAL, expect_outcome, finish, stays
from queue_conformance.kinds.async_queue.driver import Pending
from queue_conformance.kinds.async_queue.script_support import each

STEPS = ("tick", "run_job:0", "deliver:0") * 10
"""What makes a task go on, a little at a time."""

MOMENTS = 20
"""How many moments a task gets at most on the stock loop, which is long enough for a few answers of a server."""


@check("aqueue.get.blocks", kinds=ASYNC)
def get_waits_for_a_request(bench: Bench) -> None:
    run(bench, "start_get settle put:0 get")
    run(bench, "start_get start_get settle put:0 settle put:0 size")
    run(bench, "put:0 get start_get settle start_put:0 start_put:0 settle size")


@check("aqueue.get.close-wakes", kinds=ASYNC)
def close_ends_waiting_gets(bench: Bench) -> None:
    run(bench, "start_get settle close")
    run(bench, "put:0 get start_get start_get settle close")


@check("aqueue.get.closed-drains", kinds=ASYNC)
def what_is_left_is_returned_after_close(bench: Bench) -> None:
    run(bench, "put:0 close get get")
    run(bench, "put:0 put:0 put:0 close get get get get get")


@check("aqueue.get.cancel-safe", kinds=ASYNC)
def cancelled_gets_lose_nothing(bench: Bench) -> None:
    simulated = bench.driver.simulated
    for before, after in (
        ("put:0 put:0 start_get", "cancel_get:0 settle size"),
        ("start_get settle start_put:0", "cancel_get:0 settle size"),
        ("start_get start_get settle start_put:0", "cancel_get:0 settle"),
        ("put:0 get start_get settle start_put:0 start_put:0", "cancel_get:0 settle size"),
    ):
        for count in range(len(STEPS) + 1 if simulated else MOMENTS):
            steps = " ".join(STEPS[:count] if simulated else ("tick",) * count)
            run(bench, f"{before} {steps} {after}")
    if bench.offers("persistent") and simulated:
        for count in range(len(STEPS) + 1):
            run(bench, f"put:0 put:0 start_get {' '.join(STEPS[:count])} cancel_get:0 settle reopen size")
    if not simulated:
        bench.notes.append(REAL.format("gets were cancelled"))


@check("aqueue.get.concurrent", kinds=ASYNC)
def each_request_goes_to_one_getter(bench: Bench) -> None:
    run(bench, "put:0 put:0 put:0 start_get start_get start_get settle size")
    run(bench, "start_get start_get start_get start_get settle start_put:0 start_put:0 start_put:0 settle put:0 size")
    many = "start_put:0 start_get start_put:0 start_get tick start_get start_put:0 start_get start_put:0 tick settle"
    run(bench, f"{many} size {many} size")


@check("aqueue.iter", kinds=ASYNC)
def async_for_yields_and_ends(bench: Bench) -> None:
    rule = "aqueue.iter"
    if not _can_be_iterated(bench):
        raise NotExercised("get does not wait, return and end as async for relies on")
    bench.restart()
    with bench.recorder.blame(rule):
        queue = bench.open()
        for number in (4, 8):
            queue.put(bench.driver.item(number))
        queue.close()
        task = queue.start("consumer", "each(queue)", rule, lambda: each(queue.raw))
        finish(bench, task)
        _judge_came(bench, rule, task, [4, 8])
    if not _close_wakes(bench):
        return  # and so async for does not end either
    for before, after in ((2, 0), (0, 2), (1, 1)):
        bench.restart()
        with bench.recorder.blame(rule):
            queue = bench.open()
            numbers = [4 * number for number in range(1, before + after + 1)]
            for number in numbers[:before]:
                queue.put(bench.driver.item(number))
            task = queue.start("consumer", "each(queue)", rule, lambda queue=queue: each(queue.raw))
            stays(bench)
            expect_outcome(bench, rule, task, "waiting", "async for goes on while the queue is open")
            for number in numbers[before:]:
                queue.put(bench.driver.item(number))
            stays(bench)
            queue.close()
            finish(bench, task)
            _judge_came(bench, rule, task, numbers)


def _can_be_iterated(bench: Bench) -> bool:
    """Whether get waits, returns what is there although the queue is closed, and then ends."""
    queue = bench.open()
    outcomes = []
    task = queue.start_get()
    stays(bench)
    outcomes.append(task.outcome[0])
    for number in (4, 8):
        queue.put(bench.driver.item(number))
    finish(bench, task)
    outcomes.append(task.outcome[0])
    queue.close()
    for _ in range(2):
        task = queue.start_get()
        finish(bench, task)
        outcomes.append(task.outcome[0])
    return outcomes == ["waiting", "returned", "returned", "cancelled"]


def _close_wakes(bench: Bench) -> bool:
    bench.restart()
    queue = bench.open()
    task = queue.start_get()
    stays(bench)
    queue.close()
    stays(bench)
    return bool(task.task.done())


def _judge_came(bench: Bench, rule: str, task: Pending, numbers: list[int]) -> None:
    came = expect_outcome(bench, rule, task, "returned", "async for ends when the queue is closed and empty")
    found = [bench.driver.identify(request) for request in came]
    bench.recorder.note(f"left = [{bench.driver.key_source('request')} for request in {task.variable}.result()]")
    literals = ", ".join(bench.driver.key_literal(bench.driver.item(number)) for number in numbers)
    right = sorted(map(str, found)) == sorted(map(str, numbers))
    bench.expect(rule, right, f"{len(numbers)} requests", came, f"sorted(left) == sorted([{literals}])")


@check("aqueue.iter.cancel", kinds=ASYNC)
def cancelling_async_for_ends_the_task(bench: Bench) -> None:
    rule = "aqueue.iter.cancel"
    queue = bench.open()
    queue.put(bench.driver.item(4))
    task = queue.start("consumer", "each(queue)", rule, lambda: each(queue.raw))
    stays(bench)
    if task.task.done():
        raise NotExercised("async for ends although the queue is open")
    bench.recorder.note(f"{task.variable}.cancel()")
    bench.driver.loop.call(task.task.cancel)
    finish(bench, task)
    expect_outcome(bench, rule, task, "cancelled", "the task ends as cancelled")
