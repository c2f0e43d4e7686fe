"""Checks of close."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run_each
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.kinds.priority_queue.common import KINDS, expect_all, need_resuming


@check("pq.close.closes-all", kinds=KINDS)
def close_closes_every_queue(bench: Bench) -> None:
    rule = "pq.close.closes-all"
    for keeps in (False, True):
        with bench.collecting():
            bench.restart()
            store = bench.driver.furnish(keeps=keeps)
            queue = bench.open()
            for number in range(12):
                queue.push(bench.driver.item(number))
            for _ in range(3):
                queue.pop()
            queue.close(owner=rule)
            wrong = [found.closed for found in store.built if found.closed != 1]
            bench.recorder.note("left = [queue.closed for queue in store.built if queue.closed != 1]")
            open_still, twice = wrong.count(0), len(wrong) - wrong.count(0)
            actual = f"{open_still} left open, {twice} closed more than once"
            bench.expect(rule, not wrong, "every downstream queue closed once", actual, "not left")


@check("pq.close.state", kinds=KINDS)
def the_state_survives_json(bench: Bench) -> None:
    run_each(bench, ("push:0 reopen pop", "push:0 push:1 push:5 push:9 reopen pop push:4 reopen pop pop pop pop"))


@check("pq.close.state-nonempty", kinds=KINDS)
def the_state_names_what_is_left(bench: Bench) -> None:
    texts = (
        "push:0 push:2 reopen pop reopen push:4 pop reopen",
        "push:0 push:5 push:9 push:1 pop pop reopen pop reopen",
        "push:3 push:0 reopen pop reopen pop",
    )
    run_each(bench, texts)


@check("pq.close.empty-falsy", kinds=KINDS)
def the_state_of_nothing_is_false(bench: Bench) -> None:
    run_each(bench, ("reopen pop", "push:0 push:1 push:5 pop pop pop reopen", "push:2 reopen pop reopen"))


@check("pq.close.twice", kinds=KINDS)
def a_second_close_loses_nothing(bench: Bench) -> None:
    rule = "pq.close.twice"
    driver = bench.driver
    for numbers in ((0, 4, 2), (0, 5, 9, 4)):
        items = [driver.item(number) for number in numbers]
        need_resuming(bench, items)
        with bench.collecting():
            driver.furnish()
            queue = bench.open()
            for item in items:
                queue.push(item)
            left = queue.close()
            try:
                left = queue.close()
            except OperationRaised as raised:
                if not isinstance(raised.error, Exception):
                    raise
            actual = f"{left!r} returned by the second close"
            bench.expect(rule, bool(left), "state that is not empty, as requests are left", actual, "left")
            bench.recorder.note("state = json.loads(json.dumps(left))")
            with bench.recorder.blame(rule):
                queue = bench.open(state=left)
                expect_all(bench, rule, queue, items)
