"""Checks of put, and of the order in which requests come."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from hypothesis import given, seed
from hypothesis import strategies as st

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check, runner_of
from queue_conformance.engine.sequences import commands
from queue_conformance.engine.values import our_settings, repeatable
from queue_conformance.kinds.async_queue.common import ASYNC
from queue_conformance.kinds.async_queue.driver import UNSAID, Given
from queue_conformance.strategies import TEXT


@check("aqueue.put.accept", kinds=ASYNC)
def put_stores(bench: Bench) -> None:
    run(bench, "size put:0 size put:0 size get size put:0 get get size")


@check("aqueue.put.result", kinds=ASYNC)
def put_returns_nothing_of_interest(bench: Bench) -> None:
    rule = "aqueue.put.result"
    for options in ({}, {"dedupe": True}) if bench.offers("dedupe") else ({},):
        bench.restart()
        queue = bench.open(**options)
        for number in (1, 1, 2):
            before = _renamed(bench, "before", queue.size)
            result = _renamed(bench, "result", partial(queue.put, bench.driver.item(number)))
            after = _renamed(bench, "after", queue.size)
            kept = result is None or (type(result) is bool and after - before == result)
            assertion = "result is None or (type(result) is bool and after - before == result)"
            bench.expect(rule, kept, "None" if after - before != result else "None or a bool", result, assertion)


def _renamed(bench: Bench, name: str, operation: Callable[[], Any]) -> Any:
    """Call something whose result has another name in scripts."""
    result = operation()
    step = bench.recorder.steps[-1]
    step.source = f"{name} = {step.source.removeprefix('size = ')}"
    return result


STOCK = "it works on the stock event loop alone, where no cancellation can be placed"

HARMFUL = ("meta={'value': object()}", "meta={'value': 2**70}", "headers={'A': object()}", "body=object()")
"""What cannot be encoded, in one way or another."""


@check("aqueue.put.failed-no-trace", kinds=ASYNC)
def failed_puts_leave_no_trace(bench: Bench) -> None:
    rule = "aqueue.put.failed-no-trace"
    for harmful in HARMFUL:
        with bench.collecting():
            _refused(bench, rule, harmful)
    if bench.offers("bounded"):
        with bench.collecting():
            run(bench, "limit:2 put:0 put:0 put:0 size put:0 get put:0 size get get")


@check("aqueue.put.cancelled-no-trace", kinds=ASYNC)
def cancelled_puts_leave_no_trace(bench: Bench) -> None:
    if not bench.driver.simulated:
        raise NotExercised(STOCK)
    steps = ("tick", "run_job:0", "deliver:0") * 8
    for count in range(len(steps) + 1):
        cancelled = " ".join(("start_put:0", *steps[:count], "cancel_put:0", "settle"))
        with bench.collecting():
            run(bench, f"{cancelled} put:0 size")
            if bench.offers("persistent"):
                run(bench, f"{cancelled} reopen")
                run(bench, f"{cancelled} put:0 reopen size put:0 get reopen")


def _refused(bench: Bench, rule: str, harmful: str) -> None:
    """Put something that is refused between two requests."""
    bench.restart()
    driver = bench.driver
    try:
        item = driver.evaluate(f"Request('https://example.com/9', {harmful})")
    except (TypeError, ValueError):
        return  # the request itself refuses it
    queue = bench.open()
    queue.put(driver.item(4))
    try:
        queue.put(item)
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raise
    else:
        return
    with bench.recorder.blame(rule):
        size = queue.size()
        bench.expect(rule, size == 1, "size 1", size, "size == 1")
        queue.put(driver.item(8))
        for _ in range(2):
            got, items = queue.get(), [driver.item(4), driver.item(8)]
            found = driver.identify(got) in (4, 8)
            bench.expect(rule, found, "one of the two that were accepted", got, driver.among_source("got", items))
        size = queue.size()
        bench.expect(rule, size == 0, "size 0", size, "size == 0")
        if bench.offers("persistent"):
            queue.close()
            size = bench.open().size()
            bench.expect(rule, size == 0, "size 0", size, "size == 0")


@check("aqueue.put.closed", kinds=ASYNC)
def puts_on_a_closed_queue_do_nothing(bench: Bench) -> None:
    run(bench, "close put:0 put:0 get")
    run(bench, "put:0 close put:0 get get")
    if bench.offers("persistent"):
        run(bench, "put:0 close put:0 reopen size get")
    if bench.offers("bounded"):
        run(bench, "limit:1 put:0 close put:0 get")


@check("aqueue.order.priority", kinds=ASYNC)
def requests_come_by_priority(bench: Bench) -> None:
    run(bench, "put:0 put:1 put:2 put:3 get put:1 get get put:3 get get get")


@check("aqueue.order.priority", kinds=ASYNC, name="no-priority")
def a_request_without_a_priority_has_0(bench: Bench) -> None:
    rule, driver = "aqueue.order.priority", bench.driver
    if not _has_default(bench.open().raw.put):
        raise NotApplicable("put has no default for the priority")
    items = {priority: driver.prioritized(1 + priority, priority) for priority in (1, 0, -1)}
    for order in ((1, 0, -1), (-1, 0, 1)):  # equal priorities could come in either order
        bench.restart()
        queue = bench.open()
        for priority in order:
            queue.put(items[priority], UNSAID if priority == 0 else None)
        queue.get()
        got = queue.get()
        right = driver.identify(got) == items[0].number
        among = driver.among_source("got", [items[0]])
        bench.expect(rule, right, "the one that was put without a priority, between 1 and -1", got, among)


def _has_default(put: Callable[..., object]) -> bool:
    try:
        parameter = inspect.signature(put).parameters.get("priority")
    except (TypeError, ValueError):  # it is not written in Python
        return False
    return parameter is not None and parameter.default is not inspect.Parameter.empty


@check("aqueue.order.fifo", kinds=ASYNC)
def equal_priorities_come_in_order(bench: Bench) -> None:
    short = "put:0 put:0 put:0 get put:0 put:0 get get get get"
    with bench.collecting():
        run(bench, short)
    if bench.broken and any(runner_of(bench).passes(commands(short)) for _ in range(5)):
        bench.broken.clear()  # the order is right by chance: more requests show that more surely
    run(bench, "put:0 " * 12 + "get get get put:0 put:0")
    if bench.offers("persistent"):
        run(bench, "put:0 " * 11 + "reopen put:0 get get put:0 reopen put:0")


NEGATIVE = (0, -1, -10, -5, 10, -(2**31), 2**31, -2)


@check("aqueue.order.negative", kinds=ASYNC)
def negative_priorities_work(bench: Bench) -> None:
    rule = "aqueue.order.negative"
    run(bench, "put:0 put:1 put:3 get get get")  # without order, the sign does not matter
    for reopen in (False, True) if bench.offers("persistent") else (False,):
        with bench.collecting(), bench.recorder.blame(rule):
            bench.restart()
            queue = bench.open()
            for number, priority in enumerate(NEGATIVE):
                queue.put(bench.driver.prioritized(number, priority))
            if reopen:
                queue.close()
                queue = bench.open()
            size = queue.size()
            if size != len(NEGATIVE):
                tail = [f"assert size == {len(NEGATIVE)}, size"]
                bench.fail("aqueue.put.accept", f"{len(NEGATIVE)} stored", f"size {size}", tail)
            bench.recorder.note("left = []")
            left = []
            for _ in NEGATIVE:
                left.append(getattr(queue.get(), "priority", None))
                bench.recorder.steps[-1].source = bench.recorder.steps[-1].source.replace("got = ", "left.append(") + ".priority)"
            right = left in (sorted(NEGATIVE), sorted(NEGATIVE, reverse=True))
            bench.expect(rule, right, "priorities in their order", left, "left in (sorted(left), sorted(left, reverse=True))")


@check("aqueue.order.non-int", kinds=ASYNC)
def priorities_that_are_no_int_are_refused(bench: Bench) -> None:
    for priority in (1.5, None, "5", True):
        with bench.collecting():
            bench.restart()
            put = partial(bench.open().put, bench.driver.item(4), Given(priority))
            bench.expect_raises("aqueue.order.non-int", (Exception,), put, why=f", as the priority is {priority!r}")


# --- Round trip ------------------------------------------------------------------------------------------------------

_SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT
_LISTS = st.lists(_SCALARS, max_size=3)
_VALUES = _SCALARS | _LISTS | st.dictionaries(TEXT, _SCALARS | _LISTS, max_size=3)
_FIELDS: dict[str, st.SearchStrategy[object]] = {
    "meta": st.dictionaries(TEXT, _VALUES, max_size=3),
    "headers": st.dictionaries(TEXT, TEXT, max_size=2),
    "method": st.sampled_from(("GET", "POST", "DELETE")),
    "body": st.binary(max_size=8),
    "cookies": st.dictionaries(TEXT, TEXT, max_size=2),
    "retries": st.integers(0, 9),
    "timeout_ms": st.integers(1, 99999),
    "proxy": st.just("http://proxy.example.com:8080"),
    "ts": st.integers(1, 2**40),
    "callback": st.sampled_from(("parse", "parse_item")),
    "cb_kwargs": st.dictionaries(TEXT, _VALUES, max_size=2),
}

BARE = ("cookies={}", "body=b''")
"""Fields of their declared types, with nothing in them."""

ODD = (
    "meta={1: 2}",
    "meta={'value': (1, 2)}",
    "meta={'value': {1: 2}}",
    "headers={'A': 1}",
    "cookies={'a': 1}",
    "timeout_ms=1.5",
    "cb_kwargs={1: 2}",
    "method=None",
)
"""Fields beyond the declared types, and beyond MessagePack; a queue may refuse them."""

REBUILDABLE = "aqueue.put.rebuildable"
RARE = "aqueue.put.rebuildable-rare"


@check(REBUILDABLE, kinds=ASYNC)
def requests_come_back_as_they_were(bench: Bench) -> None:
    known = _fields(bench)
    strategies = {name: strategy for name, strategy in _FIELDS.items() if name in known}
    examples = min(bench.examples, 60)

    @seed(bench.seed)
    @our_settings(examples)
    @given(st.fixed_dictionaries({}, optional=strategies))
    def drawn(fields: dict[str, object]) -> None:
        bench.flight.count()
        _round_trip(bench, REBUILDABLE, "".join(f", {name}={value!r}" for name, value in fields.items()))

    bench.flight.aim("requests", examples)
    with repeatable():
        drawn()
    _one_by_one(bench, REBUILDABLE, BARE)


@check(RARE, kinds=ASYNC)
def odd_requests_come_back_as_they_were(bench: Bench) -> None:
    _one_by_one(bench, RARE, ODD)


def _fields(bench: Bench) -> Collection[str]:
    return inspect.signature(bench.driver.evaluate("Request").value).parameters


def _one_by_one(bench: Bench, rule: str, fields: tuple[str, ...]) -> None:
    known = _fields(bench)
    for field in fields:
        if field.partition("=")[0] in known:
            with bench.collecting():
                _round_trip(bench, rule, f", {field}")
    if not bench.examined[rule]:
        raise NotExercised("every request was refused")


def _round_trip(bench: Bench, rule: str, fields: str) -> None:
    driver = bench.driver
    bench.restart()
    try:
        item = driver.evaluate(f"Request('https://example.com/1'{fields})")
    except Exception:
        return  # the request itself refuses it
    queue = bench.open()
    try:
        queue.put(item)
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception) or not fields:
            raise
        return
    bench.recorder.steps[-1].refusable = bool(fields)
    try:
        got = queue.get()
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raise
        actual = f"{type(raised.error).__name__} raised by get, for {fields[2:] or 'no fields'}"
        bench.fail(rule, "every field as it was put", actual, [])
    changed = driver.differences(got, item)
    if not changed:
        bench.examined[rule] += 1
        return
    name = changed[0]
    before, after = getattr(item.value, name, None), getattr(got, name, None)
    tail = [
        f"before, after = {item.source}.{name}, getattr(got, {name!r}, None)",
        "assert (type(after), after) == (type(before), before), f'{before!r} became {after!r}'",
    ]
    if name == "type":
        tail = [f"assert type(got) is type({item.source}), repr(got)"]
    elif before == after or name == "meta":
        tail[1] = "assert repr(after) == repr(before), f'{before!r} became {after!r}'"
    actual = f"a request of {type(got)!r}" if name == "type" else f"{name}={before!r} became {after!r}"
    bench.fail(rule, "every field as it was put", actual, tail)
