"""Checks of construction: keys, directories, and what is found in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from queue_conformance.implementations import Implementation
from queue_conformance.implementations.drivers import make_driver
from queue_conformance.implementations.loading import LoadError, load_class
from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.specification import Kind
from queue_conformance.suites import check
from queue_conformance.suites.bench import Bench, must_raise
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.pair import run
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
def queuelib_accepts_the_class(bench: Bench) -> None:
    satisfies_base_queue(bench)


@check("queue.ctor.key-isolation", kinds=REQUESTS_ONLY)
def keys_are_isolated(bench: Bench) -> None:
    run(bench, program("push:0 1.push:0 1.length length push:1 1.push:1 1.pop pop length 1.length 1.pop 1.pop pop"))
    rule = "queue.ctor.key-isolation"
    for one, two in NEIGHBOURS:
        with bench.collecting():
            bench.restart()
            for key in (one, two):  # a key that is refused by itself is no matter of two
                _opened(bench, key, "queue", owner="queue.ctor.key-shapes").close()
            with bench.recorder.blame(rule):
                first, second = _opened(bench, one, "queue"), _opened(bench, two, "other")
                first.push(bench.driver.item(1))
                length = second.length()
                bench.expect(rule, length == 0, f"len 0 of the queue of {two}", length, "length == 0")
                second.push(bench.driver.item(2))
                first.push(bench.driver.item(3))
                bench.pop_item(second, bench.driver.item(2), rule)  # in a shared one, neither the first nor the last
                length = first.length()
                bench.expect(rule, length == 2, f"len 2 of the queue of {one}", length, "length == 2")
                first.close()
                second.close()


def _opened(bench: Bench, key: str, variable: str, owner: str | None = None) -> Any:
    """Open the queue of a key whose parent directory exists."""
    _make_parent(bench, key)
    return bench.open(key, variable=variable, owner=owner)


def _make_parent(bench: Bench, key: str) -> None:
    parent = str(Path(key).parent)
    (bench.driver.directory / parent).mkdir(parents=True, exist_ok=True)
    bench.recorder.note(f"Path(directory, {parent!r}).mkdir(parents=True, exist_ok=True)")


@check("queue.ctor.key-identity")
def keys_are_identities(bench: Bench) -> None:
    run(bench, program("push:0 1.push:0 1.push:1 close 1.close 2.push:0 1.open open 1.pop pop 2.pop 1.pop"))


@check("queue.ctor.key-shapes")
def keys_have_many_shapes(bench: Bench) -> None:
    _store_under(bench, "queue.ctor.key-shapes", KEYS)


@check("queue.ctor.key-lengths")
def keys_may_be_long(bench: Bench) -> None:
    _store_under(bench, "queue.ctor.key-lengths", LONG_KEYS)


def _store_under(bench: Bench, rule: str, keys: Sequence[str]) -> None:
    """Push, close, open again and pop under each of some keys, if that works under an ordinary one."""
    run(bench, program("push:0 reopen pop"))
    for key in keys:
        with bench.collecting(), bench.recorder.blame(rule):
            bench.restart()
            queue = _opened(bench, key, "queue")
            queue.push(bench.driver.item(1))
            queue.close()
            queue = bench.open(key)
            bench.pop_item(queue, bench.driver.item(1), rule)
            queue.close()


@check("queue.ctor.parents", kinds=REQUESTS_ONLY)
def parents_are_created(bench: Bench) -> None:
    rule = "queue.ctor.parents"
    with bench.recorder.blame(rule):
        queue = bench.open("a/b/c/0")
        queue.push(bench.driver.item(1))
        bench.pop_item(queue, bench.driver.item(1), rule)
        queue.close()


@check("queue.ctor.empty-clean")
def untouched_leaves_nothing(bench: Bench) -> None:
    rule = "queue.ctor.empty-clean"
    bench.open().close()
    files = list(files_below(bench.driver.directory))
    bench.recorder.note("left = [path for path in Path(directory).rglob('*') if path.is_file()]")
    bench.expect(rule, not files, "no file", ", ".join(files), "not left")
    queue = bench.open()
    length = queue.length()
    bench.expect(rule, length == 0, "len 0", length, "length == 0")
    queue.close()


@check("queue.ctor.stored-length")
def length_is_restored(bench: Bench) -> None:
    run(bench, program("push:0 push:1 push:2 push:3 reopen pop reopen pop pop reopen pop reopen"))


def files_below(directory: Path) -> Iterator[str]:
    """Yield the files below a directory, as paths relative to it."""
    for path in sorted(directory.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(directory))


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
def foreign_storage_is_refused(bench: Bench) -> None:
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
