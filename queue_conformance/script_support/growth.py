"""What calls cost as an implementation grows, counted: it is the same however busy the machine is.

Scripts quote it; it has no annotations, because scripts have none.
"""

import gc
import itertools
import sys
import tracemalloc
from contextlib import contextmanager, suppress
from pathlib import Path


def in_proportion(push, items, counts):
    """Push items, and count at some sizes; return the counts that grow in proportion to what was pushed.

    Four times as many add four times as much to such a count, twice as much to a square root, and no more to a logarithm. What
    is more from one size to the next alone, such as one more page of a file, does not count.
    """
    found, grown, pushed = [], [], 0
    for size in (8, 32, 128, 512):  # the last one only if something seems to grow
        for item in itertools.islice(items, size - pushed):
            push(item)
        pushed = size
        found.append(counts())
        if len(found) > 2:
            added = {name: [b[name] - a[name] for a, b in itertools.pairwise(found[-3:])] for name in found[0]}
            grown = [name for name, (before, now) in added.items() if now > max(2.5 * before, size * least_growth(name))]
            if not grown:
                break
    steadily = [name for name in grown if 20 * added[name][0] > added[name][1]]
    return [f"{name}: {', '.join(f'{each[name]} at {8 * 4**n}' for n, each in enumerate(found))}" for name in steadily]


def least_growth(name):
    """Return what each item adds at least to a count that grows; what is less may be one more page of a file."""
    return 16 if name.startswith(("bytes read", "bytes written")) else 4 if name.startswith("bytes") else 0.5


def growing_costs(items, **operations):
    """Return which costs of operations grow in proportion to how many items the first one of them was called with."""
    (name, push), *others = operations.items()
    for connection in gc.get_objects() if "sqlite3" in sys.modules else ():
        if type(connection) is sys.modules["sqlite3"].Connection:
            with suppress(Exception):  # of another thread
                connection.set_progress_handler(lambda: None, 1)  # each step of SQLite runs a few bytecodes

    def counts():
        costs = {name: least_cost(push, [[item] for item in itertools.islice(items, 5)])}
        costs |= {other: least_cost(operation, [()] * 5) for other, operation in others}
        return {f"{unit} in {operation}": count for operation, cost in costs.items() for unit, count in cost.items()}

    return in_proportion(push, items, counts)


def least_cost(operation, arguments):
    """Return what a call costs, the least of some: what is done once in a while, such as to make room, does not count."""
    costs = [cost_of(operation, *each) for each in arguments]
    return {name: min(each[name] for each in costs) for name in costs[0]}


def cost_of(operation, *arguments):
    """Return how many bytecodes a call runs, and how many bytes it reads, writes, and needs meanwhile."""
    bytecodes, traced, collects = 0, sys.gettrace(), gc.isenabled()

    def trace(frame, event, _):
        nonlocal bytecodes
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        bytecodes += event == "opcode"
        return trace

    gc.disable()
    before = bytes_moved()
    try:
        with allocations() as memory:
            sys.settrace(trace)
            try:
                operation(*arguments)
            finally:
                sys.settrace(traced)
                needed = memory()[1]
    finally:
        if collects:
            gc.enable()
    moved = {f"bytes {name}": count - before[name] for name, count in bytes_moved().items()}
    return {"bytecodes": bytecodes, "bytes of memory": needed, **moved}


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
    """Return how many bytes of memory are held after an operation was called with each item, and were not before."""
    with allocations() as memory:
        for item in items:
            operation(item)
        del item
        gc.collect()
        return memory()[0]


def bytes_moved():
    """Return how many bytes this process has read and written; nothing where nothing tells."""
    with suppress(OSError):
        told = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
        return {"read": int(told["rchar"]), "written": int(told["wchar"])}
    return {}
