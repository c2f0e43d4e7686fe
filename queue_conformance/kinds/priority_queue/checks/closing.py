"""Checks of close."""

from queue_conformance.engine.check import check


@check("pq.close.closes-all", keeps=(False, True))
def close_closes_every_queue(use_queues, open_queue, item, keeps):
    store = use_queues(keeps=keeps)
    queue = open_queue()
    for number in range(12):
        queue.push(item(number))
    for _ in range(3):
        queue.pop()
    queue.close()
    times_closed = [found.closed for found in store.built]
    assert {*times_closed} <= {1}, "every downstream queue closed once"


@check(
    "pq.close.state",
    sequence=("push:0 reopen pop", "push:0 push:1 push:5 push:9 reopen pop push:4 reopen pop pop pop pop"),
)
def the_state_survives_json(run, sequence):
    run(sequence)


@check(
    "pq.close.state-nonempty",
    sequence=(
        "push:0 push:2 reopen pop reopen push:4 pop reopen",
        "push:0 push:5 push:9 push:1 pop pop reopen pop reopen",
        "push:3 push:0 reopen pop reopen pop",
    ),
)
def the_state_names_what_is_left(run, sequence):
    run(sequence)


@check(
    "pq.close.empty-falsy",
    sequence=("reopen pop", "push:0 push:1 push:5 pop pop pop reopen", "push:2 reopen pop reopen"),
)
def the_state_of_nothing_is_false(run, sequence):
    run(sequence)


@check("pq.close.twice", numbers=((0, 4, 2), (0, 5, 9, 4)))
def a_second_close_loses_nothing(resumable, open_queue, item, tolerated, through_json, pop_urls, about, rule, numbers):
    queue = open_queue()
    for number in numbers:
        queue.push(item(number))
    left = queue.close()
    with tolerated():
        left = queue.close()
    assert left, "state that is not empty, as requests are left"
    state = through_json(left)
    with about(rule):
        queue = open_queue(state=state)
        assert sorted(pop_urls(queue, len(numbers))) == sorted(item(number).url for number in numbers)
