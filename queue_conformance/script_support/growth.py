"""What calls cost as an implementation grows, counted: it is the same however busy the machine is.

Scripts quote it; it has no annotations, because scripts have none.
"""

import gc
import itertools
import sys
import threading
import tracemalloc
from contextlib import contextmanager, suppress
from pathlib import Path


def in_proportion(push, items, counts, sizes=(2, 16, 128, 1024)):
    """Push items, and count at each size; return the counts that grow in proportion to what was pushed.

    Eight times as many add eight times as much to such a count, less than three times as much to a square root, and no more to a
    logarithm. What is more from one size to the next alone, such as one more page of a file, does not count, nor what does not
    double and become thousands: a client of a server does not do the same each time. The last size is for what seems to grow.
    """
    found, grown, pushed = [], [], 0
    for size in sizes:
        for item in itertools.islice(items, size - pushed):
            push(item)
        pushed = size
        found.append(counts())
        if len(found) > 2:
            grown = [name for name in found[0] if grows([each[name] for each in found], sizes)]
            if not grown:
                return []
    by_name = {name: [each[name] for each in found] for name in grown}
    return [
        f"{name}: {', '.join(f'{count} at {size}' for size, count in zip(sizes, counts, strict=True))}"
        for name, counts in by_name.items()
        if counts[-1] > counts[0] + max(counts[0], 2000)
    ]


def grows(counts, sizes):
    """Return whether each item adds one or more to a count, and neither less nor far more at one size than at the one before."""
    added = [after - before for before, after in itertools.pairwise(counts)]
    at_least = [after - before for before, after in itertools.pairwise(sizes[: len(counts)])]
    steadily = all(4 * before < after < 100 * before for before, after in itertools.pairwise(added))
    return steadily and all(one >= least for one, least in zip(added, at_least, strict=True))


def growing_costs(items, **operations):
    """Return which costs of operations grow in proportion to how many items the first one of them was called with."""
    (name, push), *others = operations.items()

    def counts():
        with undisturbed():
            costs = {name: least_cost(push, [[item] for item in itertools.islice(items, 6)])}
            costs |= {other: least_cost(operation, [()] * 6) for other, operation in others}
        return {f"{unit} in {operation}": count for operation, cost in costs.items() for unit, count in cost.items()}

    return in_proportion(push, items, counts)


@contextmanager
def undisturbed():
    """Collect no garbage meanwhile, and let each step of SQLite run a few bytecodes."""
    collects, objects = gc.isenabled(), gc.get_objects() if "sqlite3" in sys.modules else ()
    connections = [each for each in objects if issubclass(type(each), sys.modules["sqlite3"].Connection)]

    def at_each_step(function):
        for connection in connections:
            with suppress(Exception):  # of another thread, or closed
                connection.set_progress_handler(function, 1)

    gc.disable()
    at_each_step(lambda: None)
    try:
        yield
    finally:
        at_each_step(None)
        if collects:
            gc.enable()


def least_cost(operation, arguments):
    """Return what a call costs, the least of some: what is done once in a while, such as to make room, does not count."""
    costs = [count(operation, *each) for each, count in zip(arguments, itertools.cycle((bytecodes_of, bytes_of)))]
    return {name: min(each[name] for each in costs if name in each) for name in {**costs[0], **costs[1]}}


def bytecodes_of(operation, *arguments):
    """Return how many bytecodes a call runs."""
    bytecodes, thread, monitoring = 0, threading.get_ident(), getattr(sys, "monitoring", None)
    if monitoring is None:  # before Python 3.12; from then on, a trace function is told nothing of the first call of a function
        return {"bytecodes": traced_bytecodes_of(operation, *arguments)}

    def count(_code, _offset):
        nonlocal bytecodes
        bytecodes += threading.get_ident() == thread

    tool, event = next(number for number in range(6) if not monitoring.get_tool(number)), monitoring.events.INSTRUCTION
    monitoring.use_tool_id(tool, "queue conformance")
    monitoring.register_callback(tool, event, count)
    monitoring.set_events(tool, event)
    try:
        operation(*arguments)
    finally:
        monitoring.set_events(tool, 0)
        monitoring.register_callback(tool, event, None)
        monitoring.free_tool_id(tool)
    return {"bytecodes": bytecodes}


def traced_bytecodes_of(operation, *arguments):
    """Return the same by a trace function."""
    bytecodes, traced = 0, sys.gettrace()

    def trace(frame, event, _):
        nonlocal bytecodes
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        bytecodes += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        operation(*arguments)
    finally:
        sys.settrace(traced)
    return bytecodes


def bytes_of(operation, *arguments):
    """Return how many bytes of memory a call needs meanwhile, and how many it reads and writes."""
    before = bytes_moved()
    with allocations() as memory:
        operation(*arguments)
        needed = memory()[1]
    return {"bytes of memory": needed, **{f"bytes {name}": count - before[name] for name, count in bytes_moved().items()}}


@contextmanager
def allocations():
    """Count what is allocated meanwhile: how many bytes are held, and were held at most."""
    tracing = tracemalloc.is_tracing()
    tracemalloc.start()
    tracemalloc.reset_peak()
    first = tracemalloc.get_traced_memory()[0]
    try:
        yield lambda: [size - first for size in tracemalloc.get_traced_memory()]
    finally:
        if not tracing:
            tracemalloc.stop()


def bytes_kept(operation, items):
    """Return how many bytes of memory are held after an operation was called with each item, and were not after the first one.

    A table of a fixed size may be made as late as that.
    """
    operation(next(items))
    with allocations() as memory:
        for item in items:
            operation(item)
        del item
        gc.collect()
        return memory()[0]


def bytes_kept_of_few_or_many(operation, made, size):
    """Return how many bytes of memory are held of items of a size that passed through, and how many passed.

    Where the first few are still there, all may be given up together, later.
    """
    for many in (32, 5000):
        kept = bytes_kept(operation, (made(number) for number in range(many, 2 * many)))
        if kept < many // 2 * size:
            break
    return kept, many


def through(put, take, rest=None):
    """Return what puts an item in, takes one out, and lets what is done behind that go on."""

    def passed(item):
        put(item)
        if take() is None:
            raise LookupError("nothing came out")
        if rest is not None:
            rest()

    return passed


def bytes_moved():
    """Return how many bytes this process has read and written; nothing where nothing tells."""
    with suppress(OSError):
        told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
        return {"read": int(told["rchar"]), "written": int(told["wchar"])}
    return {}
