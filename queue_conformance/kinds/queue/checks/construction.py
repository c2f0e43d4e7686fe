"""Checks of construction: keys, directories, and what is found in them."""

from pathlib import Path

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.environments import fixtures  # noqa: F401  registers those of crawls
from queue_conformance.kinds.queue.fixtures import drain
from queue_conformance.kinds.queue.kind import BYTES_ONLY, REQUESTS_ONLY
from queue_conformance.script_support.support import contents, names_below

KEYS = (
    "0",
    "-7",
    "12s",
    "-3s",
    "example.com-5ababd603b22780302dd8d83498e5172/-1",
    "with spaces/0",
    "dots.and-dashes_/..hidden/1",
    "exämple-日本語/2",
)
"""Keys as the released priority queues make them, below a directory of the author's choice."""

LONG_KEYS = ("d" * 255 + "/0",)
"""Keys at the limit of file systems."""


NEIGHBOURS = (
    ("1", "-1"),
    ("0", "0s"),
    ("-1", "-1s"),
    ("1", "11"),
    ("1", "10"),
    ("example.com-5ababd603b22780302dd8d83498e5172/0", "example.org-1a9d4e9d93ac7d0a0ba3b4a7b6ba3a53/0"),
    ("a_b-6f1e4a7b1a2a4b6b8d3f0e6b7c8d9e0f/0", "a_b-0cc175b9c0f1b6a831c399e269772661/0"),
    ("shop1/0", "shop/10"),
    ("a-b/0", "a_b/0"),
    *((f"{'d' * size}1/0", f"{'d' * size}2/0") for size in (40, 64, 128, 200)),
)
"""Keys that differ by a sign, a suffix, a further digit, a directory, or late: a priority queue uses such keys at one time."""


@check(
    "queue.ctor.key-isolation",
    kinds=REQUESTS_ONLY,
    name="keys.neighbours",
    depends_on="push:1 push:3 length truth pop push:1 reopen pop pop",
    keys=NEIGHBOURS,
)
def neighbours_are_isolated(open_queue, keys, item, directory):
    """Queues built with different keys, or in memory for different crawls, never see each other's items."""
    one, two = keys
    for key in keys:  # whether each key is accepted at all is a rule of its own
        Path(directory, key).parent.mkdir(parents=True, exist_ok=True)
        with under_test("queue.ctor.key-shapes"):
            queue = open_queue(key)
        queue.close()
    with under_test("queue.ctor.key-isolation"):
        queue = open_queue(one)
        other = open_queue(two)
        queue.push(item(1))
        assert len(other) == 0
        other.push(item(2))
        queue.push(item(3))
        assert other.pop() == item(2)  # if both were one queue, neither its first nor its last item
        if not offers("shared"):  # whose length may be a little old
            assert len(queue) == 2
        other.push(item(1))  # equal items in two queues stay two items
        other.push(item(3))
    queue.close()
    other.close()
    if offers("persistent"):
        with under_test("queue.ctor.key-isolation"):
            queue = open_queue(one)
            other = open_queue(two)
            assert drain(queue) == contents([item(1), item(3)])
            popped = other.pop()
            other.close()  # whoever still has its files open does not see that they are gone
            other = open_queue(two)
            left = drain(other)
            assert sorted([*contents([popped]), *left], key=repr) == contents([item(1), item(3)])


@check(
    "queue.ctor.key-isolation",
    kinds=REQUESTS_ONLY,
    name="keys.numbered",
    depends_on=" ".join([*(f"push:{number}" for number in range(13)), *["pop"] * 13]),
)
def numbered_items_are_isolated(open_queue, item):
    """Queues built with different keys, or in memory for different crawls, never see each other's items."""
    with under_test():
        queue = open_queue("1", holding=range(13))
        other = open_queue("11", holding=range(20, 24))  # its item 2 is not item 12 of the key 1
        assert drain(other) == contents([item(number) for number in range(20, 24)])
        assert drain(queue) == contents([item(number) for number in range(13)])


@check(
    "queue.ctor.key-isolation",
    kinds=REQUESTS_ONLY,
    name="keys.crawls",
    depends_on="push:0 1.push:1 1.pop length pop",
)
def crawls_of_one_process_have_their_own(open_queue, use_another_crawler, item):
    """Queues built with different keys, or in memory for different crawls, never see each other's items."""
    if any(map(offers, ("persistent", "filesystem", "server", "shared"))):
        raise NotApplicable("what is stored under its key may well be there for another crawl, too")
    with under_test():
        queue = open_queue()
        use_another_crawler()
        other = open_queue()
        queue.push(item(1))
        assert len(other) == 0, "0 in another crawl"
        other.push(item(2))
        assert queue.pop() == item(1)
        assert other.pop() == item(2)


@check("queue.ctor.key-lengths", depends_on="push:0 reopen pop", key=LONG_KEYS)
@check("queue.ctor.key-shapes", depends_on="push:0 reopen pop", key=KEYS)
def keys_have_many_shapes(open_queue, item, key, directory):
    """A key is accepted whose directory has a name of 255 letters, the limit of most file systems.

    Every key that the released priority queues generate is accepted: `<directory>/<priority>`, negative priorities, an `s`
    suffix, and directories with spaces, dots and non-ASCII letters.
    """
    Path(directory, key).parent.mkdir(parents=True, exist_ok=True)
    with under_test():
        queue = open_queue(key, holding=[1])
        queue.close()
        queue = open_queue(key)
        assert queue.pop() == item(1)
        queue.close()


@check("queue.ctor.parents", kinds=REQUESTS_ONLY)
def parents_are_created(open_queue, item):
    """A disk queue creates the missing parent directories of its key, because the priority queue never does."""
    with under_test():
        queue = open_queue("a/b/c/0", holding=[1])
        assert queue.pop() == item(1)
        queue.close()


@check("queue.ctor.empty-clean")
def untouched_leaves_nothing(open_queue, directory):
    """Building a queue and closing it untouched leaves nothing behind: no item, and for a file-backed queue no file."""
    queue = open_queue()
    queue.close()
    assert names_below(directory) == []
    queue = open_queue()
    assert len(queue) == 0
    queue.close()


SCRAPY_QUEUES = [
    f"scrapy.squeues.{name}{storage}Queue"
    for name in ("PickleFifo", "PickleLifo", "MarshalFifo", "MarshalLifo")
    for storage in ("Disk", "SQLite")
]
QUEUELIB_QUEUES = [f"queuelib.queue.{order}{storage}Queue" for order in ("Fifo", "Lifo") for storage in ("Disk", "SQLite")]
"""Classes whose storage is put where the class under test opens its own."""


@check("queue.ctor.wrong-storage", kinds=REQUESTS_ONLY, path=SCRAPY_QUEUES)
@check("queue.ctor.wrong-storage", kinds=BYTES_ONLY, path=QUEUELIB_QUEUES)
def foreign_storage_is_refused(open_queue, open_other, item, path):
    """Opening storage written by another queue class fails with an exception at construction and leaves that storage
    untouched.
    """
    stored = [item(number) for number in range(3)]
    other = open_other(path)
    for each in stored:
        other.push(each)
    other.close()
    with under_test():
        with may_raise() as refused:
            queue = open_queue()
        if not refused:
            assert len(queue) == 0, f"an exception, for the storage is one of {path}"
            queue.close()
        assert drain(open_other(path)) == contents(stored)
    if not refused:
        raise NotCovered("the class does not look at the storage of other classes under the same key")
