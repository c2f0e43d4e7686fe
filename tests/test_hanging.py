"""After an operation hung in several checks, the others go on without it."""

import time
from collections import deque

import pytest
from kit import LEAN, failed_rules
from scrapy import Request

from queue_conformance import LoadError, examine
from queue_conformance.processes import endings
from queue_reference.memory import FifoMemoryQueue


class WaitsForItems:
    """An empty pop waits for ever, and the length is a set."""

    def __init__(self, crawler, key):
        self._items = deque()

    @classmethod
    def from_crawler(cls, crawler, key):
        return cls(crawler, key)

    def push(self, request):
        self._items.append(request)

    def pop(self):
        while not self._items:
            time.sleep(0.01)
        return self._items.popleft()

    def __len__(self):
        return {*self._items}

    def close(self):
        """There is nothing to release."""


def test_what_needs_no_pop_is_asked_though_pop_was_seen_to_hang():
    hang = ("queue.pop.no-wait", "queue.pop.exactly-once", "queue.pop.empty-none")
    names = {"smoke", *hang, "queue.len.count"}
    report = LEAN.examine("test_hanging.WaitsForItems", time_limit=0.5, only=names)
    assert {"queue.len.count", "queue.pop.empty-none"} <= failed_rules(report)


class WaitsWhenDeleted(FifoMemoryQueue):
    """When it is deleted it waits for ever, between two operations of its user's."""

    def __del__(self):
        time.sleep(3600)


def test_that_a_class_waits_when_it_is_deleted_is_told_as_a_hang_of_an_operation_is():
    report = LEAN.examine("test_hanging.WaitsWhenDeleted", time_limit=0.5, only="queue.len.count")
    (actual,) = {verdict.violation.actual for verdict in report.verdicts if verdict.violation}
    assert actual == "del queue, peeked, left did not return within 0.5 s"


class WaitsBetweenOperations(FifoMemoryQueue):
    """It waits for ever when the first of many that it returns is looked at, between two operations of its user's."""

    def pop(self):
        request = super().pop()
        return NeverTells(request.url) if len(self) > 4 else request


class NeverTells(Request):
    """A request whose URL never comes."""

    @property
    def url(self):
        time.sleep(3600)


def test_nothing_else_is_tried_after_a_check_in_which_nothing_went_on_for_minutes(monkeypatch):
    monkeypatch.setattr(endings, "SILENCE", 0.5)
    report = examine("test_hanging.WaitsBetweenOperations", time_limit=0.3)
    assert failed_rules(report.implementations[0]) == {"queue.pop.exactly-once"}
    (later,) = [verdict for verdict in report.implementations[0].verdicts if verdict.rule.id == "queue.len.count"]
    assert later.reason == "blocked by queue.pop.exactly-once, in which nothing went on for minutes"


HANGS_AT_FORK = """
import os, time
from queue_reference.memory import FifoMemoryQueue as Queue
os.register_at_fork(after_in_child=lambda: time.sleep(600))
"""


def test_a_module_that_lets_no_process_begin_is_told_in_one_line(tmp_path, monkeypatch):
    (tmp_path / "hangs_at_fork.py").write_text(HANGS_AT_FORK)
    monkeypatch.syspath_prepend(tmp_path)
    said = r"lets no process begin: os\.fork\(\) did not return within 1 s: look for os\.register_at_fork"
    with pytest.raises(LoadError, match=said):
        examine("hangs_at_fork.Queue", time_limit=1.0)
