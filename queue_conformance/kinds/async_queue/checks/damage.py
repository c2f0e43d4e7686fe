"""Checks of asynchronous queues whose files are damaged, or not theirs."""

from pathlib import Path

from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.script_support.support import names_below

ITEMS = (4, 8, 12)
"""Items of equal priority."""

BAD = "https://example.com/8"
"""The URL of the one that is damaged."""

MOST = 12
"""Gets after which a queue that never comes to an end is given up."""


@check("aqueue.get.bad-item")
def a_damaged_request_is_reported_once(open_async_queue, put, loop, make_unreadable, drained, directory, urls_of, about, rule):
    queue = open_async_queue()
    for number in ITEMS:
        put(queue, number)
    loop.run(queue.close())
    if not make_unreadable(directory, BAD):
        raise NotCovered("no file holds the text of a request")
    with about(rule):
        queue = open_async_queue()
        left = drained(loop, queue, MOST)
        lost = [url for url in urls_of((4, 12)) if url not in [getattr(one, "url", None) for one in left]]
        assert lost == [], "the other requests"
        errors = [type(one).__name__ for one in left if not hasattr(one, "url")]
        assert errors == ["RuntimeError"]
        loop.run(queue.close())
        queue = open_async_queue()
        left = drained(loop, queue, MOST)
        assert left == [], "an empty queue after reopening again"


FOREIGN = ("README.txt", ".hidden", "notes.req.bak", "x_y.req", "1_2_3.req", "core")


@check("aqueue.persist.foreign-files")
def files_of_others_are_left_alone(open_async_queue, put, loop, directory, prioritized, about, rule):
    queue = open_async_queue()
    for number in ITEMS:
        put(queue, number)
    loop.run(queue.close())
    place = Path(directory, "0")
    if not place.is_dir():
        raise NotApplicable("the queue has no directory of its own")
    for name in FOREIGN:
        Path(directory, "0", name).write_text("foreign")
    with about(rule):
        queue = open_async_queue()
        assert loop.run(queue.size()) == len(ITEMS)
        for _ in ITEMS:
            assert loop.run(queue.get()) in [prioritized(number) for number in ITEMS]
        loop.run(queue.clear())
        loop.run(queue.close())
        gone = [name for name in FOREIGN if name not in names_below(directory + "/0")]
        assert gone == [], "the files of others stay"
