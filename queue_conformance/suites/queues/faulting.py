"""Hurt the connection of a queue, or its server, and find out what came of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.queues.fallback import consequence, is_transient, transient_names
from queue_conformance.suites.queues.faults import IMPATIENCE, backend_of


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
