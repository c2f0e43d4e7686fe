"""The model of priority queues allows what the rules allow, and nothing else."""

import pytest

from queue_conformance.kinds.priority_queue.model import Place, PriorityQueueModel

A, B = Place(0, False, "a"), Place(0, False, "b")


def model(*, lifo=False, slots=False, priority_first=False, turns=False, start_last=True, **pushes):
    made = PriorityQueueModel(lifo=lifo, slots=slots, priority_first=priority_first, turns=turns, start_last=start_last)
    for number, place in enumerate(pushes.get("places", ())):
        made.push(number, place)
    return made


def test_nothing_is_allowed_when_nothing_is_stored():
    assert model().allowed() == []
    assert len(model()) == 0


def test_the_highest_priority_comes_first():
    assert model(places=[A, Place(1, False, "a"), Place(-1, False, "a")]).allowed() == [1]


@pytest.mark.parametrize(("lifo", "first"), [(False, 0), (True, 2)])
def test_the_order_within_a_bucket_is_that_of_its_queue(lifo, first):
    assert model(lifo=lifo, places=[A, A, A]).allowed() == [first]


def test_start_requests_are_fifo_and_come_last_at_equal_priority():
    found = model(lifo=True, places=[A._replace(start=True), A._replace(start=True), A])
    assert found.allowed() == [2]
    found.remove(2)
    assert found.allowed() == [0]


def test_where_nothing_is_promised_start_requests_may_come_first():
    assert set(model(start_last=False, places=[A._replace(start=True), A]).allowed()) == {0, 1}


def test_a_start_request_of_higher_priority_comes_first():
    assert model(places=[A, Place(1, True, "a")]).allowed() == [1]


def test_any_of_the_least_active_slots_may_come_next():
    found = model(slots=True, places=[A, B, Place(9, False, "c")])
    found.active["c"] = 1
    assert set(found.allowed()) == {0, 1}


def test_in_turns_the_first_of_any_slot_may_come_next():
    found = model(turns=True, places=[A, A._replace(priority=1), B, Place(9, False, "c")])
    found.active["c"] = 1
    assert set(found.allowed()) == {1, 2, 3}


def test_without_slots_activity_does_not_matter():
    found = model(places=[A, Place(9, False, "c")])
    found.active["c"] = 1
    assert found.allowed() == [1]


def test_the_heads_are_the_next_ones_of_all_buckets():
    assert set(model(places=[A, A, B, Place(1, True, "a")]).heads()) == {0, 2, 3}


def test_what_is_taken_out_is_gone():
    found = model(places=[A])
    found.remove(0)
    assert found.places == set()
    with pytest.raises(LookupError):
        found.remove(0)


def test_where_priority_comes_first_slots_decide_only_among_equals():
    found = model(slots=True, priority_first=True, places=[A, B, Place(9, False, "c"), Place(9, False, "d")])
    found.active["c"] = 2
    found.active["d"] = 1
    assert found.allowed() == [3]
    found.remove(3)
    assert found.allowed() == [2]


def test_where_priority_comes_first_start_requests_come_last_in_their_slot_or_in_all():
    found = model(slots=True, priority_first=True, places=[A, B._replace(start=True), B._replace(priority=-1)])
    found.active["a"] = 1
    assert set(found.allowed()) == {0, 1}
