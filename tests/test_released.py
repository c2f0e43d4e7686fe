"""The released classes of Scrapy and queuelib: every failed rule of this table was looked at by hand."""

import re

import pytest
import queuelib.queue
import scrapy.squeues
from kit import RELEASES, examine, failed_rules, further
from packaging.version import Version

from queue_conformance.engine.verdicts import Verdict

SCRAPY = tuple(sorted(name for name in vars(scrapy.squeues) if name.endswith("Queue") and not name.startswith("_")))
QUEUELIB = tuple(sorted(name for name in vars(queuelib.queue) if name.endswith("Queue") and name != "BaseQueue"))
COLLECTIONS = {
    "PriorityQueue": {"queuelib.pq.startprios-empty", "queuelib.close.fault"},
    "RoundRobinQueue": {"queuelib.rr.peek-empty", "queuelib.close.fault"},
}

# pop takes the item out before it looks for the callback.
SERIALIZING = {"queue.push.rebuildable", "queue.pop.missing-callback", "queue.ctor.wrong-storage", "queue.close.twice"}
PICKLE = SERIALIZING | {"queue.push.serialization-all-causes"}
MARSHAL = SERIALIZING | {"queue.pop.roundtrip-rare"}
# After a crash its close deletes files that hold items; the README says so. A close that cannot write cuts info.json.
# After a kill, the length that its last close noted is not what its files hold any more.
FIFO_DISK = {
    "queue.push.no-silent-loss",
    "queue.close.keeps-fault",
    "queue.persist.crash-no-phantom",
    "queue.persist.crash-length",
}
# A close that cannot write leaves the old length at the head of a file that has grown.
LIFO_DISK = {"queue.push.failed-no-trace-fault", "queue.peek.then-push", "queue.close.keeps-fault"}


def expected_of_scrapy(name):
    if "Memory" in name:
        return set()
    rules = PICKLE if name.startswith("Pickle") else MARSHAL
    return rules | (FIFO_DISK if "FifoDisk" in name else LIFO_DISK if "LifoDisk" in name else set())


def expected_of_queuelib(name):
    if "Memory" in name:
        return set()
    rules = {"queue.close.twice"} | (FIFO_DISK if name == "FifoDiskQueue" else set())
    if name == "LifoDiskQueue":  # it takes the first bytes of any file for its length
        rules |= LIFO_DISK | {"queue.ctor.wrong-storage"}
    if "SQLite" in name:
        # The two classes share one format; since 1.10 clear() promises to give the space on the disk back.
        rules |= {"queue.ctor.wrong-storage"} if name == "FifoSQLiteQueue" else set()
        rules |= {"queuelib.clear.space"} if Version(RELEASES["queuelib"]) >= Version("1.10") else set()
    return rules


def expected_durability(name):
    if "Memory" in name:
        return []
    return ["durability: process crash (0 lost, 0" if "SQLite" in name else "durability: clean close"]


EXPECTED = {
    **{f"scrapy.squeues.{name}": expected_of_scrapy(name) for name in SCRAPY},
    **{f"queuelib.queue.{name}": expected_of_queuelib(name) for name in QUEUELIB},
}


QUICK = "scrapy.squeues.FifoMemoryQueue"


@pytest.mark.parametrize("path", [QUICK, *further(*(path for path in EXPECTED if path != QUICK))])
def test_released_queues_break_what_they_are_known_to_break_and_survive_crashes_in_databases_alone(path, examples):
    report = examine(path, examples=examples)
    assert failed_rules(report) == EXPECTED[path]
    told = [re.match(r"durability: [a-z ]+(\(0 lost, 0)?", note) for note in report.notes]
    assert [durability[0].strip() for durability in told if durability] == expected_durability(path)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_the_queues_of_queues_of_queuelib_break_what_they_are_known_to_break(name):
    assert failed_rules(examine(f"queuelib.{name}")) == COLLECTIONS[name]


@pytest.mark.further
@pytest.mark.parametrize("name", [name for name in SCRAPY if "SQLite" in name])
def test_the_release_notes_are_right_that_the_queues_in_databases_are_crash_safe(name):
    report = examine(f"scrapy.squeues.{name}", {"crash-safe": "yes"}, only="queue.persist.crash-push")
    assert not failed_rules(report)
    passed = {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.PASSED}
    assert {"queue.persist.crash-push", "queue.persist.crash-pop"} <= passed
