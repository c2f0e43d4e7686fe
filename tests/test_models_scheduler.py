"""The model of a scheduler allows what the rules permit, and nothing else."""

import pytest
from scrapy import Request
from scrapy.http import JsonRequest

from queue_conformance.implementation.capabilities import Order
from queue_conformance.kinds.scheduler.comparison import altered
from queue_conformance.kinds.scheduler.model import Layout, Place, SchedulerModel

PLAIN, URGENT, START, ELSEWHERE, REFUSED = 0, 3, 8, 20, 15
"""Numbers of requests in the pool of the scheduler's driver."""


def scheduler_model(*, start_queues=True, **layout):
    orders = {Place.MEMORY: Order.LIFO, Place.DISK: Order.LIFO}
    starts = dict.fromkeys(Place, Order.FIFO) if start_queues else {}
    return SchedulerModel(Layout(orders, starts, **layout))


def filled(model, *numbers, place=Place.DISK):
    for number in numbers:
        model.enqueue(number, place)
    return model


def test_a_scheduler_gives_the_highest_priority_then_the_newest_then_start_requests():
    model = filled(scheduler_model(), START, PLAIN, PLAIN + 1, START + 1, URGENT)
    for expected in (URGENT, PLAIN + 1, PLAIN, START, START + 1):
        assert model.allowed() == [expected]
        model.remove(expected)
    assert model.allowed() == []


def test_start_requests_are_like_all_others_without_queues_of_their_own():
    assert filled(scheduler_model(start_queues=False), PLAIN, START).allowed() == [START]


def test_before_a_promise_was_made_either_may_be_first():
    assert filled(scheduler_model(start_last=False), PLAIN, START).allowed() == [PLAIN, START]


def test_memory_comes_before_the_disk_at_equal_priority_only():
    model = filled(scheduler_model(), PLAIN)
    filled(model, REFUSED, place=Place.MEMORY)
    assert model.allowed() == [REFUSED]
    filled(model, URGENT)
    assert model.allowed() == [REFUSED, URGENT]  # across priorities that is a recommendation


def test_a_start_request_in_memory_and_another_request_on_disk_may_both_come():
    model = filled(scheduler_model(), PLAIN)
    filled(model, START, place=Place.MEMORY)
    assert model.allowed() == [START, PLAIN]


def test_priorities_count_within_a_slot():
    assert set(filled(scheduler_model(slots=True), PLAIN, URGENT, ELSEWHERE).allowed()) == {URGENT, ELSEWHERE}


def test_slots_may_take_turns_at_equal_priority_only():
    model = filled(scheduler_model(turns=True), PLAIN, ELSEWHERE, ELSEWHERE + 1, PLAIN + 1)
    assert set(model.allowed()) == {PLAIN + 1, ELSEWHERE + 1}
    assert filled(model, URGENT).allowed() == [URGENT]


def test_what_failed_or_was_lost_may_be_seen_or_not():
    model = filled(scheduler_model(), REFUSED, place=Place.MEMORY)
    assert not model.accepts(REFUSED)
    model.fail(PLAIN)
    model.reopen()
    assert model.unsure == {REFUSED, PLAIN}
    assert len(model) == 0
    assert not model.stats


@pytest.mark.parametrize(
    ("names", "given", "expected", "actual"),
    [
        (["body"], {"body": b"x"}, "popped.body == b''", "b'x'"),
        (["meta"], {"meta": {"a": 1, "b": [1]}}, "popped.meta.get('b') == (1,)", "[1]"),
        (["meta", "flags"], {"meta": {"a": 1}}, "popped.meta.get('b') == (1,)", "None; flags altered, too"),
        (["cb_kwargs"], {"cb_kwargs": {"more": 1}}, "popped.cb_kwargs == {}", "{'more': 1}"),
    ],
)
def test_a_field_that_was_altered_is_told_by_what_it_was_and_is(names, given, expected, actual):
    pushed = Request("https://example.com/1", meta={"a": 1, "b": (1,)})
    assert altered(names, pushed, Request("https://example.com/1", **given)) == (expected, actual)


def test_a_class_that_was_altered_is_told_by_its_name():
    pushed, popped = JsonRequest("https://example.com/1"), Request("https://example.com/1")
    assert altered(["class"], pushed, popped) == ("type(popped).__name__ == 'JsonRequest'", "'Request'")
