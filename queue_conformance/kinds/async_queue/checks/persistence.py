"""Checks of what a persistent asynchronous queue keeps after a close and in another process, and of where."""

from queue_conformance.engine.another_process import expect_kept_for_another_process
from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import few_and_many
from queue_conformance.kinds.async_queue.fixtures import put, put_all, put_and_get, requests_of, urls_of
from queue_conformance.kinds.async_queue.script_support import drained
from queue_conformance.script_support.support import bytes_below

STORED = (4, 8, 12)
"""Items of equal priority, in the order in which they are put."""


@check("aqueue.close.keeps", numbers=[few_and_many])
def close_keeps_the_requests(context, open_async_queue, loop, numbers):
    """`close` of a persistent queue keeps its requests."""
    queue = open_async_queue(**context.driver.unlimited)
    put_all(loop, queue, requests_of(numbers))
    loop.run(queue.close())
    queue = open_async_queue(**context.driver.unlimited)
    assert loop.run(queue.size()) == len(numbers)


@check("aqueue.persist.reopen", name="reopen.new-process")
def requests_survive_in_another_process(context, open_async_queue, loop, rule):
    """Requests of a persistent queue survive `close` and reopening, in a new process as well, in their order."""
    queue = open_async_queue(holding=STORED)
    loop.run(queue.close())
    expect_kept_for_another_process(
        context,
        rule,
        lambda loop, queue: sorted(request.url for request in drained(loop, queue, len(STORED) + 1)),
        sorted(urls_of(STORED)),
        "the 3 requests in another process",
    )


@check("aqueue.persist.isolated")
def default_places_are_not_shared(context, default_place, child, open_async_queue, loop):
    """Two spiders that leave the place of storage at its default do not share a queue."""
    if context.driver.place is None or context.driver.requires(context.driver.place):
        raise NotApplicable("the place of storage has no default")

    @child
    def other():
        queue = open_async_queue(placed=False)
        put(queue, 4)

    queue = open_async_queue(placed=False)
    assert loop.run(queue.size()) == 0, "size 0 in another process"


@check("aqueue.persist.deep")
def a_queue_makes_the_directories_of_its_path(context, open_async_queue, loop, prioritized):
    """A queue that keeps files in the directory of its path makes that directory, and those above it."""
    queue = open_async_queue(holding=[4])
    loop.run(queue.close())
    if not (context.driver.directory / "0").is_dir():
        raise NotApplicable("its path is that of no directory")
    with under_test():
        queue = open_async_queue("new/below")
        put(queue, 8)
        assert loop.run(queue.get()) == prioritized(8)


MIB = 1 << 20
FEW, MANY = 8, 48
"""Requests of a MiB that pass: where the first few leave little behind, the many do too."""


@check("aqueue.persist.room")
def what_is_gone_takes_no_room(open_async_queue, loop, request_of_size, directory):
    """What was got gives its room on the disk back while the queue is in use, though it is never empty."""
    queue = open_async_queue()
    large = request_of_size(MIB)
    with may_raise() as refused:
        loop.run(queue.put(large))
    if refused:
        raise NotCovered("it refuses a request of a MiB")
    with under_test():
        put_and_get(loop, queue, large, FEW)
        size = bytes_below(directory)
        if size > FEW * MIB:  # nothing has been given back yet
            put_and_get(loop, queue, large, MANY - FEW)
            size = bytes_below(directory)
        assert size < MANY // 2 * MIB, f"less than {MANY // 2} MiB on disk: {MANY} MiB passed, and one is left"
    loop.run(queue.close())
