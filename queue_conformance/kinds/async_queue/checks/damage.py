"""Checks of what SIGKILL, a write that it cut, and damaged or foreign files leave of asynchronous queues."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.cases import FaultMissed
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.crash import crash_sweep
from queue_conformance.engine.crash_claim import suggested_claim
from queue_conformance.engine.fixtures import (
    appended_below,
    contents_of_files,
    damage_record,
    harm_file,
    make_unreadable,
    shortened_file,
)
from queue_conformance.engine.killpoints import When
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import MOST_FILES, WAYS_OF_HARM
from queue_conformance.kinds.async_queue.fixtures import drained, outcomes_of_gets, put, urls_of
from queue_conformance.kinds.async_queue.script_support import urls_returned
from queue_conformance.script_support.support import names_below

# --- SIGKILL ---------------------------------------------------------------------------------------------------------


@crash_sweep(
    "aqueue.persist.torn", workloads=lambda context: ["open put:4 put:8 put:12"], ways={When.TORN}, points=lambda context: 12
)
@crash_sweep(
    "aqueue.persist.crash",
    "aqueue.persist.crash-size",
    workloads=lambda context: [
        "open put:4 put:8 put:12 put:16",
        "open put:4 put:8 put:12 get close open put:16 get kill put:20 get",
    ],
    ways={When.AFTER, When.LINE},
    points=lambda context: 64 if context.driver.simulated else 8,  # the stock loop has to wait in earnest
    note=suggested_claim,
)
def sigkill_costs_no_request_whose_put_returned(crash, open_async_queue, loop, prioritized, rule):
    """A file that a crash has cut costs at most the request in it, and only once.

    Requests whose `put` returned survive the death of the process.
    """

    @crash.child
    def died():
        for operation in crash:
            if operation.name == "open":
                queue = open_async_queue()
            elif operation.name == "put":
                request = prioritized(operation.number)
                loop.run(queue.put(request, priority=request.priority))
            else:
                loop.run(getattr(queue, operation.name)())

    with under_test():
        queue = open_async_queue()
        size = loop.run(queue.size())
        outcomes = outcomes_of_gets(loop, queue, 2 * len(died.put) + 4)
        received = urls_returned(outcomes)
        stored = urls_of(died.stored)
        lost = [url for url in stored if url not in received][died.spared :]
        assert lost == [], "no request lost whose put had returned"
        with under_test(rule if rule == "aqueue.persist.torn" else "aqueue.persist.crash-size"):
            assert size == len(outcomes), "a size that is the number of requests that come"
        if rule == "aqueue.persist.torn":
            errors = [one for how, one in outcomes if how != "returned"]
            assert len(errors) <= 1, "at most one error"
            loop.run(queue.close())
            queue = open_async_queue()
            assert loop.run(queue.size()) == 0, "an empty queue at the next start"


# --- Damaged files ---------------------------------------------------------------------------------------------------


ITEMS = (4, 8, 12)
"""Items of equal priority."""

BAD = "https://example.com/8"
"""The URL of the one that is damaged."""

MOST = 12
"""Gets after which a queue that never comes to an end is given up."""


@check("aqueue.get.bad-item", depends_on="put:0 reopen get")
def a_damaged_request_is_reported_once(open_async_queue, loop, directory):
    """A stored request that cannot be decoded raises one `RuntimeError`, hides no other request, and does not come again."""
    queue = open_async_queue(holding=ITEMS)
    loop.run(queue.close())
    if not make_unreadable(directory, BAD):
        raise NotCovered("no file holds the text of a request")
    with under_test():
        queue = open_async_queue()
        outcomes = outcomes_of_gets(loop, queue, MOST)
        received = urls_returned(outcomes)
        lost = [url for url in urls_of((4, 12)) if url not in received]
        assert lost == [], "the other requests"
        errors = [type(one).__name__ for how, one in outcomes if how != "returned"]
        assert errors == ["RuntimeError"]
        assert loop.run(queue.size()) == 0
        loop.run(queue.close())
        queue = open_async_queue()
        left = drained(loop, queue, MOST)
        assert left == [], "an empty queue after reopening again"


@check("aqueue.get.bad-item", name="get.bad-record", depends_on="put:0 reopen get")
def a_damaged_record_hides_no_other(open_async_queue, loop, directory):
    """A stored request that cannot be decoded raises one `RuntimeError`, hides no other request, and does not come again."""
    queue = open_async_queue(holding=[4])
    before = contents_of_files(directory)
    put(queue, 8)
    record = appended_below(directory, before)
    put(queue, 12)
    loop.run(queue.close())
    if not damage_record(directory, record):
        raise NotCovered("no file shows where a request is")
    with may_raise() as refused:  # who looks at everything when it opens says there what is wrong
        queue = open_async_queue()
        outcomes = outcomes_of_gets(loop, queue, MOST)
    if refused:
        return
    with under_test():
        received = urls_returned(outcomes)
        lost = [url for url in urls_of((4, 12)) if url not in received]
        assert lost == [], "the other requests"


NEW = 20
"""The number of the request that is put when a file was harmed."""


@check("aqueue.persist.harmed", number=range(MOST_FILES), way=WAYS_OF_HARM)
def one_file_that_is_not_as_it_was_makes_nothing_up(open_async_queue, loop, prioritized, directory, number, way):
    """A file that is empty, cut, gone or of an earlier run is refused, or `size` is still the number of requests that come or
    raise, none of them was never put or comes twice, and what is put afterwards comes.
    """
    queue = open_async_queue(holding=ITEMS)
    loop.run(queue.close())
    earlier = contents_of_files(directory)
    queue = open_async_queue()
    put(queue, 16)
    loop.run(queue.get())
    loop.run(queue.close())
    if not harm_file(directory, number, way, earlier):
        raise NotApplicable("it has no more files")
    with under_test():
        with may_raise() as refused:  # whoever gets an exception knows that something is wrong
            queue = open_async_queue()
            size = loop.run(queue.size())
        if refused:
            return
        outcomes = outcomes_of_gets(loop, queue, MOST)
        assert size == len(outcomes), f"a size that is the number of requests that come, though a file is {way}"
        received = urls_returned(outcomes)
        stored = urls_of((*ITEMS, 16))
        unknown = [url for url in received if url not in stored or received.count(url) > 1]
        assert unknown == [], f"nothing that was never put, and nothing twice, though a file is {way}"
        put(queue, NEW)
        loop.run(queue.close())
        queue = open_async_queue()
        outcomes = outcomes_of_gets(loop, queue, MOST)
        received = urls_returned(outcomes)
        new = urls_of([NEW])
        lost = [url for url in new if url not in received]
        assert lost == [], f"what is put afterwards, though a file was {way}"


def refused_starts(context: CheckContext) -> Iterator[tuple[dict[str, Any], int | None]]:
    """Yield what a queue may refuse: limits that are none, and one of its files that is too short."""
    if context.offers("bounded"):
        yield {"maxsize": -1}, None
        yield {"maxsize": "many"}, None
    for number in range(MOST_FILES):
        yield {}, number


@check("aqueue.persist.refused-keeps", depends_on="put:0 reopen get", start=[refused_starts])
def a_refused_construction_keeps_what_is_stored(open_async_queue, loop, directory, start):
    """A construction that is refused keeps what is stored: the next right one has every request."""
    options, file = start
    queue = open_async_queue(holding=ITEMS)
    loop.run(queue.close())
    with shortened_file(directory, file):
        with may_raise() as refused:
            queue = open_async_queue(**options)
        if not refused:
            raise FaultMissed("it refuses nothing")
    with under_test():
        queue = open_async_queue()
        outcomes = outcomes_of_gets(loop, queue, MOST)
        received = urls_returned(outcomes)
        lost = [url for url in urls_of(ITEMS) if url not in received]
        assert lost == [], "all 3 requests, as a start that is refused keeps what is stored"


FOREIGN = ("README.txt", ".hidden", "notes.req.bak", "x_y.req", "1_2_3.req", "core")


@check("aqueue.persist.foreign-files")
def files_of_others_are_left_alone(open_async_queue, loop, directory, prioritized):
    """Files of others in the directory of a queue are ignored, and kept."""
    queue = open_async_queue(holding=ITEMS)
    loop.run(queue.close())
    place = Path(directory, "0")
    if not place.is_dir():
        raise NotApplicable("the queue has no directory of its own")
    for name in FOREIGN:
        Path(directory, "0", name).write_text("foreign")
    with under_test():
        queue = open_async_queue()
        assert loop.run(queue.size()) == len(ITEMS)
        for _ in ITEMS:
            assert loop.run(queue.get()) in [prioritized(number) for number in ITEMS]
        loop.run(queue.clear())
        loop.run(queue.close())
        gone = [name for name in FOREIGN if name not in names_below(directory + "/0")]
        assert gone == [], "the files of others stay"
