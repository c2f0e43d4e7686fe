"""What grows in proportion is told from what does not, by counts."""

import itertools
import math
import sqlite3
from pathlib import Path

import pytest

from queue_conformance.script_support import growth

SCATTER = itertools.cycle((6461, 6461, 6550, 6818))
"""What a right client of a server once needed at each size."""


def growing(count):
    """Return the counts that grow where ``count`` tells one of the number that was pushed."""
    pushed = []
    return growth.in_proportion(pushed.append, itertools.count(), lambda: {"bytecodes in pop": round(count(len(pushed)))})


@pytest.mark.parametrize(
    "count",
    [
        lambda size: 100 + 3 * size,
        lambda size: 3000 + 5 * size,
        lambda size: 3 * size * math.log(size),
        lambda size: size**2,
    ],
)
def test_what_grows_in_proportion_or_faster_is_found(count):
    (found,) = growing(count)
    assert found.startswith("bytecodes in pop: ")
    assert all(f" at {size}" in found for size in (2, 16, 128, 1024))


@pytest.mark.parametrize(
    "count",
    [
        lambda size: 100,
        lambda size: 100 + 40 * math.log(size),
        lambda size: 100 + 90 * math.sqrt(size),
        lambda size: 100 + 7000 * (size > 100),
        lambda size: 100 + 7 * min(size, 100),
        lambda size: 100 + 350 * (size > 10) + 7000 * (size > 100) + 90 * (size > 1000),
        lambda size: 1000 + size,
        lambda size: 8000 + 7 * size,
        lambda size: next(SCATTER),
    ],
)
def test_what_grows_more_slowly_or_once_is_not(count):
    assert growing(count) == []


def test_what_is_done_once_in_a_while_does_not_count():
    calls = itertools.count()
    cost = growth.least_cost(lambda: sum(1 for _ in range(1000 * (next(calls) % 4 < 2))), [()] * 6)
    assert cost["bytecodes"] < 100


@pytest.mark.parametrize(
    ("operation", "unit", "least"),
    [
        (lambda: sum(1 for _ in range(1000)), "bytecodes", 1000),
        (lambda: list(range(1000)), "bytes of memory", 8000),
        (lambda: Path(growth.__file__).read_bytes(), "bytes read", 1000),
    ],
)
def test_each_unit_is_counted(operation, unit, least):
    assert growth.least_cost(operation, [()] * 6)[unit] >= least


def test_a_first_call_is_counted_like_any_other():
    def ordinary():
        return sum(1 for _ in range(1000))

    counts = []
    for _ in range(3):
        counts.append(growth.bytecodes_of(ordinary)["bytecodes"])
        ordinary()
    assert 1000 < counts[0] == counts[1] == counts[2]


def test_each_step_of_sqlite_is_counted():
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE items (number INTEGER)")
    connection.executemany("INSERT INTO items VALUES (?)", [(number,) for number in range(1000)])
    with growth.undisturbed():
        counted = growth.bytecodes_of(lambda: connection.execute("SELECT max(number + 0) FROM items").fetchone())
    assert counted["bytecodes"] > 1000
    after = growth.bytecodes_of(lambda: connection.execute("SELECT max(number + 0) FROM items").fetchone())
    assert after["bytecodes"] < 1000
    connection.close()


@pytest.mark.parametrize("count", [growth.bytecodes_of, growth.bytes_of])
def test_what_raises_leaves_nothing_that_counts(count):
    traced = growth.sys.gettrace()
    with pytest.raises(ZeroDivisionError), growth.undisturbed():
        count(lambda: 1 / 0)
    assert growth.sys.gettrace() is traced
    assert not growth.tracemalloc.is_tracing()
    assert growth.gc.isenabled()


def test_a_table_that_is_made_at_the_first_call_is_not_kept_of_each_item():
    table = bytearray()

    def seen(item):
        if not table:
            table.extend(bytes(10**6))

    assert growth.bytes_kept(seen, (b"%1000d" % number for number in range(20))) < 10**4


def test_what_is_kept_of_each_item_is_counted():
    kept = []
    assert growth.bytes_kept(kept.append, (b"%1000d" % number for number in range(20))) > 19 * 1000
