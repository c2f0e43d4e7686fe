"""Checks of asynchronous queues behind a server, and of what only such queues offer."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.registry import check
from queue_conformance.faults.servers import ask
from queue_conformance.kinds.async_queue.common import ASYNC, expect_outcome, finish, stays
from queue_conformance.kinds.async_queue.driver import PLACES
from queue_conformance.loops import NeverReturns, RealLoop


@check("aqueue.redis.namespace", kinds=ASYNC)
def namespaces_are_independent(bench: Bench) -> None:
    rule, driver = "aqueue.redis.namespace", bench.driver
    if driver.place is None:
        raise NotApplicable(f"the constructor takes none of {', '.join(PLACES)}")
    queue, other = bench.open("0"), bench.open("1", "other")
    with bench.recorder.blame(rule):
        queue.put(driver.item(4))
        size = other.size()
        bench.expect(rule, size == 0, "size 0 in the other namespace", size, "size == 0")
        other.put(driver.item(8))
        queue.clear()
        size = other.size()
        bench.expect(rule, size == 1, "size 1 in the other namespace", size, "size == 1")
        got = other.get()
        item = driver.item(8)
        bench.expect(rule, driver.identify(got) == 8, item.source, got, driver.among_source("got", [item]))


@check("aqueue.redis.shared", kinds=ASYNC)
def each_request_goes_to_one_crawler(bench: Bench) -> None:
    rule, driver = "aqueue.redis.shared", bench.driver
    queue, other = bench.open("0"), bench.open("0", "other")
    numbers = [4 * number for number in range(1, 13)]
    with bench.recorder.blame(rule):
        for number in numbers:
            queue.put(driver.item(number))
        tasks = []
        for _ in range(6):
            tasks += [queue.start_get(), other.start_get()]
            finish(bench, *tasks[-2:])
    came = []
    for task in tasks:
        kind, value = task.outcome
        came.append(driver.identify(value) if kind == "returned" else None)
    names = ", ".join(task.variable for task in tasks)
    bench.recorder.note(f"left = [getattr(outcome_of(task)[1], 'url', None) for task in [{names}]]")
    right = len(set(came)) == len(numbers) and set(came) == set(numbers)
    actual = f"{len(set(came) - {None})} different ones"
    bench.expect(rule, right, "12 requests, each for one of two crawlers", actual, "None not in left and len(set(left)) == 12")


@check("aqueue.redis.dedupe", kinds=ASYNC)
def what_is_queued_is_not_stored_again(bench: Bench) -> None:
    rule, driver = "aqueue.redis.dedupe", bench.driver
    with bench.recorder.blame(rule), bench.collecting():
        queue = bench.open(dedupe=True)
        for number in (4, 4, 8, 4):
            queue.put(driver.item(number))
        size = queue.size()
        bench.expect(rule, size == 2, "size 2: one request was put three times", size, "size == 2")
        for _ in range(2):
            got, items = queue.get(), [driver.item(4), driver.item(8)]
            bench.expect(rule, driver.identify(got) in (4, 8), "one of the two", got, driver.among_source("got", items))
    if "update_priority" not in driver.parameters:
        return
    low, middle, high = (0, 5, 10) if driver.higher_first else (10, 5, 0)
    for update in (True, False):
        with bench.recorder.blame(rule), bench.collecting():
            bench.restart()
            queue = bench.open(dedupe=True, update_priority=update)
            for number, priority in ((4, low), (8, middle), (4, high), (4, low)):
                queue.put(driver.prioritized(number, priority))
            first = 4 if update else 8
            got, item = queue.get(), driver.item(first)
            expected = f"request {first}, whose priority {'was raised' if update else 'is the better one'}"
            bench.expect(rule, driver.identify(got) == first, expected, got, driver.among_source("got", [item]))
            size = queue.size()
            bench.expect(rule, size == 1, "size 1", size, "size == 1")


TTL = 2
"""Seconds; servers count in whole ones, so a request may be gone one second too early or too late."""

NEW = (7, 4)
"""The release of Redis from which a field of a hash can expire."""


@check("aqueue.redis.ttl", kinds=ASYNC)
def requests_disappear_in_time(bench: Bench) -> None:
    rule, driver = "aqueue.redis.ttl", bench.driver
    with bench.recorder.blame(rule):
        queue = bench.open(item_ttl=TTL)
        apart = driver.place is not None or not bench.offers("server")
        other = bench.open("1", "other", dedupe=True, item_ttl=TTL) if apart and bench.offers("dedupe") else None
        began = time.monotonic()
        try:
            queue.put(driver.item(4))
            if other is not None:
                other.put(driver.item(4))
        except OperationRaised as raised:
            version = _release_of(bench)
            if type(raised.error).__name__ == "ResponseError" and version and version < NEW:
                text = ".".join(map(str, version))
                raise NotExercised(f"the server, Redis {text}, refuses what 7.4 may know: {describe(raised.error)}") from raised
            raise
        wait(bench, TTL - 1.1)
        size = queue.size()
        if time.monotonic() - began >= TTL - 1:
            raise NotExercised(f"this machine is too slow for a request that lives for {TTL} s")
        bench.expect(rule, size == 1, f"size 1 in the first {TTL - 1} s", size, "size == 1")
        wait(bench, began + TTL + 1 - time.monotonic())
        size = queue.size()
        bench.expect(rule, size == 0, f"size 0 after {TTL + 1} s", size, "size == 0")
        task = queue.start_get()
        stays(bench)
        expect_outcome(bench, rule, task, "waiting", "the request is gone")
        if other is not None:
            other.put(driver.item(4))
            size = other.size()
            bench.expect(rule, size == 1, "size 1: what is gone is no duplicate", size, "size == 1")


def wait(bench: Bench, seconds: float) -> None:
    """Let time pass, as a step."""
    bench.recorder.note(f"time.sleep({seconds:.1f})")
    time.sleep(seconds)


def _release_of(bench: Bench) -> tuple[int, ...]:
    """Return the release of a Redis server, or nothing if it does not tell."""
    if bench.backend is not None:
        with contextlib.suppress(Exception):
            for line in str(ask(bench.backend.server.address, "INFO", "server")).splitlines():
                if line.startswith("redis_version:"):
                    return tuple(int(part) for part in line.partition(":")[2].split(".")[:2])
    return ()


@check("aqueue.redis.timeout", kinds=ASYNC)
def a_time_out_of_zero_does_not_wait(bench: Bench) -> None:
    rule = "aqueue.redis.timeout"
    if "timeout" not in inspect.signature(bench.implementation.cls.get).parameters:
        raise NotApplicable("get has no parameter timeout")
    queue = bench.open()
    task = queue.start("getting", "queue.get(timeout=0.0)", rule, lambda: queue.raw.get(timeout=0.0))
    bench.recorder.note("loop.advance(1)")
    bench.driver.loop.advance(1)
    bench.examined[rule] += 1
    if not task.task.done():
        tail = [f"assert {task.variable}.done(), 'it waits'"]
        bench.fail(rule, "an answer at once", "it waits", tail)


ANSWER = 8.0
"""Seconds that a client gets to give up."""


@check("aqueue.redis.outage", kinds=ASYNC)
def outages_are_reported_and_survived(bench: Bench) -> None:
    rule, driver = "aqueue.redis.outage", bench.driver
    if bench.backend is None or not isinstance(driver.loop, RealLoop):
        raise NotExercised("there is no connection that could be cut: give --queue-server")
    patient: list[str] = []
    for name in ("put", "get", "size"):
        with bench.collecting():
            bench.restart()
            _during_an_outage(bench, rule, name, patient)
    if patient:
        bench.notes.append(f"while the server is away, {', '.join(patient)} goes on for more than {ANSWER:g} s")


def _during_an_outage(bench: Bench, rule: str, name: str, patient: list[str]) -> None:
    driver, backend = bench.driver, bench.backend
    assert backend is not None
    driver.loop.must_come = ANSWER
    queue: Any = bench.open()
    queue.put(driver.item(4))
    bench.recorder.note("backend.refuse()")
    backend.refuse()
    operations: dict[str, Callable[[], Any]] = {
        "put": lambda: queue.put(driver.item(8), owner=rule),
        "get": lambda: queue.get(owner=rule),
        "size": lambda: queue.size(owner=rule),
    }
    try:
        operations[name]()
    except OperationRaised as raised:
        if isinstance(raised.error, NeverReturns):
            patient.append(name)
            return
        if not isinstance(raised.error, Exception):
            raise
    else:
        source = bench.recorder.steps[-1].source
        tail = [
            "try:",
            f"    {source}",
            "except Exception:",
            "    pass  # right",
            "else:",
            "    raise AssertionError('no error')",
        ]
        actual = f"returned {describe(bench.recorder.steps[-1].result)}"
        bench.fail(rule, "an exception while the server is away", actual, tail, replaces=True)
    bench.recorder.note("backend.recover()")
    backend.recover()
    bench.examined[rule] += 1
    deadline = bench.flight.now + bench.patience
    while True:
        try:
            size = queue.size(owner=rule)
            break
        except OperationRaised:
            if bench.flight.now > deadline:
                raise
            bench.recorder.steps.pop()
            time.sleep(0.05)
    allowed = (1, 2) if name == "put" else (0, 1) if name == "get" else (1,)
    bench.expect(rule, size in allowed, "the requests, when the server is back", f"size {size}", f"size in {allowed}")


@check("aqueue.redis.orphans", kinds=ASYNC)
def entries_without_request_are_skipped(bench: Bench) -> None:
    rule, driver = "aqueue.redis.orphans", bench.driver
    backend = bench.backend
    if backend is None or not backend.server.ours:
        raise NotExercised("only a server of the kit's own may be damaged: --queue-server=redis starts one")
    queue = bench.open()
    for number in (4, 8):
        queue.put(driver.item(number))
    if not backend.drop_hashes():
        raise NotApplicable("the queue keeps nothing in a hash of Redis")
    bench.recorder.note("backend.drop_hashes()")
    with bench.recorder.blame(rule):
        queue.put(driver.item(12))
        got, item = queue.get(), driver.item(12)
        bench.expect(rule, driver.identify(got) == 12, item.source, got, driver.among_source("got", [item]))
