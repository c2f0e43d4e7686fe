"""Checks of what a persistent asynchronous queue keeps: after a close, and in another process."""

from queue_conformance.engine.another_process import expect_kept_for_another_process
from queue_conformance.engine.check import check
from queue_conformance.kinds.async_queue.script_support import drained

STORED = (4, 8, 12)
"""Items of equal priority, in the order in which they are put."""

MANY = 20


@check("aqueue.close.keeps")
def close_keeps_the_requests(open_async_queue, put, loop):
    queue = open_async_queue()
    for number in range(MANY):
        put(queue, number)
    loop.run(queue.close())
    queue = open_async_queue()
    assert loop.run(queue.size()) == MANY


@check(
    "aqueue.persist.reopen",
    sequence=(
        "put:0 put:0 put:0 reopen size reopen put:0 reopen get get get get",
        "put:0 put:0 get reopen put:0 get reopen get reopen size put:0",
        "put:0 put:1 put:2 put:3 reopen get get reopen put:1 get get get",
    ),
)
def requests_survive_reopening(run, sequence):
    run(sequence)


@check("aqueue.persist.reopen", name="reopen.new-process")
def requests_survive_in_another_process(context, open_async_queue, put, loop, urls_of, rule):
    queue = open_async_queue()
    for number in STORED:
        put(queue, number)
    loop.run(queue.close())
    expect_kept_for_another_process(
        context,
        rule,
        lambda loop, queue: sorted(request.url for request in drained(loop, queue, len(STORED) + 1)),
        sorted(urls_of(STORED)),
        "the 3 requests in another process",
    )
