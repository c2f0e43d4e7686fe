"""What a queue does while its server cannot be reached, and after that."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from typing import Any

from queue_conformance.faults.servers import RedisServer
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.construction import REQUESTS_ONLY
from queue_conformance.suites.queues.faulting import (
    MISSED,
    Fault,
    backend_of,
    contains,
    cuts,
    drained,
    expect_transient,
    hurt,
    note_hits,
    patiently,
    recover,
    sizes,
    under,
    within_budget,
)
from queue_conformance.suites.queues.pair import run

# --- Push ------------------------------------------------------------------------------------------------------------


@check(
    "queue.push.transient-error",
    "queue.push.transient-after-success",
    "queue.push.retry",
    "queue.push.failed-no-trace-fault",
    kinds=REQUESTS_ONLY,
    name="queue.push.transient-error",
)
def push_raises_the_transient_error(bench: Bench) -> None:
    backend_of(bench)
    queue = bench.open()
    queue.push(bench.driver.item(1))
    faults = [Fault("refuse"), *cuts(*sizes(bench, partial(queue.push, bench.driver.item(2))))]
    tally: Counter[str] = Counter()
    for fault in within_budget(bench, faults):
        with bench.collecting():
            _push_during(bench, fault, tally)
    note_hits(bench, "push", tally)


def _push_during(bench: Bench, fault: Fault, tally: Counter[str]) -> None:
    rule = "queue.push.transient-after-success" if fault.name == "refuse" else "queue.push.transient-error"
    bench.restart()
    item = bench.driver.item(2)
    queue = bench.open()
    queue.push(bench.driver.item(1))
    failed = under(bench, fault, tally, partial(queue.push, item, owner=rule))
    if failed is MISSED:
        return
    if failed:
        expect_transient(bench, rule, failed)
    pushing = bench.recorder.steps[-1]
    recover(bench)
    if failed:
        patiently(bench, partial(queue.push, item, owner="queue.push.retry"))
    left = drained(bench, queue, "queue.push.failed-no-trace-fault")
    contains(bench, "queue.push.failed-no-trace-fault", left, 1, range(1, 2), "a push that failed is to leave the rest alone")
    if failed:
        contains(bench, "queue.push.retry", left, 2, range(1, 3), "it was pushed again after a transient error")
    else:
        pushing.refusable = True
        contains(bench, rule, left, 2, range(1, 2), "push returned while the server could not be reached")


# --- Pop -------------------------------------------------------------------------------------------------------------


@check("queue.pop.transient-none", "queue.pop.transient-keeps", "queue.pop.reply-cut", kinds=REQUESTS_ONLY)
def pop_returns_none_and_loses_nothing(bench: Bench) -> None:
    backend_of(bench)
    queue = bench.open()
    for number in (1, 2, 3):
        queue.push(bench.driver.item(number))
    queue.pop()
    request, reply = sizes(bench, queue.pop)
    faults = [Fault("refuse"), *cuts(request, reply)]
    tally: Counter[str] = Counter()
    for fault in within_budget(bench, faults):
        with bench.collecting():
            _pop_during(bench, fault, tally, request)
    note_hits(bench, "pop", tally)


def _pop_during(bench: Bench, fault: Fault, tally: Counter[str], request: int) -> None:
    none = "queue.pop.transient-none"
    # What was measured may have been more than this request, so only its first half has surely not reached the server whole.
    cut = fault.name == "cut_reply" or (fault.name == "cut_request" and 2 * (fault.after or 0) > request)
    keeps = "queue.pop.reply-cut" if cut else "queue.pop.transient-keeps"
    bench.restart()
    queue = bench.open()
    for number in (1, 2, 3):
        queue.push(bench.driver.item(number))
    failed = under(bench, fault, tally, partial(queue.pop, owner=none))
    if failed is MISSED:
        return
    popped = None if failed else bench.recorder.steps[-1].result
    bench.examined[none] += popped is None
    if failed:
        with bench.collecting():
            bench.fail(none, "None", f"{describe(failed.error)} raised", [], final=True)
    recover(bench)
    left = drained(bench, queue, keeps)
    delivered = [] if popped is None else [bench.driver.identify(popped)]
    for number in (1, 2, 3):
        if number not in delivered:
            contains(bench, keeps, left, number, range(1, 3 if cut else 2), "pop did not return it while the connection failed")


# --- Length ----------------------------------------------------------------------------------------------------------


@check("queue.len.transient-nonzero", "queue.len.transient-no-raise", "queue.len.last-known", kinds=REQUESTS_ONLY)
def length_stays_known(bench: Bench) -> None:
    backend_of(bench)
    queue = bench.open()
    queue.push(bench.driver.item(1))
    faults = [Fault("refuse"), *cuts(*sizes(bench, queue.length))]
    tally: Counter[str] = Counter()
    for fault in within_budget(bench, faults):
        with bench.collecting():
            _length_during(bench, fault, tally)
    note_hits(bench, "len", tally)


def _length_during(bench: Bench, fault: Fault, tally: Counter[str]) -> None:
    bench.restart()
    queue = bench.open()
    for number in (1, 2, 3):
        queue.push(bench.driver.item(number))
    queue.pop()
    failed = under(bench, fault, tally, partial(queue.length, owner="queue.len.transient-no-raise"))
    if failed is MISSED:
        return
    bench.examined["queue.len.transient-no-raise"] += 1
    if failed:
        bench.fail("queue.len.transient-no-raise", "2", f"{describe(failed.error)} raised", [], final=True)
    length = bench.recorder.steps[-1].result
    expected = "above 0, 2 items remain"
    bench.expect("queue.len.transient-nonzero", length != 0, expected, length, "length != 0", final=True)
    if bench.applies("queue.len.last-known"):
        bench.expect("queue.len.last-known", length == 2, "2", length, "length == 2", final=True)


LOST_REPLIES = (
    "cut_reply:{} push:0 recover pop refuse length recover length pop",
    "cut_reply:{} push:0 recover pop push:1 refuse length recover pop",
    "cut_reply:{} push:0 recover push:1 pop refuse length recover pop",
    "cut_reply:{} push:0 recover push:1 push:2 pop refuse length recover pop",
    "push:0 cut_reply:{} push:1 recover pop pop refuse length recover pop",
    "cut_reply:{} push:0 recover push:0 pop pop pop length",
    "cut_reply:{} push:0 recover reopen pop push:1 length pop",
)
"""Programs whose pushes are stored without a reply, by the bytes of it that still come."""


@check(
    "queue.len.transient-nonzero",
    "queue.len.transient-no-raise",
    "queue.len.last-known",
    "queue.push.failed-no-trace-fault",
    kinds=REQUESTS_ONLY,
    name="lost-replies",
)
def what_was_stored_without_a_reply_is_counted(bench: Bench) -> None:
    backend_of(bench)
    queue = bench.open()
    _, reply = sizes(bench, partial(queue.push, bench.driver.item(1)))
    for text in LOST_REPLIES:
        for after in dict.fromkeys((0, max(0, reply - 1))):  # the first reply and the last one, if there are several
            with bench.collecting():
                run(bench, program(text.format(after)))


# --- Construction and close ------------------------------------------------------------------------------------------


@check("queue.ctor.fail-early", kinds=REQUESTS_ONLY)
def an_unusable_server_is_found_when_building(bench: Bench) -> None:
    backend = backend_of(bench)
    with bench.collecting():
        hurt(bench, Fault("refuse"))
        bench.expect_raises("queue.ctor.fail-early", (Exception,), bench.open, why=": the server cannot be reached")
    with bench.collecting():
        bench.restart()
        queue = bench.open()
        for number in (1, 2):
            queue.push(bench.driver.item(number))
        queue.close()
        hurt(bench, Fault("refuse"))
        bench.expect_raises("queue.ctor.fail-early", (Exception,), bench.open, why=": it holds items, and the server is gone")
    if not isinstance(backend.server, RedisServer):
        return
    bench.restart()
    bench.recorder.note("backend.demand_password()")
    backend.demand_password()
    try:
        bench.expect_raises("queue.ctor.fail-early", (Exception,), bench.open, why=": the server wants a password")
    finally:
        backend.stop_server()
        backend.start_server()


@check("queue.close.outage", "queue.close.keeps-fault", kinds=REQUESTS_ONLY, name="queue.close.outage")
def close_works_without_a_server(bench: Bench) -> None:
    backend_of(bench)
    queue = bench.open()
    for number in (1, 2):
        queue.push(bench.driver.item(number))
    hurt(bench, Fault("refuse"))
    queue.close(owner="queue.close.outage")
    bench.examined["queue.close.outage"] += 1
    recover(bench)
    if not bench.offers("persistent"):
        return
    queue = bench.open(variable="queue")
    left = drained(bench, queue, "queue.close.keeps-fault")
    for number in (1, 2):
        contains(bench, "queue.close.keeps-fault", left, number, range(1, 2), "the queue was closed during an outage")


# --- Time ------------------------------------------------------------------------------------------------------------


@check(
    "queue.push.bounded-time",
    "queue.push.transient-error",
    "queue.pop.transient-none",
    "queue.len.transient-nonzero",
    kinds=REQUESTS_ONLY,
    name="queue.push.bounded-time",
)
def nothing_waits_for_a_server_that_says_nothing(bench: Bench) -> None:
    backend_of(bench)
    slowest = 0.0
    for operate in (_stalled_push, _stalled_pop, _stalled_length):
        bench.restart()
        queue = bench.open()
        for number in (1, 2):
            queue.push(bench.driver.item(number))
        has_hit = hurt(bench, Fault("stall"))
        started = time.monotonic()
        examined = bench.examined.copy()
        with bench.collecting():
            operate(bench, queue)
        slowest = max(slowest, time.monotonic() - started)
        if has_hit():
            bench.examined["queue.push.bounded-time"] += 1
        else:
            bench.examined = examined
        recover(bench)
    bench.notes.append(f"answers after {slowest:.1f} s at most while the server says nothing")


def _stalled_push(bench: Bench, queue: Any) -> None:
    try:
        queue.push(bench.driver.item(3), owner="queue.push.bounded-time")
    except OperationRaised as raised:
        expect_transient(bench, "queue.push.transient-error", raised)


def _stalled_pop(bench: Bench, queue: Any) -> None:
    try:
        popped = queue.pop(owner="queue.push.bounded-time")
    except OperationRaised as raised:
        bench.fail("queue.pop.transient-none", "None", f"{describe(raised.error)} raised", [], final=True)
    bench.examined["queue.pop.transient-none"] += popped is None


def _stalled_length(bench: Bench, queue: Any) -> None:
    rule = "queue.len.transient-nonzero"
    try:
        length = queue.length(owner="queue.push.bounded-time")
    except OperationRaised as raised:
        bench.fail("queue.len.transient-no-raise", "2", f"{describe(raised.error)} raised", [], final=True)
    bench.expect(rule, length != 0, "above 0, 2 items remain", length, "length != 0", final=True)
