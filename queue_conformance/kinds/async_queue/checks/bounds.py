"""Checks of the bound and the size, of clear and close."""

from __future__ import annotations

import asyncio
import time

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_queue.common import ASYNC, stays
from queue_conformance.loops import RealLoop


@check("aqueue.bound.limit", kinds=ASYNC)
def the_size_never_exceeds_the_limit(bench: Bench) -> None:
    _several_puts_at_once(bench)
    if not bench.driver.simulated:
        return
    for steps in ("", "tick", "tick run_job:0 deliver:0", "tick run_job:0 run_job:0 deliver:0 deliver:0 tick"):
        with bench.collecting():
            run(bench, f"limit:2 start_put:0 {steps} start_put:0 {steps} start_put:0 {steps} start_put:0 settle size")
            run(bench, f"limit:1 start_put:0 start_put:0 {steps} start_put:0 settle size get put:0 size")


def _several_puts_at_once(bench: Bench) -> None:
    bench.restart()
    queue = bench.open(maxsize=2)
    for number in (4, 8, 12, 16):
        queue.start_put(bench.driver.item(number))
    stays(bench)
    size = queue.size()
    bench.expect("aqueue.bound.limit", size <= 2, "at most 2", size, "size <= 2")


@check("aqueue.bound.full-signal", kinds=ASYNC)
def puts_on_a_full_queue_raise(bench: Bench) -> None:
    run(bench, "limit:1 put:0 put:0 size")
    run(bench, "limit:2 put:0 put:0 put:0 put:0 get put:0 put:0 size")


@check("aqueue.bound.usable", kinds=ASYNC)
def a_bounded_queue_can_be_filled(bench: Bench) -> None:
    run(bench, "limit:1 put:0 size get put:0 get put:0")
    run(bench, "limit:2 put:0 put:0 get put:0 get get put:0 put:0 clear put:0 put:0 size")
    if bench.offers("persistent"):
        run(bench, "limit:2 put:0 put:0 reopen get put:0 reopen get get put:0 put:0")


@check("aqueue.size", kinds=ASYNC)
def size_counts_what_is_stored(bench: Bench) -> None:
    run(bench, "size put:0 size put:0 size get size put:0 size get get size put:0 size")


@check("aqueue.maxsize", kinds=ASYNC)
def maxsize_tells_the_limit(bench: Bench) -> None:
    for limit in (None, 0, 1, 1000) if bench.offers("bounded") else (None,):
        bench.restart()
        expected = limit if limit is not None else bench.implementation.values.get("maxsize", 0)
        queue = bench.open(**({} if limit is None else {"maxsize": limit}))
        found = queue.maxsize()
        right = type(found) is int and found == expected
        bench.expect("aqueue.maxsize", right, f"{expected}", found, f"type(limit) is int and limit == {expected}")


@check("aqueue.clear", kinds=ASYNC)
def clear_removes_everything(bench: Bench) -> None:
    run(bench, "clear put:0 put:0 clear size put:0 size get put:0 clear")
    if bench.offers("persistent"):
        run(bench, "put:0 put:0 clear reopen size put:0 reopen get")
    if bench.offers("bounded"):
        with bench.collecting():
            run(bench, "limit:2 put:0 put:0 clear put:0 put:0 size")
    if bench.offers("dedupe"):
        rule = "aqueue.clear"
        bench.restart()
        queue = bench.open(dedupe=True)
        queue.put(bench.driver.item(4))
        queue.clear()
        queue.put(bench.driver.item(4))
        size = queue.size()
        bench.expect(rule, size == 1, "size 1: the memory of duplicates is cleared too", size, "size == 1")


@check("aqueue.close.twice", kinds=ASYNC)
def closing_twice_is_harmless(bench: Bench) -> None:
    rule = "aqueue.close.twice"
    for stored in (0, 1):
        bench.restart()
        queue = bench.open()
        for number in range(stored):
            queue.put(bench.driver.item(4 + number))
        queue.close()
        queue.close(owner=rule)
        bench.examined[rule] += 1


@check("aqueue.close.releases", kinds=ASYNC)
def close_leaves_nothing_behind(bench: Bench) -> None:
    rule = "aqueue.close.releases"
    loop = bench.driver.loop
    queue = bench.open()
    queue.put(bench.driver.item(4))
    queue.put(bench.driver.item(8))
    queue.get()
    queue.close()
    stays(bench)
    tasks = asyncio.all_tasks(loop.loop if isinstance(loop, RealLoop) else loop)
    left = sorted(task.get_name() for task in tasks)
    bench.recorder.note("left = loop.call(asyncio.all_tasks)")
    bench.expect(rule, not left, "no task of the queue", f"{len(left)} still running: {', '.join(left)}", "len(left) == 0")
    if bench.backend is not None:
        deadline = bench.flight.now + bench.patience
        while bench.backend.proxy.connections and bench.flight.now < deadline:
            time.sleep(0.01)  # the proxy may not have noticed yet
        open_still = bench.backend.proxy.connections
        bench.recorder.note("time.sleep(0.5)")
        bench.recorder.note("left = backend.proxy.connections")
        bench.expect(rule, not open_still, "no connection", f"{open_still} still open", "left == 0")
