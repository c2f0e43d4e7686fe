"""Checks of queuelib's round-robin queue."""

from queue_conformance.engine.check import check
from queue_conformance.kinds.byte_collections.checks.common import BY_TURNS


@check(
    "queuelib.rr.cycle",
    kinds=BY_TURNS,
    presupposes="push:0 push:3 push:1 push:4 push:2 pop pop push:5 pop push:0 pop pop pop pop",
)
def keys_take_turns(queue):
    for item, key in ((b"a", "1"), (b"b", "1"), (b"c", "2"), (b"d", "2")):
        queue.push(item, key)
    for expected in (b"a", b"c", b"b", b"d"):  # the example of the README
        assert queue.pop() == expected


@check("queuelib.rr.falsy", kinds=BY_TURNS)
def falsy_items_are_not_skipped(queue):
    for item, key in ((b"", "a"), (b"1", "a"), (b"", "b")):
        queue.push(item, key)
    popped = [queue.pop(), queue.pop(), queue.pop()]
    assert sorted(popped, key=repr) == [b"", b"", b"1"]


@check("queuelib.rr.peek", kinds=BY_TURNS)
def peek_shows_what_pop_returns(run):
    run("push:0 peek pop push:0 push:1 push:3 peek pop peek pop push:2 peek pop peek pop")


@check("queuelib.rr.peek-empty", kinds=BY_TURNS)
def peek_skips_a_key_of_a_refused_push(queue, item, raises, about, rule):
    with about("queue.push.failed-no-trace"), raises(TypeError):
        queue.push("text", "a")
    with about(rule):
        queue.push(item(1), "b")
        assert queue.peek() == item(1)
        assert queue.pop() == item(1)


@check("queuelib.rr.peek-empty", kinds=BY_TURNS, name="rr.peek.start")
def peek_skips_a_key_that_has_nothing(open_queue, item, about, rule):
    with about(rule):
        queue = open_queue()
        queue.push(item(1), "b")
        queue.close()
        queue = open_queue(start=["b", "a"])
        assert queue.peek() == item(1)
        assert queue.pop() == item(1)


@check("queuelib.rr.close", kinds=BY_TURNS)
def close_names_what_is_left(run):
    run("push:0 push:1 push:2 pop reopen push:3 reopen pop reopen pop pop reopen")
    run("push:0 push_refused:1 push_refused:2 reopen pop push_refused:0 reopen")


@check("queuelib.clear", kinds=BY_TURNS)
def clear_removes_everything(run):
    run("push:0 push:1 push:2 clear length pop push:3 push:1 pop clear push:0 reopen pop clear pop")
