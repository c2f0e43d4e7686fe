"""Checks of construction: keys, directories, and what is found in them."""

from pathlib import Path

from queue_conformance.engine.check import check
from queue_conformance.implementations import Implementation
from queue_conformance.implementations.drivers import make_driver
from queue_conformance.implementations.loading import LoadError, load_class
from queue_conformance.implementations.quoted.support import names_below
from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.specification import Kind
from queue_conformance.suites.bench import Bench, must_raise
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.queues.preflight import satisfies_base_queue

BYTES_ONLY = {Kind.BYTE_QUEUE}
REQUESTS_ONLY = {Kind.DOWNSTREAM_QUEUE}

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
)
"""Keys that differ by a sign, a suffix, a further digit, a directory: a priority queue uses such keys at one time."""


@check("queue.ctor.base-queue", kinds=BYTES_ONLY)
def queuelib_accepts_the_class(bench):
    satisfies_base_queue(bench)


@check("queue.ctor.key-isolation", kinds=REQUESTS_ONLY)
def keys_are_isolated(play):
    play("push:0 1.push:0 1.length length push:1 1.push:1 1.pop pop length 1.length 1.pop 1.pop pop")


@check("queue.ctor.key-isolation", kinds=REQUESTS_ONLY, name="keys.neighbours", keys=NEIGHBOURS)
def neighbours_are_isolated(open_queue, keys, item, about, directory):
    one, two = keys
    for key in keys:  # a key that is refused by itself is no matter of two
        Path(directory, key).parent.mkdir(parents=True, exist_ok=True)
        with about("queue.ctor.key-shapes"):
            queue = open_queue(key)
        queue.close()
    with about("queue.ctor.key-isolation"):
        queue = open_queue(one)
        other = open_queue(two)
        queue.push(item(1))
        assert len(other) == 0
        other.push(item(2))
        queue.push(item(3))
        assert other.pop() == item(2)  # in a shared one, neither the first nor the last
        assert len(queue) == 2
        queue.close()
        other.close()


@check("queue.ctor.key-identity")
def keys_are_identities(play):
    play("push:0 1.push:0 1.push:1 close 1.close 2.push:0 1.open open 1.pop pop 2.pop 1.pop")
    play("push:0 push:1 1.push:0 close 1.pop 1.close open pop pop")  # the second is done with while the first is closed


@check("queue.ctor.key-lengths", presupposes="push:0 reopen pop", key=LONG_KEYS)
@check("queue.ctor.key-shapes", presupposes="push:0 reopen pop", key=KEYS)
def keys_have_many_shapes(open_queue, item, key, directory, about, rule):
    Path(directory, key).parent.mkdir(parents=True, exist_ok=True)
    with about(rule):
        queue = open_queue(key)
        queue.push(item(1))
        queue.close()
        queue = open_queue(key)
        assert queue.pop() == item(1)
        queue.close()


@check("queue.ctor.parents", kinds=REQUESTS_ONLY)
def parents_are_created(open_queue, item, about, rule):
    with about(rule):
        queue = open_queue("a/b/c/0")
        queue.push(item(1))
        assert queue.pop() == item(1)
        queue.close()


@check("queue.ctor.empty-clean")
def untouched_leaves_nothing(open_queue, directory):
    queue = open_queue()
    queue.close()
    assert names_below(directory) == []
    queue = open_queue()
    assert len(queue) == 0
    queue.close()


@check("queue.ctor.stored-length")
def length_is_restored(play):
    play("push:0 push:1 push:2 push:3 reopen pop reopen pop pop reopen pop reopen")


OTHER_CLASSES = {
    Kind.DOWNSTREAM_QUEUE: (
        "scrapy.squeues.PickleFifoDiskQueue",
        "scrapy.squeues.PickleLifoDiskQueue",
        "scrapy.squeues.MarshalFifoDiskQueue",
        "scrapy.squeues.MarshalLifoDiskQueue",
        "scrapy.squeues.PickleFifoSQLiteQueue",
        "scrapy.squeues.PickleLifoSQLiteQueue",
        "scrapy.squeues.MarshalFifoSQLiteQueue",
        "scrapy.squeues.MarshalLifoSQLiteQueue",
    ),
    Kind.BYTE_QUEUE: (
        "queuelib.queue.FifoDiskQueue",
        "queuelib.queue.LifoDiskQueue",
        "queuelib.queue.FifoSQLiteQueue",
        "queuelib.queue.LifoSQLiteQueue",
    ),
}
"""Classes whose storage is put where the class under test opens its own."""


@check("queue.ctor.wrong-storage")
def foreign_storage_is_refused(bench):
    cls = bench.implementation.cls
    for path in OTHER_CLASSES[bench.implementation.kind]:
        try:
            other = load_class(path)
        except LoadError:
            continue  # not in this release
        if other is not cls and other not in cls.__mro__:
            with bench.collecting():
                bench.restart()
                _open_storage_of(bench, path, other)
    if not bench.examined["queue.ctor.wrong-storage"]:
        raise NotExercised("the class does not look at the storage of other classes under the same key")


def _open_storage_of(bench: Bench, path: str, cls: type) -> None:
    """Let another class write three items, open them with the class under test, and read them with the other again."""
    rule = "queue.ctor.wrong-storage"
    mine, kind = bench.driver, bench.implementation.kind
    theirs = make_driver(Implementation(path, cls, kind, bench.implementation.profile), mine.directory, bench.recorder)
    module, _, name = path.rpartition(".")
    bench.recorder.note(f"{name} = importlib.import_module({module!r}).{name}")
    writer = theirs.open(variable="other")
    for number in (1, 2, 3):
        writer.push(theirs.item(number))
    writer.close()
    refused = False
    try:
        with bench.recorder.blame(rule):
            queue = mine.open()
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raise
        refused = True
    else:
        opening = bench.recorder.steps[-1]
        length = queue.length(owner=rule)
        del bench.recorder.steps[-1]
        if length:
            tail = must_raise(opening.source, "Exception")
            bench.fail(rule, f"an exception, the storage is one of {name}", f"opened it, len {length}", tail, replaces=True)
        queue.close()
        opening.tolerated = bench.recorder.steps[-1].tolerated = True
    with bench.recorder.blame(rule):
        reader = theirs.open(variable="other")
        left = {1, 2, 3}
        while left:
            popped = reader.pop()
            number = theirs.identify(popped) or 0
            if number not in left:
                condition = theirs.among_source("popped", map(theirs.item, sorted(left)))
                bench.fail(rule, f"the storage of {name} untouched", popped, [f"assert {condition}, repr(popped)"])
            left.remove(number)
        reader.close()
    bench.examined[rule] += refused
