"""Hurt the connection of a queue, or its server, and find out what came of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from queue_conformance.faults.backend import Backend
from queue_conformance.implementations.recording import OperationRaised, Timed, describe
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.queues.fallback import consequence, is_transient, transient_names

IMPATIENCE = 0.05
"""Seconds that a queue gets to find out that its server is back, once it has not found out in the time of the bench."""

BUDGET = 15.0
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
    if bench.backend is None and not bench.offers("server"):
        raise NotExercised("there is no server behind the queue")
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


def within_budget(bench: Bench, faults: Sequence[Fault]) -> Iterator[Fault]:
    """Yield faults as long as there is time, and note how many there was none for; only clients that try again come near."""
    deadline = bench.flight.now + BUDGET
    for number, fault in enumerate(faults):
        if bench.flight.now > deadline:
            bench.notes.append(f"{len(faults) - number} of {len(faults)} faults were not tried, because each takes so long")
            return
        yield fault


def patiently(bench: Bench, operation: Callable[[], Any]) -> Any:
    """Repeat an operation until it works: a queue may take a moment to find out that its server is back.

    Returns:
        What it returned.

    Raises:
        OperationRaised: if it still raises after a while, or raises what is not transient.
    """
    deadline = bench.flight.now + bench.patience
    while True:
        try:
            return operation()
        except OperationRaised as raised:
            if not is_transient(bench, raised.error):
                raise
            if bench.flight.now > deadline:
                bench.patience = IMPATIENCE
                raise
        del bench.recorder.steps[-1]
        time.sleep(0.02)


def drained(bench: Bench, queue: Any, owner: str) -> list[int | None]:
    """Take out everything after a recovery, as one step; return the numbers of what came.

    A ``None`` while ``len`` is above zero means a temporary problem, which may last a moment.

    Raises:
        NotExercised: if the queue does not even ask its server within the patience of the bench.
    """
    numbers: list[int | None] = []

    def drain() -> list[Any]:
        keys: list[Any] = []
        deadline = bench.flight.now + bench.patience
        asked = Timed(queue.raw, bench.flight)
        while len(keys) < MOST:
            replied = proxy.replied
            item = asked.pop()
            if item is not None:
                numbers.append(bench.driver.identify(item))
                keys.append(eval(key, {"item": item}))
            elif len(asked) == 0:
                break
            elif bench.flight.now > deadline:
                if proxy.replied == replied:
                    away.append(f"the queue has not come back to its server after {bench.patience:g} s")
                break
            else:
                time.sleep(0.02)
        return keys

    key, proxy, away = bench.driver.key_source("item"), backend_of(bench).proxy, list[str]()
    bench.recorder.call(f"left = [{key} for item in iter({queue.variable}.pop, None)]", owner, drain)
    if away:
        raise NotExercised(away[0])
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
