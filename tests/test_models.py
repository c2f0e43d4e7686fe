"""The models allow what the rules permit, and nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queue_conformance.implementation.capabilities import Order
from queue_conformance.kinds.byte_collections.model import PriorityQueueModel, RoundRobinModel
from queue_conformance.kinds.queue.model import QueueModel


@pytest.mark.parametrize(("order", "first"), [(Order.FIFO, [1]), (Order.LIFO, [3]), (Order.NONE, [1, 2, 3])])
def test_the_order_decides_what_may_come(order, first):
    model = QueueModel(order)
    for number in (1, 2, 3):
        model.push(number)
    assert model.allowed() == first


def test_an_empty_queue_allows_nothing():
    assert QueueModel(Order.FIFO).allowed() == []


def test_of_equal_items_the_newest_leaves_a_lifo_queue():
    model = QueueModel(Order.LIFO)
    for number in (1, 2, 1):
        model.push(number)
    model.remove(1)
    assert model.items == [1, 2]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-3, 3))))
def test_the_lowest_priority_comes_first_and_then_the_oldest(pushes):
    model = PriorityQueueModel()
    for number, (item, priority) in enumerate(pushes):
        model.push(number * 10 + item, priority)
    expected = [number * 10 + item for number, (item, priority) in enumerate(pushes)]
    expected.sort(key=lambda value: pushes[value // 10][1])
    popped = []
    while model.items:
        (number,) = model.allowed()
        model.remove(number)
        popped.append(number)
    assert popped == expected


def test_keys_take_turns():
    model = RoundRobinModel()
    for number, key in ((1, "a"), (2, "a"), (3, "b"), (4, "b")):
        model.push(number, key)
    assert model.allowed() == [1, 3]
    model.remove(1)
    assert model.allowed() == [3]
    model.remove(3)
    assert model.allowed() == [2]


def test_a_key_that_begins_to_wait_later_does_not_stop_the_turn():
    model = RoundRobinModel()
    model.push(1, "a")
    model.push(2, "a")
    model.remove(1)
    model.push(3, "b")
    assert model.allowed() == [2, 3]


def test_after_a_reopening_any_key_may_begin():
    model = RoundRobinModel()
    for number, key in ((1, "a"), (2, "a"), (3, "b")):
        model.push(number, key)
    model.remove(1)
    model.reopen()
    assert model.allowed() == [2, 3]


def test_what_is_active_holds_items():
    model = PriorityQueueModel()
    model.push(1, 5)
    model.push(2, 6)
    model.remove(1)
    assert model.active() == {6}
    assert len(model) == 1
    model.clear()
    assert model.active() == set()


def test_an_item_that_is_not_first_cannot_be_removed():
    model = PriorityQueueModel()
    model.push(1, 5)
    with pytest.raises(LookupError):
        model.remove(2)
