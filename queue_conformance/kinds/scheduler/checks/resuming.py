"""Checks of what a stopped crawl finds when it continues."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise

from scrapy import Request

from queue_conformance.engine.another_process import SAY_READY, expect_in_another_process, in_two_processes, reading
from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import chdir, offers, years_ago
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.samples import DIRECTORIES, PAUSES, SLOW, few_and, few_and_many
from queue_conformance.engine.scripts import lines_of
from queue_conformance.kinds.scheduler.fixtures import close, drain, enqueue_many, made_here, requests_left, urls
from queue_conformance.kinds.scheduler.script_support import NestedPriorityQueue, enqueued

PRIORITY_QUEUES = ("scrapy.pqueues.ScrapyPriorityQueue", "scrapy.pqueues.DownloaderAwarePriorityQueue", NestedPriorityQueue)
"""Priority queues whose states have different shapes: a list, a dictionary of lists, and one of lists of lists."""

RESUMABLE = "enqueue:0 enqueue:3 enqueue:8 enqueue:11 reopen"
"""To close and continue in the simplest way; what is lost then is not a matter of anything special."""

ONE_STORE = "it does not store in memory and on disk"
"""Why nothing is asked of the order, or of what is lost with the memory."""

STORED = (0, 3, 8, 1, 4, 9, 6, 11, 20, 23, 2)
"""Requests of several priorities and slots, start requests among them."""


@check(
    "scheduler.resume.all",
    name="resume.order",
    settings=[*({"SCHEDULER_PRIORITY_QUEUE": each} for each in PRIORITY_QUEUES), {"SCHEDULER_START_DISK_QUEUE": None}],
)
def everything_comes_back_in_order(context, without_a_pause, open_scheduler, settings):
    """A scheduler that is closed and built again with the same settings has the same pending requests, in the same order, and
    the same length.
    """
    if not context.offers("persistent", "configurable"):
        raise NotApplicable(ONE_STORE)
    expected = without_a_pause(settings, STORED)
    scheduler = open_scheduler("job", holding=STORED, **settings)
    popped = [scheduler.next_request() for _ in range(2)]
    if None in popped:
        raise NotCovered("it gives nothing although requests wait")
    counted = context.offers("length") and len(scheduler)
    close(scheduler)
    with under_test():
        scheduler = open_scheduler("job", **settings)
        if context.offers("length"):
            length = len(scheduler)
        left = drain(scheduler)
    if any(getattr(each, "url", None) in left for each in popped):
        return  # that is a matter of scheduler.resume.no-dup
    assert left == expected
    if context.offers("length"):
        assert length == counted, "the length before the pause"


@check("scheduler.resume.all", name="resume.reasons", depends_on=RESUMABLE, reason=PAUSES)
def everything_comes_back_whatever_ended_the_crawl(open_scheduler, reason):
    """A scheduler that is closed and built again with the same settings has the same pending requests, in the same order, and
    the same length.
    """
    scheduler = open_scheduler("job", holding=(0, 3, 8))
    close(scheduler, reason)
    with under_test():
        scheduler = open_scheduler("job")
        left = drain(scheduler)
        assert sorted(left) == urls([0, 3, 8])


@check("scheduler.resume.all", name="resume.part", depends_on=RESUMABLE, count=(0, 1))
def a_run_that_takes_few_keeps_the_rest(open_scheduler, count):
    """A scheduler that is closed and built again with the same settings has the same pending requests, in the same order, and
    the same length.
    """
    scheduler = open_scheduler("job", holding=(0, 3, 8))
    close(scheduler)
    with under_test():
        scheduler = open_scheduler("job")
        popped = [scheduler.next_request() for _ in range(count)]
        received = [request.url for request in popped if request is not None]
        close(scheduler)
        scheduler = open_scheduler("job")
        left = drain(scheduler)
        assert sorted({*received, *left}) == urls([0, 3, 8])  # what comes twice is a matter of scheduler.resume.no-dup


@check("scheduler.resume.all", name="resume.expired", depends_on=RESUMABLE)
def no_request_has_a_time_to_live(open_scheduler, expire):
    """A scheduler that is closed and built again with the same settings has the same pending requests, in the same order, and
    the same length.
    """
    scheduler = open_scheduler("job", holding=(0, 3, 8))
    close(scheduler)
    if not expire():
        raise NotApplicable("nothing that it stores has a time to live")
    with under_test():
        scheduler = open_scheduler("job")
        left = drain(scheduler)
        assert sorted(left) == urls([0, 3, 8])


@check("scheduler.resume.all", name="resume.later", depends_on=RESUMABLE)
def everything_comes_back_after_years(open_scheduler, directory):
    """A scheduler that is closed and built again with the same settings has the same pending requests, in the same order, and
    the same length.
    """
    with years_ago(directory):
        scheduler = open_scheduler("job", holding=(0, 3, 8))
        close(scheduler)
    with under_test():
        scheduler = open_scheduler("job")
        left = drain(scheduler)
        assert sorted(left) == urls([0, 3, 8])


@check("scheduler.resume.all", name="resume.directory", depends_on=RESUMABLE, name_of=DIRECTORIES)
def the_name_of_a_directory_means_nothing(open_scheduler, directory, name_of):
    """A scheduler that is closed and built again with the same settings has the same pending requests, in the same order, and
    the same length.
    """
    if not offers("filesystem"):
        raise NotApplicable("it keeps no files")
    os.makedirs(directory + "/" + name_of + "/job")
    with may_raise() as refused:
        scheduler = open_scheduler(name_of + "/job", holding=(0, 3))
    if refused:
        raise NotCovered("it refuses a directory of such a name")
    close(scheduler)
    with under_test():
        scheduler = open_scheduler(name_of + "/job")
        left = drain(scheduler)
        assert sorted(left) == urls([0, 3])


@check(
    "scheduler.resume.all",
    name="resume.hosts",
    depends_on=[RESUMABLE, "enqueue.hosts", "resume.many"],
    numbers=[few_and(range(300))],
    spread=({"hosts": 300},),
)
@check(
    "scheduler.resume.all",
    name="resume.many",
    depends_on=[RESUMABLE, "enqueue.many"],
    numbers=[few_and_many],
    spread=({}, {"levels": 40}),
)
def many_come_back_once(open_scheduler, numbers, spread):
    """A scheduler that is closed and built again with the same settings has the same pending requests, in the same order, and
    the same length.
    """
    scheduler = open_scheduler("job")
    accepted = enqueue_many(scheduler, numbers, **spread)
    popped = [scheduler.next_request() for _ in range(5)]
    received = [request.url for request in popped if request is not None]
    close(scheduler)
    with under_test():
        scheduler = open_scheduler("job")
        left = drain(scheduler)
        if any(url in left for url in received):
            return  # that is a matter of scheduler.resume.no-dup
        waiting = [url for url in accepted if url not in received]
        assert len(left) == len(waiting), f"{len(waiting)} requests"
        assert sorted(left) == sorted(waiting), "each request once"


COUNTS = sorted({power + step for power in map((2).__pow__, range(1, 11)) for step in (-1, 0, 1)})
"""How many requests wait at the end of a run: a page, a segment or a batch is full with one of them, or with one less or more."""


def few_and_more_counts(context: CheckContext) -> Iterator[list[int]]:
    """Yield counts of some requests, and of more unless that takes long."""
    started = context.watchdog.now
    yield COUNTS[:8]
    if context.watchdog.now - started < SLOW:
        yield COUNTS[8:]


@check("scheduler.resume.all", name="resume.counts", depends_on=[RESUMABLE, "resume.many"], counts=[few_and_more_counts])
def every_run_finds_what_the_ones_before_have_left(open_scheduler, counts):
    """A scheduler that is closed and built again with the same settings has the same pending requests, in the same order, and
    the same length.
    """
    if offers("configurable"):
        raise NotApplicable("its queues store, and are asked this themselves")
    with under_test():
        scheduler = open_scheduler("job")
        accepted = []
        for first, last in pairwise((0, *counts)):
            accepted = accepted + enqueue_many(scheduler, range(first, last))
            close(scheduler)
            scheduler = open_scheduler("job")
            if offers("length"):
                assert len(scheduler) == len(accepted)
        left = drain(scheduler)
        assert len(left) == len(accepted), f"{len(accepted)} requests"


FEWER = range(3)
"""Requests that wait at the end of a run after one that ended with a thousand: where those had several files, these have one."""


@check("scheduler.resume.no-dup", name="resume.fewer", depends_on=[RESUMABLE, "resume.many"], numbers=[few_and_many])
def nothing_of_a_longer_backlog_comes_again(open_scheduler, numbers):
    """Nothing that was returned before a clean close is returned again after a resume."""
    if offers("configurable"):
        raise NotApplicable("its queues store, and are asked this themselves")
    scheduler = open_scheduler("job")
    enqueue_many(scheduler, numbers)
    close(scheduler)
    scheduler = open_scheduler("job")
    received = drain(scheduler)
    enqueue_many(scheduler, FEWER)
    close(scheduler)
    with under_test():
        scheduler = open_scheduler("job")
        left = drain(scheduler)
        again = len({*left} & {*received})
        assert again == 0, f"none of {len(received)} requests that were returned before"


@check("scheduler.close.twice", depends_on=RESUMABLE)
def a_second_close_loses_nothing(open_scheduler):
    """A second `close` raises nothing and loses nothing."""
    scheduler = open_scheduler("job", holding=(0, 3, 8))
    close(scheduler)
    with under_test():
        close(scheduler)
        scheduler = open_scheduler("job")
        left = drain(scheduler)
    assert sorted(left) == urls([0, 3, 8])


def kept_in_memory(context: CheckContext) -> Iterator[Sequence[int]]:
    """Yield the numbers of requests of which the last one is kept in memory only."""
    if context.offers("configurable"):
        if not context.offers("persistent"):
            raise NotApplicable(ONE_STORE)
        yield from ((15,), (0, 18))
        return
    kept: list[str] = []
    with suppress(OperationRaised):
        scheduler = context.driver.open(job="job")
        scheduler.enqueue_request(context.driver.fresh(28))
        kept = context.driver.drain(scheduler)
    if not kept:
        raise NotApplicable("it keeps nothing in memory that it cannot store")
    yield from ((28,), (0, 29))


@check("scheduler.close.memory-unseen", numbers=[kept_in_memory])
def what_was_lost_can_be_enqueued_again(context, open_scheduler, faulty_queues, fresh, numbers):
    """A request that is lost at close because it was held in memory is not remembered as seen, so that the job can crawl it
    later.
    """
    settings = faulty_queues if context.offers("configurable") else {}
    scheduler = open_scheduler("job", holding=numbers[:-1], **settings)
    stored = scheduler.enqueue_request(fresh(numbers[-1]))
    if stored is None and context.driver.silent:
        raise NotCovered("its answers do not say what it stored")
    close(scheduler)
    scheduler = open_scheduler("job", **settings)
    left = drain(scheduler)
    if stored and urls(numbers)[-1] not in left:
        with under_test():
            accepted = scheduler.enqueue_request(fresh(numbers[-1]))
        assert accepted, "a true result: it was lost at close"


@check("scheduler.persist.evidence")
def what_leaves_traces_gives_back_its_requests(context, open_scheduler, traces, rule):
    """A scheduler that leaves files in the job directory, or anything in its server, after a clean close returns every pending
    request in the next run.
    """
    if context.implementation.claims.get("persistent") == "no" and not context.offers("persistent"):
        raise NotApplicable("persistent=no is claimed")
    scheduler = open_scheduler("job", holding=(0, 3, 8))
    close(scheduler)
    found = traces()
    if not found:
        raise NotApplicable("nothing is left after a clean close")
    with under_test():
        scheduler = open_scheduler("job")
        left = drain(scheduler)
    # Where some come back and others do not, or it was seen to persist, it is a matter of what is resumed.
    with under_test("scheduler.resume.all" if left or context.offers("persistent") else rule):
        assert sorted(left) == urls([0, 3, 8]), f"3 requests pending, as {found[0]} is there"


@check("scheduler.resume.elsewhere", depends_on=RESUMABLE)
def a_job_directory_can_be_moved(open_scheduler, directory):
    """A job continues in a job directory that was moved, from another working directory, and with other values of settings
    that have nothing to do with what is stored.
    """
    scheduler = open_scheduler("job", holding=(0, 3, 8))
    close(scheduler)
    os.rename(directory + "/job", directory + "/moved")
    with under_test():
        scheduler = open_scheduler("moved")
        left = drain(scheduler)
        assert sorted(left) == urls([0, 3, 8])


FORMS = (
    lambda crawler: Request("https://example.com/2", method="POST", body=b"a=1"),
    lambda crawler: Request("https://example.com/2", method="POST", body=b"x" * 100_000),
)
"""Requests of which a store may keep a part in a file of its own."""


@check("scheduler.resume.elsewhere", name="resume.moved-bodies", depends_on=[RESUMABLE, "scheduler.next.roundtrip"], form=FORMS)
def bodies_are_moved_with_the_job_directory(open_scheduler, directory, form):
    """A job continues in a job directory that was moved, from another working directory, and with other values of settings
    that have nothing to do with what is stored.
    """
    for job in "job", "other":
        scheduler = open_scheduler(job)
        scheduler.enqueue_request(made_here(form))
        close(scheduler)
    scheduler = open_scheduler("other")
    if not requests_left(scheduler):
        raise NotCovered("not even a job that stays where it is has a request with a body")
    os.rename(directory + "/job", directory + "/moved")
    with under_test():
        scheduler = open_scheduler("moved")
        left = requests_left(scheduler)
        bodies = [request.body for request in left]
        assert bodies == [made_here(form).body]


OTHER = {"CONCURRENT_REQUESTS": 1, "DOWNLOAD_DELAY": 0.5, "LOG_LEVEL": "ERROR", "USER_AGENT": "another"}
"""Settings that have nothing to do with what is stored, with other values."""


@check("scheduler.resume.elsewhere", name="resume.other-directory", depends_on=RESUMABLE)
def the_working_directory_and_other_settings_do_not_matter(open_scheduler, directory):
    """A job continues in a job directory that was moved, from another working directory, and with other values of settings
    that have nothing to do with what is stored.
    """
    scheduler = open_scheduler("job", holding=(0, 3, 8))
    close(scheduler)
    os.mkdir(directory + "/elsewhere")
    with chdir(directory + "/elsewhere"), under_test():
        scheduler = open_scheduler("job", **OTHER)
        left = drain(scheduler)
        assert sorted(left) == urls([0, 3, 8])


# --- Another process -------------------------------------------------------------------------------------------------


HOSTS = 40
"""Hosts, and as many requests: of whatever a hash divides, each part holds some."""


@check("scheduler.close.persist", "scheduler.resume.seen", depends_on=[RESUMABLE, "enqueue.hosts", "resume.hosts"])
def another_process_finds_what_waits_and_what_was_seen(context, open_scheduler, rule):
    """Every pending request that can be serialized is there after a close, for another process too."""
    scheduler = open_scheduler("job")
    accepted = enqueue_many(scheduler, range(HOSTS), hosts=HOSTS, body=b"a=1")
    close(scheduler, "shutdown")
    parts = [(rule, f"{len(accepted)} requests in another process")]
    lines = reading(context, lambda scheduler: len({*drain(scheduler)}), len(accepted))
    if context.offers("filters"):
        parts.append(("scheduler.resume.seen", "none of them accepted again in another process"))
        again = reading(context, lambda scheduler: len(enqueued(scheduler, range(HOSTS), hosts=HOSTS, body=b"a=1")), 0)
        if context.driver.silent:  # what comes tells what it accepted
            again = reading(
                context,
                lambda scheduler: len(enqueued(scheduler, range(HOSTS), hosts=HOSTS, body=b"a=1")) and len(drain(scheduler)),
                0,
            )
        lines += [SAY_READY, *again]
    expect_in_another_process(context, parts, _lines_for_two_processes(context, lines), scheduler.crawler.spider.name)


def _lines_for_two_processes(context: CheckContext, compare: Sequence[str]) -> list[str]:
    """Return the body of a script that stores in one process, and reads and compares in another one."""
    steps = context.recorder.steps
    opening = [step for step in steps if step.source.startswith(("crawler = ", "scheduler = ")) or ".open(" in step.source]
    crawler = opening[0].source
    if not context.implementation.server:
        crawler = crawler.removesuffix(")") + ", name)"
    stores = [crawler if step is opening[0] else line for step in steps for line in lines_of([step])]
    stores = ['name = "example-" + uuid.uuid4().hex', *stores]
    return in_two_processes(context, stores, [crawler], [*lines_of(opening[1:]), *compare], "name")
