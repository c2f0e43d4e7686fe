"""Checks of close, and of resuming from state."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scrapy.pqueues import DownloaderAwarePriorityQueue, ScrapyPriorityQueue

from queue_conformance.engine.another_process import expect_kept_for_another_process
from queue_conformance.engine.blocks import may_raise, may_refuse_saying_why, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import SLOW
from queue_conformance.kinds.priority_queue.driver import PriorityQueueDriver
from queue_conformance.kinds.priority_queue.fixtures import NUMBERS, START, discard, regrow, through_json, use_queues
from queue_conformance.kinds.priority_queue.script_support import QueueLikeSQLite, pop_urls

# --- Close -----------------------------------------------------------------------------------------------------------


@check("pq.close.closes-all", persistent=(False, True))
def close_closes_every_queue(open_queue, persistent):
    """`close` closes every open downstream queue, once, and raises nothing of its own."""
    store = use_queues(persistent=persistent)
    queue = open_queue(holding=range(12))
    for _ in range(3):
        queue.pop()
    queue.close()
    times_closed = [found.closed for found in store.built]
    assert {*times_closed} <= {1}, "every downstream queue closed once"


@check("pq.close.closes-all", name="close.lengths")
def close_asks_a_queue_nothing_that_it_has_closed(open_queue):
    """`close` closes every open downstream queue, once, and raises nothing of its own."""
    use_queues(QueueLikeSQLite, QueueLikeSQLite)
    queue = open_queue(holding=range(12))
    queue.pop()
    queue.close()


@check("pq.close.twice", numbers=((0, 4, 2), (0, 5, 9, 4)))
def a_second_close_loses_nothing(resumable, open_queue, item, pop_urls, numbers):
    """A second `close` loses nothing; in particular it does not report that nothing is stored."""
    queue = open_queue(holding=numbers)
    left = queue.close()
    with may_raise():
        left = queue.close()
    assert left, "state that is not empty, as requests are left"
    state = through_json(left)
    with under_test():
        queue = open_queue(state=state)
        assert sorted(pop_urls(queue, len(numbers))) == sorted(item(number).url for number in numbers)


# --- Resuming --------------------------------------------------------------------------------------------------------


@check(
    "pq.resume.all",
    sequence=(
        "push:0 push:1 push:2 push:5 reopen length truth pop reopen pop push:0 reopen pop pop pop",
        "push:1 push:1 push:0 push:0 push:3 push:4 reopen pop pop reopen pop pop reopen pop pop",
        "push:9 push:8 push:11 push:6 reopen push:7 reopen",
    ),
    configure=(PriorityQueueDriver.configure, PriorityQueueDriver.configure_disk),
)
def everything_is_there_after_resuming(run, sequence, configure):
    """A queue that is built from the state of a closed one, with the same key, classes and settings, has the same length and
    the same requests in the same order, start requests included.
    """
    run(sequence, configure=configure)


HOSTS = 40
"""Hosts, and as many requests: of whatever a hash divides, each part holds some."""


@check("pq.resume.all", name="resume.new-process")
def everything_is_there_in_another_process(resumable, open_queue, request):
    """A queue that is built from the state of a closed one, with the same key, classes and settings, has the same length and
    the same requests in the same order, start requests included.
    """
    use_queues(disk=True)
    queue = open_queue()
    for number in range(HOSTS):
        queue.push(request(host=f"{number}.example", priority=number % 3, meta=START if number % 5 == 0 else {}))
    state = through_json(queue.close())
    kept = sorted(f"https://{number}.example/{number + 1}" for number in range(HOSTS))
    expect_kept_for_another_process(
        lambda queue: sorted(pop_urls(queue, HOSTS)), kept, f"{HOSTS} requests in another process", state=state
    )


@check("pq.resume.all", name="resume.part", depends_on="push:0 push:1 push:5 reopen pop pop pop", count=(0, 1))
def a_run_that_takes_few_keeps_the_rest(resumable, open_queue, item, pop_urls, count):
    """A queue that is built from the state of a closed one, with the same key, classes and settings, has the same length and
    the same requests in the same order, start requests included.
    """
    queue = open_queue(holding=NUMBERS)
    state = through_json(queue.close())
    with under_test():
        queue = open_queue(state=state)
        popped = pop_urls(queue, count)
        state = through_json(queue.close())
        queue = open_queue(state=state)
        left = pop_urls(queue, len(NUMBERS))
        assert sorted([*popped, *left]) == sorted(item(number).url for number in NUMBERS)


def boundaries(context: CheckContext) -> Iterator[Sequence[int]]:
    """Yield every count to 130, and those around powers of two unless the former take long."""
    started = context.watchdog.now
    yield range(131)
    if context.watchdog.now - started < SLOW:
        yield [power + step for power in (256, 512, 1024) for step in (-1, 0, 1)]


@check("pq.resume.all", name="resume.counts", depends_on="push:0 push:1 push:5 reopen pop pop pop", counts=[boundaries])
def any_count_survives_reopening(counts):
    """A queue that is built from the state of a closed one, with the same key, classes and settings, has the same length and
    the same requests in the same order, start requests included.
    """
    use_queues()
    count, received = regrow(counts)
    assert received == count, f"all {count} that were pushed"


@check("pq.resume.elsewhere", depends_on="push:0 push:1 push:5 reopen pop pop pop")
def a_job_directory_can_be_moved(resumable, open_queue, item, directory, pop_urls):
    """A queue that is built from the state of a closed one has the same requests where the directory of its key was moved."""
    use_queues(disk=True)
    os.mkdir(directory + "/job")
    queue = open_queue("job/0", holding=NUMBERS)
    state = through_json(queue.close())
    if not os.listdir(directory + "/job"):
        raise NotApplicable("it stores elsewhere")
    os.rename(directory + "/job", directory + "/moved")
    with under_test():
        queue = open_queue("moved/0", state=state)
        assert sorted(pop_urls(queue, len(NUMBERS))) == sorted(item(number).url for number in NUMBERS)


NO_STATES: tuple[Any, ...] = ({"a.example": "0"}, ["a.example"], {"a.example": {}}, [[0]], "state", 1)
"""What no class writes, each of another form."""


@check("pq.resume.refused-keeps", wrong=NO_STATES)
def a_refused_start_keeps_what_waits(resumable, open_queue, item, pop_urls, wrong):
    """A construction that is refused because of its state keeps what is stored: from the right state everything is there
    again.
    """
    use_queues(disk=True)
    queue = open_queue(holding=NUMBERS)
    state = through_json(queue.close())
    with under_test(), may_raise() as refused:
        queue = open_queue(startprios=wrong)
    if not refused:
        raise NotCovered("it takes a state that no class writes")
    with under_test():
        queue = open_queue(state=state)
        remaining = pop_urls(queue, len(NUMBERS))
        assert sorted(remaining) == sorted(item(number).url for number in NUMBERS), "all requests at the next right start"


@check("pq.resume.incomplete", disk=(False, True))
def what_the_state_does_not_name_is_found_again(open_queue, request, pop_urls, disk):
    """Buckets that the state does not name are not deleted, and are found again when their priority is used."""
    use_queues(disk=disk)
    urls = []
    for forgotten in (True, False):
        with under_test():
            queue = open_queue()
            for each in (request(), request(meta=START), request(priority=1)):
                queue.push(each)
                urls.append(each.url)
        if forgotten:
            queue.close()
    with under_test():
        assert sorted(pop_urls(queue, len(urls))) == urls


@check("pq.resume.foreign-state", cls=(ScrapyPriorityQueue, DownloaderAwarePriorityQueue))
def state_of_another_class_is_refused_or_served(own_state, open_queue, request, pop_urls, cls):
    """State of another form, as another priority queue class has written it, is refused at construction with an explanation,
    unless everything in it is served.
    """
    other = open_queue(cls=cls)
    for host in ("a.example", "b.example"):
        other.push(request(host=host))
    state = through_json(other.close())
    if isinstance(state, Mapping) == isinstance(own_state, Mapping):
        raise NotCovered("this released class writes state of the same form")
    with under_test():
        with may_refuse_saying_why() as refused:
            queue = open_queue(state=state)
        if not refused:
            urls = ["https://a.example/1", "https://b.example/2"]
            assert sorted(pop_urls(queue, 2)) == urls, f"an exception, as {state!r} is no state of this class, or both requests"


def lists_priorities(left):
    """Whether what a state says is a list of numbers."""
    return isinstance(left, list) and all(type(named) is int for named in left)


@check("pq.resume.iterable", form=(iter, set, tuple))
def startprios_may_be_any_iterable(resumable, open_queue, item, pop_urls, form):
    """Priorities to start with may come from any iterable."""
    numbers = (0, 4, 5, 9)
    queue = open_queue(holding=numbers)
    left = queue.close()
    if isinstance(left, Mapping) and all(map(lists_priorities, left.values())):
        state = {slot: form(named) for slot, named in left.items()}
    elif lists_priorities(left):
        state = form(left)
    else:
        raise NotApplicable("its state has a form of its own")
    with under_test():
        queue = open_queue(state=state)
        assert sorted(pop_urls(queue, len(numbers))) == sorted(item(number).url for number in numbers)


@check("pq.resume.empty-closed")
def empty_queues_opened_while_resuming_are_closed(open_queue, request):
    """Downstream queues that are opened while resuming and turn out to be empty are closed again."""
    store = use_queues()
    queue = open_queue()
    for several in ({}, {"priority": 2, "meta": START}, {"priority": 50}):
        queue.push(request(**several))
    state = through_json(queue.close())
    discard(store, "https://example.com/3")
    built = len(store.built)
    with may_raise() as refused:
        queue = open_queue(state=state)
    if refused:
        raise NotCovered("it does not resume from this state")
    empty = [found for found in store.built[built:] if not found.items]
    left_open = sum(not found.closed for found in empty)
    assert left_open == 0, "no empty queue left open"
