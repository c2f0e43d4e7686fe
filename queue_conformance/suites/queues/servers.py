"""What a queue does while a real server is stopped, frozen, full or read-only, and after that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from queue_conformance.faults.servers import RedisServer
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.queues.construction import REQUESTS_ONLY
from queue_conformance.suites.queues.faulting import backend_of, contains, drained, expect_transient


class ServerFault(NamedTuple):
    """One way to hurt a server.

    Attributes:
        name: what reports call it.
        begin, end: methods of the backend.
        away: whether the server does not answer meanwhile, which is a temporary problem.
    """

    name: str
    begin: str
    end: str
    away: bool


FAULTS = (
    ServerFault("stopped and started again", "stop_server", "start_server", True),
    ServerFault("frozen", "freeze_server", "thaw_server", True),
    ServerFault("out of memory", "fill_memory", "free_memory", False),
    ServerFault("read-only", "forbid_writes", "allow_writes", False),
)


@check(
    "queue.push.failed-no-trace-fault",
    "queue.push.transient-after-success",
    "queue.push.permanent-error",
    "queue.pop.transient-none",
    "queue.pop.transient-keeps",
    "queue.pop.reply-cut",
    "queue.len.transient-nonzero",
    kinds=REQUESTS_ONLY,
    name="server-faults",
)
def nothing_is_lost_when_the_server_fails(bench: Bench) -> None:
    backend = backend_of(bench)
    if not isinstance(backend.server, RedisServer):
        raise NotExercised(f"{backend.server.name} cannot be stopped or filled: --queue-server=redis-server can")
    hits: list[str] = []
    for fault in FAULTS:
        for operate in (_push, _pop, _length) if fault.away else (_push, _pop):
            with bench.collecting():
                _during(bench, fault, operate, hits)
    bench.notes.append(f"faults of the server that hit: {', '.join(hits) or 'none'}")


def _during(bench: Bench, fault: ServerFault, operate: Callable[[Bench, Any, ServerFault], bool], hits: list[str]) -> None:
    """Run an operation while the server is hurt, note whether the fault hit, and compare what is left afterwards."""
    backend = backend_of(bench)
    bench.restart()
    queue = bench.open()
    for number in (1, 2, 3):
        queue.push(bench.driver.item(number))
    bench.recorder.note(f"backend.{fault.begin}()")
    getattr(backend, fault.begin)()
    failed = True  # unless it returned as if nothing had happened
    try:
        failed = operate(bench, queue, fault)
    finally:
        if failed:
            hits.append(f"{fault.name} ({operate.__name__.strip('_')})")
        bench.recorder.note(f"backend.{fault.end}()")
        getattr(backend, fault.end)()
    rule = "queue.push.failed-no-trace-fault"
    if operate is not _push:  # a frozen server acts once it thaws, when nobody waits for its reply
        rule = "queue.pop.reply-cut" if fault.begin == "freeze_server" else "queue.pop.transient-keeps"
    step = bench.recorder.steps[-2]
    popped = bench.driver.identify(step.result) if operate is _pop else None
    left = drained(bench, queue, rule)
    examined = bench.examined.copy()
    for number in (1, 2, 3):
        if number != popped:
            most = 2 if operate is _pop and failed else 1
            contains(bench, rule, left, number, range(1, most + 1), f"the server was {fault.name}")
    if operate is _push and not failed:
        step.refusable = True
        rule = "queue.push.transient-after-success" if fault.away else "queue.push.permanent-error"
        contains(bench, rule, left, 4, range(1, 2), f"push returned while the server was {fault.name}")
    if not failed:  # it worked as if nothing had happened: that proves nothing
        bench.examined = examined


def _push(bench: Bench, queue: Any, fault: ServerFault) -> bool:
    try:
        queue.push(bench.driver.item(4), owner="queue.push.bounded-time")
    except OperationRaised as raised:
        if fault.away:
            expect_transient(bench, "queue.push.transient-after-success", raised)
        return True
    return False


def _pop(bench: Bench, queue: Any, fault: ServerFault) -> bool:
    try:
        popped = queue.pop(owner="queue.push.bounded-time")
    except OperationRaised as raised:
        if fault.away:
            bench.fail("queue.pop.transient-none", "None", f"{describe(raised.error)} raised", [], final=True)
        return True
    bench.examined["queue.pop.transient-none"] += fault.away and popped is None
    return popped is None


def _length(bench: Bench, queue: Any, _fault: ServerFault) -> bool:
    try:
        length = queue.length(owner="queue.push.bounded-time")
    except OperationRaised as raised:
        bench.fail("queue.len.transient-no-raise", "3", f"{describe(raised.error)} raised", [], final=True)
    bench.expect("queue.len.transient-nonzero", length != 0, "above 0, 3 items remain", length, "length != 0", final=True)
    return True
