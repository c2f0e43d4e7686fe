"""Checks of what a persistent asynchronous queue keeps after a close and in another process, and of where."""

from __future__ import annotations

import os
from collections.abc import Iterator

from queue_conformance.engine.another_process import expect_kept_for_another_process
from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import chdir, offers, years_ago
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import DIRECTORIES, few_and_many
from queue_conformance.kinds.async_queue.fixtures import (
    outcomes_of_gets,
    put,
    put_all,
    put_and_get,
    reopened_at_each_count,
    requests_near,
    requests_of,
    urls_of,
)
from queue_conformance.kinds.async_queue.script_support import drained, urls_in, urls_returned
from queue_conformance.script_support.support import bytes_below, names_below

STORED = (4, 8, 12)
"""Items of equal priority, in the order in which they are put."""

TTL = "it forgets requests after a time if told so, which aqueue.redis.ttl is about"
"""Why a queue may forget what it stored."""


@check("aqueue.close.keeps", "aqueue.persist.reopen", depends_on="put:0 reopen get", numbers=[few_and_many])
def close_keeps_the_requests(context, open_async_queue, loop, numbers):
    """`close` of a persistent queue keeps its requests."""
    queue = open_async_queue(**context.driver.unlimited)
    put_all(loop, queue, requests_of(numbers))
    loop.run(queue.close())
    queue = open_async_queue(**context.driver.unlimited)
    assert loop.run(queue.size()) == len(numbers)
    outcomes_of_gets(loop, queue, len(numbers))
    if loop.run(queue.size()):
        return  # not everything could be taken out, of which other rules tell
    put(queue, 4)
    loop.run(queue.close())
    with under_test("aqueue.persist.reopen"):
        queue = open_async_queue(**context.driver.unlimited)
        assert loop.run(queue.size()) == 1, f"size 1, as the {len(numbers)} before were taken out"


@check("aqueue.persist.reopen", name="reopen.new-process")
def requests_survive_in_another_process(open_async_queue, loop):
    """Requests of a persistent queue survive `close` and reopening, in a new process as well, in their order."""
    queue = open_async_queue(holding=STORED)
    loop.run(queue.close())
    expect_kept_for_another_process(
        lambda loop, queue: sorted(request.url for request in drained(loop, queue, len(STORED) + 1)),
        sorted(urls_of(STORED)),
        "the 3 requests in another process",
    )


@check("aqueue.persist.reopen", name="reopen.expired")
def no_request_has_a_time_to_live(open_async_queue, loop, expire):
    """Requests of a persistent queue survive `close` and reopening, in a new process as well, in their order."""
    if offers("ttl"):
        raise NotApplicable(TTL)
    queue = open_async_queue(holding=STORED)
    loop.run(queue.close())
    if not expire():
        raise NotApplicable("nothing that it stores has a time to live")
    with under_test():
        queue = open_async_queue()
        assert loop.run(queue.size()) == len(STORED)


@check("aqueue.persist.reopen", name="reopen.later", depends_on="put:0 reopen get")
def requests_survive_a_pause_of_years(open_async_queue, loop, directory):
    """Requests of a persistent queue survive `close` and reopening, in a new process as well, in their order."""
    if offers("ttl"):
        raise NotApplicable(TTL)
    with years_ago(directory):
        queue = open_async_queue(holding=STORED)
        loop.run(queue.close())
    with under_test():
        queue = open_async_queue()
        assert loop.run(queue.size()) == len(STORED)


@check("aqueue.persist.reopen", name="reopen.at-once", depends_on="put:0 reopen get")
def close_waits_for_what_is_being_stored(open_async_queue, loop, put_and_close):
    """Requests of a persistent queue survive `close` and reopening, in a new process as well, in their order."""
    queue = open_async_queue()
    loop.run(put_and_close(queue, requests_of(STORED)))
    queue = open_async_queue()
    assert sorted(urls_in(drained(loop, queue, len(STORED) + 1))) == sorted(urls_of(STORED))


@check("aqueue.persist.reopen", name="reopen.directory", name_of=DIRECTORIES)
def the_name_of_a_directory_means_nothing(open_async_queue, loop, prioritized, directory, name_of):
    """Requests of a persistent queue survive `close` and reopening, in a new process as well, in their order."""
    if not offers("filesystem"):
        raise NotApplicable("it keeps no files")
    os.mkdir(directory + "/" + name_of)
    with may_raise() as refused:
        queue = open_async_queue(name_of + "/0", holding=[4])
    if refused:
        raise NotCovered("it refuses a directory of such a name")
    loop.run(queue.close())
    with under_test():
        queue = open_async_queue(name_of + "/0")
        assert loop.run(queue.size()) == 1
        assert loop.run(queue.get()) == prioritized(4)


def unless_each_has_a_file(context: CheckContext) -> Iterator[range]:
    """Yield the numbers of requests for a queue that has no file for each of them: where one ends may be special then."""
    if not context.offers("filesystem"):
        raise NotApplicable("it keeps no files")
    if context.budget.short:
        raise NotCovered(f"operations are slow{context.budget.more}")
    context.restart()
    queue, counts = context.open(), set()
    for number in (0, 4):
        context.driver.put(queue, context.driver.item(number))
        counts.add(len(names_below(context.driver.directory)))
    context.driver.running.run(queue.close())
    if len(counts) > 1:
        raise NotApplicable("it has a file for each request")
    yield range(3000, 3131)


@check("aqueue.persist.reopen", name="reopen.counts", numbers=[unless_each_has_a_file])
def any_count_survives_reopening(async_factory, loop, numbers):
    """Requests of a persistent queue survive `close` and reopening, in a new process as well, in their order."""
    wrong = reopened_at_each_count(loop, async_factory, requests_of(numbers))
    assert wrong == [], "no count at which another size is found"


NEAR_PAGES = (4096, 3072)
"""A request of a size a little below ends where a page does, also where three bytes become four."""


@check("aqueue.persist.reopen", name="reopen.near-pages", numbers=[unless_each_has_a_file])
def no_size_is_special(context, open_async_queue, loop, numbers):
    """Requests of a persistent queue survive `close` and reopening, in a new process as well, in their order."""
    requests = requests_near(NEAR_PAGES)
    queue = open_async_queue(**context.driver.unlimited)
    put_all(loop, queue, requests)
    loop.run(queue.close())
    with under_test():
        queue = open_async_queue(**context.driver.unlimited)
        outcomes = outcomes_of_gets(loop, queue, len(requests) + 1)
        received = [getattr(one, "url", one) for how, one in outcomes]
        assert sorted(received) == sorted(request.url for request in requests), "each request, whatever size it has"


@check("aqueue.persist.elsewhere", depends_on=["put:0 reopen get", "aqueue.put.rebuildable"], size=(0, 100_000))
def a_place_can_be_moved(told_a_place, open_async_queue, loop, directory, request_of_size, size):
    """Requests survive in a directory that was moved, and are found from another working directory."""
    os.mkdir(directory + "/job")
    queue = open_async_queue("job/0")
    request = request_of_size(size)
    with may_raise() as refused:
        loop.run(queue.put(request))
    if refused:
        raise NotCovered("it refuses a body of that size")
    loop.run(queue.close())
    if not os.listdir(directory + "/job"):
        raise NotApplicable("it stores elsewhere")
    os.rename(directory + "/job", directory + "/moved")
    with under_test():
        queue = open_async_queue("moved/0")
        assert loop.run(queue.size()) == 1
        assert loop.run(queue.get()) == request


@check("aqueue.persist.elsewhere", name="persist.other-directory", depends_on="put:0 reopen get")
def the_working_directory_does_not_matter(told_a_place, open_async_queue, loop, directory):
    """Requests survive in a directory that was moved, and are found from another working directory."""
    queue = open_async_queue(holding=STORED)
    loop.run(queue.close())
    os.mkdir(directory + "/elsewhere")
    with chdir(directory + "/elsewhere"), under_test():
        queue = open_async_queue()
        outcomes = outcomes_of_gets(loop, queue, len(STORED) + 1)
        assert sorted(urls_returned(outcomes)) == sorted(urls_of(STORED))


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
