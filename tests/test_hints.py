"""A hint leads to the mistake: it is chosen by what was seen."""

import asyncio
import json
from dataclasses import replace

import pytest
from kit import context, hints_named

from mutants import all_mutants
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.outcomes import RuleFailed, Violation
from queue_conformance.engine.verdicts import combined, hints_for
from queue_conformance.engine.violations import violation_of
from queue_conformance.reports.failure import brief
from queue_conformance.specification import fitting, load
from queue_reference.async_queues import MemoryQueue
from queue_reference.disk import FifoDiskQueue
from queue_reference.memory import FifoMemoryQueue


class ReadsAhead(FifoDiskQueue):
    """It takes three at a time, and puts what is left of them behind the others when it is closed."""

    ahead = ()

    def pop(self):
        if not self.ahead:
            self.ahead = [found for found in (super(ReadsAhead, self).pop() for _ in range(3)) if found is not None]
        return self.ahead.pop(0) if self.ahead else None

    def peek(self):
        return self.ahead[0] if self.ahead else super().peek()

    def __len__(self):
        return super().__len__() + len(self.ahead)

    def close(self):
        for request in self.ahead:
            self.push(request)
        self.ahead = ()
        super().close()


class ForgetsWhatItReadAhead(ReadsAhead):
    """It takes three at a time, and forgets what is left of them when it is closed."""

    def close(self):
        self.ahead = ()
        super().close()


class RefusesBytes(FifoMemoryQueue):
    """It writes JSON."""

    def push(self, request):
        json.dumps(request.to_dict())
        super().push(request)


class CountsARow(FifoMemoryQueue):
    """Its length is the row that its database answers."""

    def __len__(self):
        return (super().__len__(),)


class KeepsItsLock(MemoryQueue):
    """A get that is cancelled never lets go of the lock."""

    def __init__(self, maxsize=0):
        super().__init__(maxsize)
        self.lock = asyncio.Lock()

    async def get(self):
        await self.lock.acquire()
        await asyncio.sleep(0)
        found = await super().get()
        self.lock.release()
        return found


RULES = load()
LOCK = "test_hints.KeepsItsLock"
CASES = {
    ("test_hints.RefusesBytes", "push:1"): ("queue.push.accept", "Store `request.to_dict"),
    ("mutants.memory.AcceptsFour", "push:0 push:0 push:0 push:0 push:0"): ("queue.push.accept", "Look at what is special"),
    ("test_hints.CountsARow", "length"): ("queue.len.count", "Let `__len__` return a number"),
    ("mutants.memory.CountsToThree", "push:0 push:0 push:0 push:0 length"): ("queue.len.count", "Count after the operation"),
    ("test_hints.ReadsAhead", "push:0 push:0 pop push:1 reopen pop pop"): ("queue.pop.order-reopen", "What a pop has read ahead"),
    ("mutants.disk.ReversesWhenReopened", "push:0 push:1 reopen pop"): ("queue.pop.order-reopen", "Store the order"),
    ("test_hints.ForgetsWhatItReadAhead", "push:0 push:0 pop reopen pop"): ("queue.persist.partial", "What a pop reads ahead"),
    ("mutants.disk.PopsInMemoryOnly", "push:0 pop push:0 reopen length pop pop"): ("queue.persist.partial", "A pop must reach"),
    (LOCK, "put:0 start_get tick cancel_get:0 get"): (
        "aqueue.get.cancel-safe",
        "A get that is cancelled releases",
    ),
    (LOCK, "start_get settle close start_get settle"): (
        "aqueue.get.closed-drains",
        "A get of a closed queue",
    ),
}


@pytest.mark.parametrize(("path", "sequence"), CASES)
def test_a_sequence_that_fails_has_the_hint_for_its_mistake(path, sequence):
    rule, hint = CASES[path, sequence]
    with context(path) as found, pytest.raises(RuleFailed) as caught:
        run(found, sequence)
    assert caught.value.rule == rule
    hints = hints_for(found.specification[rule], violation_of(found, caught.value))
    assert hints[0].startswith(hint)


BY_ITS_TEXT = ("e2e.all-once", "The log of the crawl")
"""The hint for a log that tells of an error, which is not always why a page was lost: no mutant is about that."""


def test_each_hint_with_a_condition_is_shown_for_a_mistake():
    """Another test shows it: that of the mutants, the one above, or the next one."""
    shown = {*CASES.values(), BY_ITS_TEXT}.union(*map(hints_named, all_mutants()))
    conditioned = [(rule.id, hint) for rule in RULES.values() for hint in rule.hints if hint.when]
    assert [(rule, hint) for rule, hint in conditioned if not any(rule == its and hint.startswith(w) for its, w in shown)] == []


CRAWLED = (
    "every page downloaded\npage 8 from site.missing()\nmissing: not empty\nsite.crawl()  # 14 pages reached, 1 lost, finished"
)


@pytest.mark.parametrize(
    ("told", "hint"),
    [
        (" after ValueError: Can't...\n#   page 8: by body, lost", "The log of the crawl"),
        ("\n#   page 7: by body\n#   page 8: by query, lost", "Pages that are lost by their query"),
        ("\n#   page 7: by body\n#   page 8: seconds 0.05, lost", "Run the script"),
        ("\n#   page 7: by body, lost\n#   page 8: seconds 0.05, lost", "Run the script"),
    ],
)
def test_a_page_is_taken_for_a_duplicate_only_where_nothing_else_is_to_blame(told, hint):
    assert fitting(RULES["e2e.all-once"].hints, CRAWLED + told)[0].startswith(hint)


ENQUEUED = "accepted = scheduler.enqueue_request(Request('https://example.com/{}', dont_filter=True))  # True\n"


@pytest.mark.parametrize(
    ("told", "hint"),
    [
        (ENQUEUED.format(1), "Follow a lost request"),
        (ENQUEUED.format(1) + ENQUEUED.format(2), "Follow a lost request"),
        (ENQUEUED.format(1) * 2, "Count copies"),
        ("accepted = scheduler.enqueue_request(popped.replace(dont_filter=True))", "Count copies"),
        ("each request after a pause\nNone from received.get(numbered(one))", "What comes in the same run"),
    ],
)
def test_copies_are_spoken_of_where_there_are_some(told, hint):
    assert fitting(RULES["scheduler.enqueue.true"].hints, told)[0].startswith(hint)


def test_a_hint_is_about_the_way_to_fail_that_is_shown():
    rule = RULES["scheduler.enqueue.true"]
    plain = Violation(rule.id, "40 requests", "32", ("left = drain(scheduler)",), "")
    both = combined([plain, replace(plain, operations=("a", "b", ENQUEUED.format(1) * 2), cause="another")])
    assert "hint      Follow a lost request" in brief(rule, both)
    assert "hint      Count copies" in brief(rule, replace(both.others[0], others=()))


@pytest.mark.parametrize(
    ("told", "hint"),
    [("TypeError('no') raised by queue.push(...)", "Wrap the serializer"), ("nothing raised by queue.push(...)", "The released")],
)
def test_a_serializer_that_raises_nothing_is_not_to_be_wrapped(told, hint):
    (found,) = fitting(RULES["queue.push.serialization-error"].hints, f"ValueError\n{told}")
    assert found.startswith(hint)


@pytest.mark.parametrize(("told", "hint"), [("a true result\nFalse", "A crawl that"), ("a request\nNone", "Store in close")])
def test_what_is_refused_after_a_pause_is_not_taken_for_lost(told, hint):
    (found,) = fitting(RULES["scheduler.resume.all"].hints, told)
    assert found.startswith(hint)
