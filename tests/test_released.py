"""The released classes of Scrapy and queuelib: every broken rule of this table was looked at by hand."""

import pytest
import queuelib.queue
import scrapy.squeues
from kit import RELEASES, broken, examine
from packaging.version import Version

from queue_conformance.verdicts import Verdict

SCRAPY = tuple(sorted(name for name in vars(scrapy.squeues) if name.endswith("Queue") and not name.startswith("_")))
QUEUELIB = tuple(sorted(name for name in vars(queuelib.queue) if name.endswith("Queue") and name != "BaseQueue"))
ON_DISK = [
    *(f"scrapy.squeues.{name}" for name in SCRAPY if "Memory" not in name),
    *(f"queuelib.queue.{name}" for name in QUEUELIB if "Memory" not in name),
]
COLLECTIONS = {"PriorityQueue": {"queuelib.pq.startprios-empty"}, "RoundRobinQueue": {"queuelib.rr.peek-empty"}}

# pop takes the item out before it looks for the callback.
SERIALIZING = {"queue.push.rebuildable", "queue.pop.missing-callback", "queue.ctor.wrong-storage", "queue.close.twice"}
PICKLE = SERIALIZING | {"queue.push.serialization-all-causes"}
MARSHAL = SERIALIZING | {"queue.pop.roundtrip-rare"}
# After a crash its close deletes files that hold items; the README says so. A close that cannot write cuts info.json.
FIFO_DISK = {"queue.push.no-silent-loss", "queue.close.keeps-fault", "queue.persist.crash-no-phantom"}
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


@pytest.mark.parametrize("name", SCRAPY)
def test_the_queues_of_scrapy_break_what_they_are_known_to_break(name):
    assert broken(examine(f"scrapy.squeues.{name}", examples=50)) == expected_of_scrapy(name)


@pytest.mark.parametrize("name", QUEUELIB)
def test_the_queues_of_queuelib_break_what_they_are_known_to_break(name):
    assert broken(examine(f"queuelib.queue.{name}", examples=50)) == expected_of_queuelib(name)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_the_queues_of_queues_of_queuelib_break_what_they_are_known_to_break(name):
    assert broken(examine(f"queuelib.{name}")) == COLLECTIONS[name]


@pytest.mark.parametrize("name", ON_DISK)
def test_the_queues_in_databases_survive_crashes_and_no_others(name):
    notes = examine(name, only="queue.persist.crash-open").notes
    (durability,) = [note for note in notes if note.startswith("durability: ")]
    assert durability.startswith("durability: process crash (0 lost, 0 " if "SQLite" in name else "durability: clean close (")


@pytest.mark.parametrize("name", [name for name in SCRAPY if "SQLite" in name])
def test_the_release_notes_are_right_that_the_queues_in_databases_are_crash_safe(name):
    report = examine(f"scrapy.squeues.{name}", {"crash-safe": "yes"}, only="queue.persist.crash-push")
    assert not broken(report)
    kept = {verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.KEPT}
    assert {"queue.persist.crash-push", "queue.persist.crash-pop"} <= kept
