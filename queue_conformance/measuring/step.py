"""One implementation at one size: what its operations cost, and what it takes of memory, disk and descriptors."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from time import perf_counter, process_time

from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.growth import Growth, Operation
from queue_conformance.engine.registry import part_of
from queue_conformance.faults.servers import ServerError

Counts = Sequence[float]

REPEATS = 5
"""Batches of one operation, of which the quickest counts."""

LONG_ENOUGH = 0.01
"""Seconds that a batch should take, so that the clock is no matter."""

MOST = 500
"""Calls in a batch at most."""

SHARE = 4
"""A batch has no more calls than this part of what is stored: there must be enough to take out, and as much afterwards."""


@dataclass(frozen=True)
class Cost:
    """What one call of an operation costs.

    Attributes:
        seconds: of the quickest batch, by the clock.
        slowest: of the slowest one.
        processor: seconds of processor time of this process, of the batch that took least.
        writes: system calls that write, or ``None`` where the system does not count them.
        written: bytes that these write.
        reads: system calls that read.
        read: bytes that these read.
        commands: what the server was sent, or ``None`` where there is none, or it does not count.
    """

    seconds: float
    slowest: float
    processor: float
    writes: float | None = None
    written: float | None = None
    reads: float | None = None
    read: float | None = None
    commands: float | None = None


@dataclass(frozen=True)
class Measured:
    """What one implementation costs at one size.

    Attributes:
        name: the implementation.
        axis: what there are so many of.
        size: how many.
        costs: by operation; ``drain`` is of one of all that are taken out, ``close``, and ``open`` of what is persistent, of all
            that is stored.
        memory: bytes of memory for each, or ``None`` where the system does not tell.
        disk: bytes of files for each.
        left: bytes of files when all is taken out and it is closed, or ``None`` where that was not tried.
        descriptors: how many more are open than before, or ``None``.
        took: seconds that letting it grow, and measuring, took together.
        served: whether a server does the work, so that the processor time of this process tells little.
        on_server: bytes that the server stores for each, or ``None`` where there is none, or it does not tell.
    """

    name: str
    axis: str
    size: int
    costs: Mapping[str, Cost] = field(default_factory=dict)
    memory: float | None = None
    disk: float = 0.0
    left: int | None = None
    descriptors: int | None = None
    took: float = 0.0
    served: bool = False
    on_server: float | None = None


def measured(name: str, axis: str, size: int, context: CheckContext) -> Measured | str:
    """Let an implementation grow to a size, and measure what it costs then; say why not, if it does not hold so many.

    Args:
        name: what it is called.
        axis: what there is more and more of.
        size: how many.
        context: where it is; nothing else has run there.
    """
    growth: Growth = part_of(context.implementation.kind, "growth").Growth(context, axis)
    directory = context.driver.directory
    gc.collect()
    memory, descriptors, begun = _memory(), _descriptors(), perf_counter()
    growth.open()
    growth.fill(size)
    if (held := growth.held()) not in (None, size):
        return f"holds {held:,} when {size:,} are stored"
    gc.collect()
    grown, opened = _memory(), _descriptors()
    costs = {operation.name: _cost_of(growth, operation, max(1, min(MOST, size // SHARE))) for operation in growth.operations()}
    on_server = _on_server(context)
    left = None
    if not context.offers("persistent"):
        _drain(growth, size, costs)
    costs["close"] = _once(growth.close)
    disk = _disk(directory)
    if context.offers("persistent"):
        costs["open"] = _once(growth.open)
        drained = _drain(growth, size, costs)
        growth.close()
        left = _disk(directory) if drained else None
    return Measured(
        name,
        axis,
        size,
        costs,
        None if memory is None or grown is None else max(0, grown - memory) / size,
        disk / size,
        left,
        None if descriptors is None or opened is None else opened - descriptors,
        perf_counter() - begun,
        context.backend is not None,
        None if on_server is None else on_server / size,
    )


def _drain(growth: Growth, size: int, costs: dict[str, Cost]) -> int:
    """Take all out, if anything can be taken out, and add what that costs, for each; return how many that were."""
    taken = 0

    def drain() -> None:
        nonlocal taken
        held = growth.held()
        taken = growth.drain(size if held is None else held)

    cost = _once(drain)
    if taken:
        costs["drain"] = Cost(cost.seconds / taken, cost.slowest / taken, cost.processor / taken)
    return taken


def _on_server(context: CheckContext) -> int | None:
    """Return how many bytes the server stores, or ``None``."""
    if context.backend is None:
        return None
    try:
        return context.backend.server.room()
    except (NotImplementedError, OSError, ServerError):
        return None


def _cost_of(growth: Growth, operation: Operation, most: int) -> Cost:
    """Return what one call costs: of batches that are long enough, or have so many calls, the quickest."""
    count, taken = 1, 0.0
    while count < most:
        taken = _batch(growth, operation, count)[0]
        if taken >= LONG_ENOUGH:
            break
        count = min(most, max(2 * count, int(count * LONG_ENOUGH / max(taken, 1e-7))))
    batches = [_batch(growth, operation, count) for _ in range(REPEATS)]
    seconds, _, counts, commands = min(batches, key=itemgetter(0))
    slowest, processor = max(one[0] for one in batches), min(one[1] for one in batches)
    return replace(Cost(seconds, slowest, processor, *counts), commands=commands)


def _batch(growth: Growth, operation: Operation, count: int) -> tuple[float, float, Counts, float | None]:
    """Return the seconds that one of some calls takes, those of the processor, and what the system and the server counted."""
    made = operation.make(count)
    enabled = gc.isenabled()
    gc.disable()
    sent, before, begun = _commands(growth), _counts(), process_time()
    try:
        taken = growth.timed(operation, made)
    finally:
        if enabled:
            gc.enable()
    used, counts = process_time() - begun, _since(before, len(made))
    after, asked = _commands(growth), _commands(growth)  # which is one more itself
    commands = None if sent is None or after is None or asked is None else max(0, 2 * after - asked - sent) / len(made)
    operation.undo(len(made))
    return taken / len(made), used / len(made), counts, commands


def _commands(growth: Growth) -> int | None:
    """Return how many commands the server has run so far, or ``None``."""
    backend = growth.context.backend
    return backend.server.commands() if backend else None


def _once(call: Callable[[], object]) -> Cost:
    before, begun, worked = _counts(), perf_counter(), process_time()
    call()
    taken, used = perf_counter() - begun, process_time() - worked
    return Cost(taken, taken, used, *_since(before, 1))


def _counts() -> Counts:
    """Return how often and how much this process has written and read so far: nothing where the system does not count that."""
    try:
        told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    except OSError:
        return ()
    return [int(told[name]) for name in ("syscw", "wchar", "syscr", "rchar")]


def _since(before: Counts, calls: int) -> Counts:
    """Return what was counted since then, for each of some calls, but what counting itself takes."""
    after, empty = _counts(), [last - first for first, last in zip(_counts(), _counts(), strict=True)]
    return [max(0, last - first - own) / calls for first, last, own in zip(before, after, empty, strict=True)]


def _memory() -> int | None:
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return None


def _descriptors() -> int | None:
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return None


def _disk(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
