"""The model of an asynchronous scheduler allows what the rules permit, and nothing else."""

from queue_conformance.kinds.async_scheduler.model import AsyncSchedulerModel

PRIORITIES = (0, 0, 10, -5)


def filled(*items, **how):
    model = AsyncSchedulerModel(PRIORITIES)
    for item in items:
        assert model.add(item, **how)
    return model


def test_one_of_those_of_the_highest_priority_comes_next():
    model = filled(0, 1, 2, 3)
    for expected in ({2}, {0, 1}, {1}, {3}, set()):
        assert model.next() == expected
        if expected:
            model.deliver(min(expected))


def test_what_was_seen_is_not_accepted_again():
    model = filled(0)
    assert not model.add(0)
    assert (model.queued, model.seen) == (1, {0})
    model.deliver(0)
    assert not model.add(0)
    assert not model.can_deliver(0)


def test_a_retry_is_accepted_although_it_was_seen():
    model = filled(0)
    model.deliver(0)
    assert model.add(0, retry=True)
    assert model.can_deliver(0)
    assert (model.queued, model.processing) == (1, 1)


def test_only_what_is_queued_can_be_delivered():
    model = filled(0)
    assert model.can_deliver(0)
    assert not model.can_deliver(1)
    assert not model.can_deliver(None)
    model.deliver(0)
    assert not model.can_deliver(0)


def test_join_ends_when_nothing_is_queued_or_being_processed():
    model = AsyncSchedulerModel(PRIORITIES)
    assert model.idle
    assert model.add(0)
    assert not model.idle
    model.deliver(0)
    assert not model.idle
    model.processing -= 1
    assert model.idle


def test_after_the_close_join_waits_for_what_is_being_processed_alone():
    model = filled(0, 1)
    model.deliver(0)
    model.closed = True
    assert not model.idle
    model.processing -= 1
    assert model.idle
    assert model.queued == 1


def test_what_is_added_after_the_close_is_ignored_and_known_to_be():
    model = filled(0)
    model.closed = True
    assert not model.add(0)
    assert not model.add(1)
    assert (model.ignored, model.seen, model.most) == ({1}, {0}, 1)


def test_what_is_added_during_the_close_may_be_queued():
    model = filled(0)
    assert not model.add(1, closing=True)
    assert (model.queued, model.most) == (1, 2)
    assert model.next() == {0}
    assert model.can_deliver(1)
    model.deliver(1)
    assert (model.queued, model.most) == (1, 1)


def test_a_duplicate_that_is_added_during_the_close_changes_nothing():
    model = filled(0)
    assert not model.add(0, closing=True)
    assert model.most == 1


def test_what_was_accepted_may_turn_out_to_have_come_too_late():
    model = filled(0)
    model.make_uncertain(0)
    assert (model.queued, model.most) == (0, 1)
    assert model.next() == set()
    assert model.can_deliver(0)


def test_join_may_end_although_something_may_be_queued():
    model = filled(0)
    model.make_uncertain(0)
    assert model.idle
