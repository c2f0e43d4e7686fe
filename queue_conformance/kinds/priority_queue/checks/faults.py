"""Checks of pop while downstream queues fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.driver import Item
from queue_conformance.engine.lockstep import run, run_each
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.registry import check
from queue_conformance.kinds.priority_queue.common import KINDS, drain, expect_all


@check("pq.pop.transient", kinds=KINDS)
def none_from_a_queue_that_is_not_empty_does_not_end_it(bench: Bench) -> None:
    texts = (
        "push:0 push:0 push:4 pop_none length pop pop pop",
        "push:0 pop_none pop_none pop_none peek pop pop",
        "push:1 push:0 push:2 pop_none pop_none pop pop_none pop pop",
        "push:3 push:1 pop_none pop push:0 pop_none pop pop",
        "push:0 push:5 push:9 pop_none pop_none pop pop pop",
    )
    run_each(bench, texts)


@check("pq.pop.never-close-nonempty", kinds=KINDS)
def only_empty_queues_are_given_up(bench: Bench) -> None:
    rule = "pq.pop.never-close-nonempty"
    texts = (
        "push:0 push:0 push:4 pop_none pop_none pop pop pop",
        "push:1 pop_none push:0 pop_none pop pop",
        "push:1 push:3 pop_none pop",
    )
    for text in texts:
        run(bench, text, furnish=lambda driver: driver.furnish(keeps=False))
    if not bench.examined[rule]:
        raise NotExercised("no downstream queue was asked while it says None")


@check("pq.pop.drained-closed", kinds=KINDS)
def drained_queues_are_closed(bench: Bench) -> None:
    rule = "pq.pop.drained-closed"
    for keeps in (False, True):
        with bench.collecting():
            bench.restart()
            store = bench.driver.furnish(keeps=keeps)
            queue = bench.open()
            for round_of in ((0, 1, 2, 3, 4), (5, 2, 1), (9, 8)):
                for number in round_of:
                    queue.push(bench.driver.item(number))
                expect_all(bench, "pq.pop.exactly-once", queue, map(bench.driver.item, round_of))
                open_still = [found.key for found in store.built if not found.closed]
                bench.recorder.note("left = [queue for queue in store.built if not queue.closed]")
                bench.expect(rule, not open_still, "no queue open, all are drained", f"{len(open_still)} open", "not left")


@check("pq.pop.error-keeps-rest", kinds=KINDS)
def an_error_of_a_pop_loses_nothing_else(bench: Bench) -> None:
    rule = "pq.pop.error-keeps-rest"
    for numbers in ((0, 12, 2, 14, 4), (1, 13, 3, 4), (0, 12, 5, 17, 9)):
        with bench.collecting():
            bench.restart()
            bench.driver.furnish()
            queue = bench.open()
            items = [bench.driver.item(number) for number in numbers]
            for item in items:
                queue.push(item)
            source = 'RuntimeError("broken")'
            waiting = bench.driver.disturb("pop", source)
            _expect_error(bench, rule, queue, waiting)
            with bench.recorder.blame(rule):
                _expect_the_others(bench, rule, queue, items)
    if not bench.examined[rule]:
        raise NotExercised("it popped from no downstream queue")


def _expect_error(bench: Bench, rule: str, queue: Any, waiting: list[Any]) -> None:
    """Pop while the downstream queue raises; the error must come out."""
    error = waiting[0]
    try:
        popped = queue.pop(owner=rule)
    except OperationRaised as raised:
        if raised.error is error or not isinstance(raised.error, Exception):
            return
        actual = f"{describe(raised.error)} raised"
    else:
        if waiting:
            raise NotExercised("it popped from no downstream queue")
        actual = f"{describe(popped)} returned"
    tail = [
        "try:",
        "    queue.pop()",
        "except RuntimeError:",
        "    pass  # right",
        "else:",
        "    raise AssertionError('no exception')",
    ]
    bench.examined[rule] += 1
    bench.fail(rule, f"the {describe(error)} of the downstream queue", actual, tail, replaces=True, final=True)


def _expect_the_others(bench: Bench, rule: str, queue: Any, items: list[Item]) -> None:
    """Take everything out; of the requests at the highest priority one may be missing, the one that was popped."""
    wanted = [item.value.url for item in items]
    came = drain(bench, queue, len(wanted))
    missing = [url for url in wanted if url not in came]
    ok = len(missing) <= 1 and len(came) == len(set(came)) and set(came) <= set(wanted)
    assertion = f"len({set(wanted)!r} - set(came)) <= 1 and len(came) == len(set(came))"
    actual = f"{len(came)} came, {', '.join(missing) or 'none'} missing"
    bench.expect(rule, ok, f"all of {len(wanted)} requests, but perhaps the one that was popped", actual, assertion)


@check("pq.pop.cleanup-error", kinds=KINDS)
def an_error_of_the_clean_up_loses_nothing(bench: Bench) -> None:
    rule = "pq.pop.cleanup-error"
    hits = 0
    for operation in ("__len__", "close"):
        for numbers in ((0,), (1,), (0, 2, 4), (0, 12, 1)):
            with bench.collecting():
                bench.restart()
                hits += _pop_under(bench, rule, operation, numbers)
    if not hits:
        raise NotExercised("pop called neither len() nor close() of a downstream queue")


def _pop_under(bench: Bench, rule: str, operation: str, numbers: tuple[int, ...]) -> bool:
    """Pop as often as there are requests, each time with an operation that raises once; tell whether it did."""
    driver, recorder = bench.driver, bench.recorder
    driver.furnish()
    queue = bench.open()
    items = [driver.item(number) for number in numbers]
    for item in items:
        queue.push(item)
    came: list[str] = []
    recorder.note("came = []")
    hit = False
    for _ in items:
        waiting = driver.disturb(operation, 'RuntimeError("no connection")')
        with _tolerated():
            popped = queue.pop()
            came += [] if popped is None else [popped.url]
        recorder.steps[-1].source = "came.append(queue.pop())"
        hit |= not waiting
        driver.recover()
    with recorder.blame(rule):
        for _ in range(2 * len(items)):
            if len(came) < len(items):
                popped = queue.pop()
                came += [] if popped is None else [popped.url]
                recorder.steps[-1].source = "came.append(queue.pop())"
    recorder.note("came = sorted(request.url for request in came if request is not None)")
    wanted = sorted(item.value.url for item in items)
    if hit:
        missing = [url for url in wanted if url not in came]
        actual = f"lost {', '.join(missing)}" if missing else f"{came}"
        bench.expect(rule, sorted(came) == wanted, "every request once", actual, f"came == {wanted!r}")
    return hit


@contextmanager
def _tolerated() -> Iterator[None]:
    try:
        yield
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raise
