"""Checks of priorities: which ones work, when they count, and how many."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from queue_conformance.engine.bench import Bench, call_of
from queue_conformance.engine.driver import Item
from queue_conformance.engine.outcomes import NotExercised, RuleBroken
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.registry import check
from queue_conformance.faults.disk import AVAILABLE
from queue_conformance.kinds.priority_queue.common import KINDS, expect_all, saved
from queue_conformance.kinds.priority_queue.model import Place

with suppress(ImportError):  # Windows
    import resource

INTEGERS = (0, 1, -1, 9, 10, 100, -10, 2**31, -(2**31), 2**63, -(2**63), 2**64 + 1, -(2**64) - 1)
"""Priorities that fit and do not fit into machine words, and whose order as text is another one."""

OUTSIDE = ("10**300", "-10**300", "1.5", "nan", "inf", "'high'")
"""Priorities outside the contract, as Python expressions."""

MANY = 1500
"""Buckets that are filled at once."""

DESCRIPTORS = 1024
"""Files that the process may open meanwhile: the usual limit, and less than there are buckets."""


@check("pq.priority.ints", kinds=KINDS)
def integers_of_all_sizes_work(bench: Bench) -> None:
    rule = "pq.priority.ints"
    driver = bench.driver
    for disk in (False, True):
        with bench.collecting(), bench.recorder.blame(rule):
            bench.restart()
            if disk:
                driver.furnish_disk()
            else:
                driver.furnish(keeps=False)
            queue = bench.open()
            items = [driver.request(number, Place(priority, False, "a.example")) for number, priority in enumerate(INTEGERS)]
            for item in items:
                queue.push(item)
            if disk and bench.offers("persistent"):
                state = saved(bench, queue)
                queue = bench.open(state=state)
            expected = sorted(items, key=lambda item: -item.value.priority)
            expect_all(bench, rule, queue, expected, in_order=True)
    examined = bench.examined.copy()
    note_priorities_outside(bench)
    bench.examined = examined


def note_priorities_outside(bench: Bench) -> None:
    """Note what becomes of priorities outside the contract; no verdict depends on it."""
    rule = "pq.priority.ints"
    fates = []
    for priority in OUTSIDE:
        bench.restart()
        try:
            refused = _push_priority(bench, rule, priority)
        except OperationRaised as raised:
            fates.append(f"{priority} is accepted, and {call_of(raised.step)} raises {describe(raised.error, 60)}")
        except RuleBroken as failure:
            fates.append(f"{priority} is accepted, and {failure.actual}")
        else:
            fates.append(f"{priority} is {'refused' if refused else 'accepted, and works'}")
    bench.notes.append(f"priorities outside the contract: {'; '.join(fates)}")


def _push_priority(bench: Bench, rule: str, priority: str) -> bool:
    """Push requests of one odd priority, resume if possible, and take out those that were accepted.

    Returns:
        Whether all of them were refused.
    """
    driver = bench.driver
    driver.furnish_disk()
    queue = bench.open()
    accepted = [driver.item(0)]
    queue.push(accepted[0])
    for number in (1, 2):
        odd = driver.evaluate(f'with_attribute(Request("https://a.example/{number}"), "priority", {priority})')
        try:
            queue.push(odd)
        except OperationRaised as raised:
            if not isinstance(raised.error, Exception):
                raise
        else:
            accepted.append(odd)
    if bench.offers("persistent"):
        state = saved(bench, queue)
        queue = bench.open(state=state)
    expect_all(bench, rule, queue, accepted)
    return len(accepted) == 1


@check("pq.priority.at-push", kinds=KINDS)
def the_priority_at_the_push_counts(bench: Bench) -> None:
    rule = "pq.priority.at-push"
    driver, note = bench.driver, bench.recorder.note
    queue = bench.open()
    items = []
    for number, (name, priority) in enumerate((("first", 1), ("second", 0), ("third", -1))):
        item = driver.request(number, Place(priority, False, "a.example"))
        note(f"{name} = {item.source}")
        items.append(replace(item, source=name))
        queue.push(items[-1])
    for item, priority in zip(items, (-5, 0, 5), strict=True):
        item.value.priority = priority
        note(f"{item.source}.priority = {priority}")
    expect_all(bench, rule, queue, items, in_order=True)


@check("pq.scale.buckets", kinds=KINDS)
def many_buckets_need_few_descriptors(bench: Bench) -> None:
    rule = "pq.scale.buckets"
    if not AVAILABLE:
        raise NotExercised("this platform cannot limit how many files are open")
    driver, recorder = bench.driver, bench.recorder
    driver.furnish_disk()
    with _few_descriptors(bench), recorder.blame(rule):
        queue = bench.open()
        begun = len(recorder.steps)
        slots = bench.offers("slots")
        arguments = '"https://{number}.example/1"' if slots else '"https://a.example/{number}", priority=number'
        try:
            for number in (0, *range(MANY)):
                queue.push(driver.request(1, Place(0, False, f"{number}.example")) if slots else _request(bench, number))
        finally:
            recorder.steps[begun:] = [recorder.steps[-1]]
            recorder.steps[-1].source = f"[queue.push(Request(f{arguments})) for number in (0, *range({MANY}))]"
        length = queue.length(owner=rule)
        bench.expect(rule, length == MANY + 1, f"len {MANY + 1}", length, f"length == {MANY + 1}")
        state = saved(bench, queue)
        if bench.offers("persistent"):
            queue = bench.open(state=state)
            length = queue.length(owner=rule)
            bench.expect(rule, length == MANY + 1, f"len {MANY + 1}", length, f"length == {MANY + 1}")
            popped = queue.pop()
            bench.expect(rule, popped is not None, "a request", popped, "popped is not None")
            queue.close()


def _request(bench: Bench, number: int) -> Item:
    item: Item = bench.driver.request(number, Place(number, False, "a.example"))
    return item


@contextmanager
def _few_descriptors(bench: Bench) -> Iterator[None]:
    """Let this process open no more files than usual."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = DESCRIPTORS if hard == resource.RLIM_INFINITY else min(DESCRIPTORS, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (few, hard))
    bench.recorder.note(f"resource.setrlimit(resource.RLIMIT_NOFILE, ({few}, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))")
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
