"""Checks of construction."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import NotApplicable, RuleBroken
from queue_conformance.engine.registry import check
from queue_conformance.kinds.priority_queue.common import KINDS, NAMES, in_slot
from queue_conformance.kinds.priority_queue.model import Place


@check("pq.ctor.minimal-downstream", kinds=KINDS)
def four_methods_are_enough(bench: Bench) -> None:
    rule = "pq.ctor.minimal-downstream"
    programs = (
        "push:0 push:2 push:1 length truth pop push:4 pop pop length pop pop truth",
        "push:3 push:0 pop pop push:0 pop_none",
    )
    for operations in programs:
        try:
            run(
                bench,
                operations,
                furnish=lambda driver: driver.furnish("BareQueue", "BareQueue", keeps=False),
                lifo=False,
            )
        except RuleBroken as failure:
            # Anything else than a missing method is judged by the other checks.
            raise failure.as_rule(rule) if "'BareQueue' object" in failure.actual else failure from None
        bench.examined[rule] += 1


@check("pq.ctor.memory-no-io", kinds=KINDS)
def queues_in_memory_write_nothing(bench: Bench) -> None:
    rule = "pq.ctor.memory-no-io"
    driver = bench.driver
    driver.furnish(keeps=False)
    bench.recorder.note("os.chdir(directory)")
    bench.recorder.note("before = {*os.listdir('/'), *os.listdir()}")
    with _working_in(driver.directory):
        before = {*os.listdir("/"), *os.listdir()}
        queue = bench.open()
        for number in (0, 1, 5):
            queue.push(driver.item(number))
        for _ in range(3):
            queue.pop()
        queue.push(driver.item(2))
        queue.close()
        left = sorted({*os.listdir("/"), *os.listdir()} - before)
    bench.recorder.note("left = {*os.listdir('/'), *os.listdir()} - before")
    bench.expect(rule, not left, "nothing in the working directory or at the root", ", ".join(left), "not left")


@check("pq.ctor.keys-below", kinds=KINDS)
def downstream_queues_store_below_the_key(bench: Bench) -> None:
    rule = "pq.ctor.keys-below"
    driver = bench.driver
    store = driver.furnish()
    queue = bench.open()
    odd = [in_slot(bench, number, name) for number, name in enumerate(NAMES)] if bench.offers("slots") else []
    for item in (driver.item(0), driver.item(5), driver.request(1, Place(2, True, "a.example")), *odd):
        queue.push(item)
    if not store.built:
        raise NotApplicable("it builds no downstream queues")
    key = f"{driver.directory}/0"
    outside = sorted({built.key for built in store.built if not f"{os.path.normpath(built.key)}/".startswith(f"{key}/")})
    bench.recorder.note(
        "left = [q.key for q in store.built if not (os.path.normpath(q.key) + '/').startswith(directory + '/0/')]"
    )
    bench.expect(rule, not outside, 'keys below directory + "/0"', bench.describe(outside), "not left")


@contextmanager
def _working_in(directory: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(directory)
    try:
        yield
    finally:
        os.chdir(before)


@check("pq.ctor.fail-early", kinds=KINDS)
def what_cannot_be_built_is_found_early(bench: Bench) -> None:
    rule = "pq.ctor.fail-early"
    bench.driver.furnish()
    bench.driver.disturb("__init__", *['ConnectionError("refused")'] * 4)
    bench.expect_raises(rule, (Exception,), bench.open, why=", as no downstream queue can be built")
