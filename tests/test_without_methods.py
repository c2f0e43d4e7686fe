"""What has no ``close``, or a wrong ``len``, or a ``maxsize`` that cannot be called, is tested as far as that goes."""

from __future__ import annotations

import pickle
from collections import deque
from pathlib import Path

import kit
from scrapy.squeues import PickleFifoDiskQueue

from queue_conformance.engine.verdicts import Verdict
from queue_reference.async_queues import DiskQueue, MemoryQueue
from queue_reference.dupefilter import DupeFilter
from queue_reference.pqueues import PriorityQueue


class WithoutClose:
    """A right queue in memory, but for a close."""

    def __init__(self, key):
        self.requests = deque()

    def push(self, request):
        """Store a request."""
        self.requests.append(request)

    def pop(self):
        """Take out a request."""
        return self.requests.popleft() if self.requests else None

    def __len__(self):
        return len(self.requests)


class OnDisk:
    """A queue on disk that knows neither close nor how much it holds."""

    def __init__(self, crawler, key):
        self.inner = PickleFifoDiskQueue.from_crawler(crawler, key)

    @classmethod
    def from_crawler(cls, crawler, key):
        """Build one."""
        return cls(crawler, key)

    def push(self, request):
        """Store a request."""
        self.inner.push(request)

    def pop(self):
        """Take out a request."""
        return self.inner.pop()

    def __len__(self):
        return 0


class WrongLength(OnDisk):
    """A queue on disk that closes, and does not know how much it holds."""

    def close(self):
        """Close."""
        self.inner.close()


class RaisingLength(WrongLength):
    """A queue on disk that cannot tell how much it holds."""

    def __len__(self):
        raise NotImplementedError


def verdicts(report):
    """Return the verdict on each rule, by its id."""
    return {verdict.rule.id: verdict.verdict for verdict in report.verdicts}


def test_what_needs_no_close_is_tested_without_one():
    checks = {"smoke", "queue.pop.fifo", "queue.push.duplicates", "queue.close.twice", "queue.ctor.empty-clean"}
    report = kit.examine("test_without_methods.WithoutClose", only=checks)
    found = verdicts(report)
    assert [verdict.rule.id for verdict in report.verdicts if verdict.verdict is Verdict.FAILED] == ["queue.ctor.interface"]
    assert found["queue.pop.fifo"] is found["queue.push.duplicates"] is Verdict.PASSED
    assert found["queue.close.twice"] is Verdict.BLOCKED


def test_what_comes_after_a_close_that_is_none_is_blocked():
    checks = {"smoke", "queue.persist.reopen", "queue.persist.crash-open", "queue.ctor.empty-clean"}
    report = kit.examine("test_without_methods.OnDisk", only=checks)
    found = verdicts(report)
    assert {found[check] for check in checks - {"smoke"}} == {Verdict.BLOCKED}
    assert found["queue.ctor.interface"] is Verdict.FAILED


def test_a_queue_is_persistent_whatever_it_says_of_its_length():
    for name in ("WrongLength", "RaisingLength"):
        assert "persistent" in kit.examine(f"test_without_methods.{name}", only="smoke").offers


class FileOfBytes:
    """A right queue of bytes in a file, but for a close: each operation opens the file."""

    def __init__(self, path):
        self.path = Path(path)

    def push(self, item):
        """Store an item."""
        if not isinstance(item, bytes):
            raise TypeError(item)
        self._write([*self._items(), item])

    def pop(self):
        """Take out an item."""
        items = self._items()
        if not items:
            return None
        self._write(items[1:])
        return items[0]

    def __len__(self):
        return len(self._items())

    def _items(self):
        return pickle.loads(self.path.read_bytes()) if self.path.exists() else []

    def _write(self, items):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(pickle.dumps(items))


def test_what_a_persistent_queue_does_before_a_close_that_is_none_is_tested():
    checks = {"smoke", "machine", "queue.pop.empty-none", "queue.persist.reopen"}
    found = verdicts(kit.examine("test_without_methods.FileOfBytes", only=checks))
    assert found["queue.pop.empty-none"] is Verdict.PASSED  # a fixed sequence, which is cut short, opens the queue again
    assert found["queue.persist.reopen"] is Verdict.BLOCKED


class LimitAsProperty(MemoryQueue):
    """An asynchronous queue whose limit cannot be called."""

    maxsize = property(lambda self: 0)


def test_a_limit_that_cannot_be_called_blocks_no_other_rule():
    report = kit.examine("test_without_methods.LimitAsProperty", only={"smoke", "aqueue.order.fifo", "aqueue.close.twice"})
    (failed,) = [verdict for verdict in report.verdicts if verdict.verdict is Verdict.FAILED]
    assert (failed.rule.id, failed.violation.expected) == ("aqueue.iface", "a plain method")
    assert "property" in failed.violation.actual
    assert verdicts(report)["aqueue.order.fifo"] is Verdict.PASSED


class UnclosedAsync(MemoryQueue):
    """An asynchronous queue that is right, but for a close."""

    close = None


class UnclosedOnDisk(DiskQueue):
    """A persistent one."""

    close = None


def test_an_asynchronous_queue_without_close_is_tested_as_far_as_that_goes():
    checks = {"smoke", "machine", "aqueue.order.fifo", "aqueue.bound.limit", "aqueue.close.releases", "close.during-put"}
    report = kit.examine("test_without_methods.UnclosedAsync", only=checks)
    found = verdicts(report)
    (failed,) = [verdict for verdict in report.verdicts if verdict.verdict is Verdict.FAILED]
    assert failed.rule.id == "aqueue.iface"
    assert "async def close" in failed.rule.hints[0]
    assert found["aqueue.get.concurrent"] is found["aqueue.order.fifo"] is found["aqueue.bound.limit"] is Verdict.PASSED
    needing = ("aqueue.close.releases", "aqueue.put.closed", "aqueue.get.close-wakes", "aqueue.get.closed-drains")
    assert {found[rule] for rule in needing} == {Verdict.BLOCKED}


def test_what_an_asynchronous_queue_keeps_is_blocked_where_it_must_be_closed_first():
    checks = {"smoke", "aqueue.persist.reopen", "aqueue.close.keeps", "aqueue.order.priority"}
    report = kit.examine("test_without_methods.UnclosedOnDisk", only=checks)
    found = verdicts(report)
    assert "persistent" in report.offers
    assert found["aqueue.persist.reopen"] is found["aqueue.close.keeps"] is Verdict.BLOCKED
    assert found["aqueue.order.priority"] is Verdict.PASSED


class Uncleared(MemoryQueue):
    """An asynchronous queue that is right, but for a clear."""

    clear = None


def test_an_asynchronous_queue_without_clear_is_tested_as_far_as_that_goes():
    checks = {"smoke", "machine", "aqueue.order.fifo", "aqueue.bound.usable", "aqueue.clear", "clear.dedupe"}
    report = kit.examine("test_without_methods.Uncleared", only=checks)
    found = verdicts(report)
    (failed,) = [verdict for verdict in report.verdicts if verdict.verdict is Verdict.FAILED]
    assert failed.rule.id == "aqueue.iface"
    assert "async def clear" in failed.rule.hints[0]
    assert found["aqueue.get.concurrent"] is found["aqueue.order.fifo"] is found["aqueue.bound.usable"] is Verdict.PASSED
    assert found["aqueue.clear"] is Verdict.BLOCKED


class UnclosedFilter(DupeFilter):
    """A dupefilter with a file, which is right, but for a close."""

    close = None


def test_a_dupefilter_without_close_is_tested_as_far_as_that_goes():
    checks = {"smoke", "machine", "dupefilter.seen.first", "dupefilter.persist.resume", "dupefilter.close.twice"}
    report = kit.examine("test_without_methods.UnclosedFilter", only=checks)
    found = verdicts(report)
    (failed,) = [verdict for verdict in report.verdicts if verdict.verdict is Verdict.FAILED]
    assert failed.rule.id == "dupefilter.iface"
    assert "pytest_open_queue" in failed.rule.hints[0]
    assert "persistent" in report.offers
    assert found["dupefilter.seen.first"] is found["dupefilter.seen.no-false-positive"] is Verdict.PASSED
    assert found["dupefilter.persist.resume"] is found["dupefilter.close.twice"] is Verdict.BLOCKED


class UnclosedPriorityQueue(PriorityQueue):
    """A priority queue that is right, but for a close."""

    close = None


def test_a_priority_queue_without_close_is_tested_as_far_as_that_goes():
    checks = {"smoke", "machine", "pq.resume.foreign-state", "pq.close.twice"}
    report = kit.examine("test_without_methods.UnclosedPriorityQueue", only=checks)
    found = verdicts(report)
    (failed,) = [verdict for verdict in report.verdicts if verdict.verdict is Verdict.FAILED]
    assert failed.rule.id == "pq.ctor.signature"
    assert "Define `close`" in failed.rule.hints[0]
    assert found["pq.pop.exactly-once"] is found["pq.len.sum"] is Verdict.PASSED
    assert found["pq.close.twice"] is found["pq.close.state"] is found["pq.resume.foreign-state"] is Verdict.BLOCKED
