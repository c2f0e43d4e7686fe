"""What a queue does while its server cannot be reached, and after that."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from queue_conformance.faults.backend import Backend
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.specification import Kind
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.queues.fallback import consequence, is_fallback, is_transient, transient_names

SERVED = frozenset({Kind.DOWNSTREAM_QUEUE})

PATIENCE = 2.0
"""Seconds that a queue gets to find out that its server is back."""

BUDGET = 5.0
"""Seconds after which no further fault of one kind of operation is tried."""

PLACES = 24
"""Places in a request or a reply where it is cut, about."""

MOST = 50
"""Items that are taken out of a queue at most."""


class Fault(NamedTuple):
    """One way to hurt the connection.

    Attributes:
        name: a method of the backend.
        after: the bytes that still pass, for a cut.
    """

    name: str
    after: int | None = None

    @property
    def source(self) -> str:
        """The line of Python that makes it."""
        return f"backend.{self.name}({'' if self.after is None else self.after})"


def backend_of(bench: Bench) -> Backend:
    """Return the backend of a bench.

    Raises:
        NotExercised: if nothing that the queue sends passes it.
    """
    if bench.backend is None:
        raise NotExercised("what the queue sends does not pass the kit: write {host} and {port} in the setting of its address")
    return bench.backend


def hurt(bench: Bench, fault: Fault) -> Callable[[], bool]:
    """Begin a fault, as a step; return what tells whether it hit."""
    backend = backend_of(bench)
    proxy = backend.proxy
    cuts, requested, replied = proxy.cuts, proxy.requested, proxy.replied
    bench.recorder.note(fault.source)
    getattr(backend, fault.name)(*([] if fault.after is None else [fault.after]))
    if fault.name.startswith("cut"):
        return lambda: proxy.cuts > cuts
    return lambda: proxy.requested == requested if fault.name == "refuse" else proxy.replied == replied


def recover(bench: Bench) -> None:
    """End the fault, as a step."""
    bench.recorder.note("backend.recover()")
    backend_of(bench).recover()


def sizes(bench: Bench, operation: Callable[[], Any]) -> tuple[int, int]:
    """Return the bytes of the request and of the reply of an operation."""
    proxy = backend_of(bench).proxy
    requested, replied = proxy.requested, proxy.replied
    operation()
    return proxy.requested - requested, proxy.replied - replied


def cuts(request: int, reply: int) -> list[Fault]:
    """Return the cuts of an operation: at every byte of the reply and at some of the request, the telling ones first."""
    faults = []
    for size, name in ((reply, "cut_reply"), (request, "cut_request")):
        places = range(0, size, max(1, size // PLACES))
        faults += [Fault(name, after) for after in dict.fromkeys([*places[:1], *places[-1:], *places])]
    return sorted(faults, key=lambda fault: fault.after != 0)


def within_budget(faults: Sequence[Fault]) -> Iterator[Fault]:
    """Yield faults as long as there is time; only clients that try again and again come near."""
    deadline = time.monotonic() + BUDGET
    for fault in faults:
        if time.monotonic() > deadline:
            return
        yield fault


def patiently(bench: Bench, operation: Callable[[], Any]) -> Any:
    """Repeat an operation until it works: a queue may take a moment to find out that its server is back.

    Returns:
        What it returned.

    Raises:
        OperationRaised: if it still raises after a while, or raises what is not transient.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return operation()
        except OperationRaised as raised:
            if time.monotonic() > deadline or not is_transient(bench, raised.error):
                raise
        del bench.recorder.steps[-1]
        time.sleep(0.02)


def drained(bench: Bench, queue: Any, owner: str) -> list[int | None]:
    """Take out everything after a recovery, as one step; return the numbers of what came.

    A ``None`` while ``len`` is above zero means a temporary problem, which may last a moment.
    """
    numbers: list[int | None] = []

    def drain() -> list[Any]:
        keys: list[Any] = []
        deadline = time.monotonic() + PATIENCE
        while len(keys) < MOST:
            item = queue.raw.pop()
            if item is not None:
                numbers.append(bench.driver.identify(item))
                keys.append(eval(key, {"item": item}))
            elif len(queue.raw) == 0 or time.monotonic() > deadline:
                break
            else:
                time.sleep(0.02)
        return keys

    key = bench.driver.key_source("item")
    bench.recorder.call(f"left = [{key} for item in iter({queue.variable}.pop, None)]", owner, drain)
    return numbers


def contains(bench: Bench, rule: str, found: Sequence[int | None], number: int, copies: range, why: str) -> None:
    """Examine how often an item is among what was left.

    Args:
        bench: where the check works.
        rule: the rule that says so.
        found: the numbers of what came out.
        number: the number of the item.
        copies: how often it may be there.
        why: what is wrong if it is not, in the words of the rule.

    Raises:
        RuleBroken: if it is not there so often.
    """
    literal = bench.driver.key_literal(bench.driver.item(number))
    fewest, most = copies[0], copies[-1]
    expected = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    bench.examined[rule] += 1
    if found.count(number) not in copies:
        actual = f"{found.count(number)} of it are left: {why}"
        tail = [f"assert {fewest} <= left.count({literal}) <= {most}, f'{{left.count({literal})}} of it are left: {why}'"]
        bench.fail(rule, f"{expected} of {bench.driver.describe_item(number)}", actual, tail, final=True)


def note_hits(bench: Bench, operation: str, tally: Counter[str]) -> None:
    """Note which faults hit, or say that none did.

    Raises:
        NotExercised: if no fault hit.
    """
    names = dict.fromkeys(name.removesuffix(" missed") for name in tally)
    hits = [f"{name} {tally[name]} of {tally[name] + tally[f'{name} missed']}" for name in names if tally[name]]
    if not hits:
        raise NotExercised(f"no fault hit a {operation}")
    bench.notes.append(f"faults that hit {operation}: {', '.join(hits)}")


def under(bench: Bench, fault: Fault, tally: Counter[str], operation: Callable[[], Any]) -> Any:
    """Run an operation under a fault, and count whether the fault hit it.

    Returns:
        ``MISSED`` if it did not; else what the operation raised, or ``None``.
    """
    has_hit = hurt(bench, fault)
    failed = None
    try:
        operation()
    except OperationRaised as raised:
        failed = raised
    hit = has_hit()
    tally[fault.name if hit else f"{fault.name} missed"] += 1
    return failed if hit else MISSED


MISSED = object()


def expect_transient(bench: Bench, rule: str, raised: OperationRaised) -> None:
    """Examine a rule which says that a push raises the transient error.

    Raises:
        RuleBroken: if it is another one.
    """
    bench.examined[rule] += 1
    if is_transient(bench, raised.error):
        return
    names = transient_names(bench)
    actual = f"{describe(raised.error)} raised{consequence(bench, raised.error)}"
    tail = [
        "try:",
        f"    {raised.step.source}",
        "except Exception as error:",
        f"    assert {{cls.__name__ for cls in type(error).__mro__}} & {set(names)!r}, repr(error)",
    ]
    bench.fail(rule, names[-1], actual, tail, replaces=True, final=True)


# --- Push ------------------------------------------------------------------------------------------------------------


@check(
    "queue.push.transient-error",
    "queue.push.transient-after-success",
    "queue.push.retry",
    "queue.push.failed-no-trace",
    kinds=SERVED,
    name="queue.push.transient-error",
)
def push_raises_the_transient_error(bench: Bench) -> None:
    backend_of(bench)
    queue = bench.open()
    queue.push(bench.driver.item(1))
    faults = [Fault("refuse"), *cuts(*sizes(bench, partial(queue.push, bench.driver.item(2))))]
    tally: Counter[str] = Counter()
    for fault in within_budget(faults):
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
    recover(bench)
    if failed:
        patiently(bench, partial(queue.push, item, owner="queue.push.retry"))
    left = drained(bench, queue, "queue.push.failed-no-trace")
    contains(bench, "queue.push.failed-no-trace", left, 1, range(1, 2), "a push that failed is to leave the rest alone")
    if failed:
        contains(bench, "queue.push.retry", left, 2, range(1, 3), "it was pushed again after a transient error")
    else:
        contains(bench, rule, left, 2, range(1, 2), "push returned while the server could not be reached")


@check("queue.push.permanent-error", kinds=SERVED)
def push_raises_permanent_errors_as_they_are(bench: Bench) -> None:
    rule = "queue.push.permanent-error"
    queue = _with_replaced_storage(bench)
    try:
        queue.push(bench.driver.item(3), owner=rule)
    except OperationRaised as raised:
        bench.examined[rule] += 1
        if is_fallback(bench, raised.error):
            names = {"ValueError", *transient_names(bench)}
            tail = [
                "try:",
                f"    {raised.step.source}",
                "except Exception as error:",
                f"    assert not {{cls.__name__ for cls in type(error).__mro__}} & {names!r}, repr(error)",
            ]
            expected = "an error for which nobody falls back"
            bench.fail(rule, expected, f"{describe(raised.error)} raised", tail, replaces=True, final=True)
        return
    left = drained(bench, queue, rule)
    contains(bench, rule, left, 3, range(1, 2), "push returned, although what it stores in was replaced")


def _with_replaced_storage(bench: Bench) -> Any:
    """Return an open queue whose storage was replaced by something else.

    Raises:
        NotExercised: if the kit cannot do that to the server.
    """
    backend = backend_of(bench)
    if not backend.server.ours:
        raise NotExercised(f"the kit changes nothing in {backend.server.name}: --queue-server=redis starts a private one")
    bench.restart()
    queue = bench.open()
    for number in (1, 2):
        queue.push(bench.driver.item(number))
    bench.recorder.note("replaced = backend.replace_storage()")
    if not backend.replace_storage():
        raise NotExercised("the server holds nothing after two pushes")
    return queue


# --- Pop -------------------------------------------------------------------------------------------------------------


@check("queue.pop.transient-none", "queue.pop.transient-keeps", kinds=SERVED)
def pop_returns_none_and_loses_nothing(bench: Bench) -> None:
    backend_of(bench)
    queue = bench.open()
    for number in (1, 2, 3):
        queue.push(bench.driver.item(number))
    queue.pop()
    faults = [Fault("refuse"), *cuts(*sizes(bench, queue.pop))]
    tally: Counter[str] = Counter()
    for fault in within_budget(faults):
        with bench.collecting():
            _pop_during(bench, fault, tally)
    note_hits(bench, "pop", tally)


def _pop_during(bench: Bench, fault: Fault, tally: Counter[str]) -> None:
    none, keeps = "queue.pop.transient-none", "queue.pop.transient-keeps"
    bench.restart()
    queue = bench.open()
    for number in (1, 2, 3):
        queue.push(bench.driver.item(number))
    failed = under(bench, fault, tally, partial(queue.pop, owner=none))
    if failed is MISSED:
        return
    bench.examined[none] += 1
    popped = None if failed else bench.recorder.steps[-1].result
    if failed:
        with bench.collecting():
            bench.fail(none, "None", f"{describe(failed.error)} raised", [], final=True)
    recover(bench)
    left = drained(bench, queue, keeps)
    delivered = [] if popped is None else [bench.driver.identify(popped)]
    for number in (1, 2, 3):
        if number not in delivered:
            most = 2 if fault.name == "cut_reply" else 1
            contains(bench, keeps, left, number, range(1, most + 1), "pop did not return it while the connection failed")


@check("queue.pop.permanent-raises", kinds=SERVED)
def pop_raises_permanent_errors(bench: Bench) -> None:
    queue = _with_replaced_storage(bench)
    bench.expect_raises("queue.pop.permanent-raises", (Exception,), queue.pop, why=": its storage was replaced")


# --- Length ----------------------------------------------------------------------------------------------------------


@check("queue.len.transient-nonzero", "queue.len.transient-no-raise", "queue.len.last-known", kinds=SERVED)
def length_stays_known(bench: Bench) -> None:
    backend_of(bench)
    queue = bench.open()
    queue.push(bench.driver.item(1))
    faults = [Fault("refuse"), *cuts(*sizes(bench, queue.length))]
    tally: Counter[str] = Counter()
    for fault in within_budget(faults):
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
    bench.expect("queue.len.last-known", length == 2, "2", length, "length == 2", final=True)


# --- Construction and close ------------------------------------------------------------------------------------------


@check("queue.ctor.fail-early", kinds=SERVED)
def an_unreachable_server_is_found_when_building(bench: Bench) -> None:
    backend_of(bench)
    hurt(bench, Fault("refuse"))
    bench.expect_raises("queue.ctor.fail-early", (Exception,), bench.open, why=": the server cannot be reached")


@check("queue.len.restart-outage", kinds=SERVED)
def no_length_is_made_up_when_building(bench: Bench) -> None:
    backend_of(bench)
    queue = bench.open()
    for number in (1, 2):
        queue.push(bench.driver.item(number))
    queue.close()
    hurt(bench, Fault("refuse"))
    bench.expect_raises("queue.len.restart-outage", (Exception,), bench.open, why=": the server cannot be reached")


@check("queue.close.outage", "queue.close.keeps", kinds=SERVED, name="queue.close.outage")
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
    left = drained(bench, queue, "queue.close.keeps")
    for number in (1, 2):
        contains(bench, "queue.close.keeps", left, number, range(1, 2), "the queue was closed during an outage")


# --- Time ------------------------------------------------------------------------------------------------------------


@check(
    "queue.push.bounded-time",
    "queue.push.transient-error",
    "queue.pop.transient-none",
    "queue.len.transient-nonzero",
    kinds=SERVED,
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
        with bench.collecting():
            operate(bench, queue)
        slowest = max(slowest, time.monotonic() - started)
        bench.examined["queue.push.bounded-time"] += has_hit()
        recover(bench)
    bench.notes.append(f"answers after {slowest:.1f} s at most while the server says nothing")


def _stalled_push(bench: Bench, queue: Any) -> None:
    try:
        queue.push(bench.driver.item(3), owner="queue.push.bounded-time")
    except OperationRaised as raised:
        expect_transient(bench, "queue.push.transient-error", raised)


def _stalled_pop(bench: Bench, queue: Any) -> None:
    try:
        queue.pop(owner="queue.push.bounded-time")
    except OperationRaised as raised:
        bench.fail("queue.pop.transient-none", "None", f"{describe(raised.error)} raised", [], final=True)
    bench.examined["queue.pop.transient-none"] += 1


def _stalled_length(bench: Bench, queue: Any) -> None:
    rule = "queue.len.transient-nonzero"
    try:
        length = queue.length(owner="queue.push.bounded-time")
    except OperationRaised as raised:
        bench.fail("queue.len.transient-no-raise", "2", f"{describe(raised.error)} raised", [], final=True)
    bench.expect(rule, length != 0, "above 0, 2 items remain", length, "length != 0", final=True)
