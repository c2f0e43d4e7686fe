"""Checks of what is stored: a request that cannot be read, and room for what is long gone."""

import logging

from scrapy import Request

from queue_conformance.engine.blocks import may_raise, may_refuse, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import appended_below, contents_of_files, damage_record, make_unreadable, offers
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.kinds.scheduler.fixtures import close, made_here, outcomes_of_requests, pass_requests, requests_left
from queue_conformance.kinds.scheduler.script_support import own_method
from queue_conformance.script_support.example import name_of
from queue_conformance.script_support.support import bytes_below, logged

FIRST, BAD, LAST = (f"https://example.com/{number}" for number in (1, 2, 3))


@check(
    "scheduler.next.unreadable",
    depends_on="enqueue:0 enqueue:3 enqueue:8 reopen",
    bad=(lambda spider: Request("https://example.com/2", callback=own_method(spider)),),
    damaged=(False, True),
)
def one_unreadable_request_holds_up_no_other(open_scheduler, directory, bad, damaged):
    """One stored request that cannot be rebuilt makes `next_request` raise once in a run, and holds up no other, nor the end
    of the crawl.
    """
    scheduler = open_scheduler("job")
    scheduler.enqueue_request(Request(FIRST))
    before = contents_of_files(directory)
    scheduler.enqueue_request(made_here(bad))
    record = appended_below(directory, before)
    scheduler.enqueue_request(Request(LAST))
    close(scheduler)
    if damaged and not make_unreadable(directory, BAD) and not damage_record(directory, record):
        raise NotCovered("no file shows where a request is")
    with under_test(), may_raise(when=damaged) as refused:  # who looks at everything when it opens says there what is wrong
        scheduler = open_scheduler("job")  # for another spider, which has no such method
    if refused:
        return
    with under_test():
        outcomes = outcomes_of_requests(scheduler, 12)
        lost = [url for url in (FIRST, LAST) if url not in outcomes]
        assert lost == [], "the other requests"
        errors = [type(one).__name__ for one in outcomes if not isinstance(one, str)]
        assert len(errors) < 2, "one exception at most"
        assert not scheduler.has_pending_requests(), "nothing pending"
    close(scheduler)
    if not errors and BAD not in outcomes:
        raise NotCovered("nothing says what became of the request")


MISSING = {
    "callback": lambda spider: Request("https://example.com/1", callback=own_method(spider)),
    "errback": lambda spider: Request("https://example.com/1", errback=own_method(spider)),
}
"""Requests that belong to a method which the spider of the next run does not have, by what that is to them."""


@check("scheduler.next.missing-callback", depends_on="enqueue:0 reopen", argument=tuple(MISSING))
def a_missing_callback_is_told(open_scheduler, directory, argument):
    """A stored request whose callback or errback the spider has no more is neither returned with another one nor dropped in
    silence: an exception or the log says what is missing.
    """
    scheduler = open_scheduler("job")
    scheduler.enqueue_request(made_here(MISSING[argument]))
    close(scheduler)
    stored = b"parse_later" in b"".join(contents_of_files(directory).values())
    with logged(logging.WARNING) as texts:
        with may_refuse() as refused:
            scheduler = open_scheduler("job")
        if refused:
            return
        pending = scheduler.has_pending_requests()
        with may_refuse() as refused:
            left = requests_left(scheduler)
    if refused:
        return
    if not (stored or pending or left):
        raise NotCovered("nothing is left of the request")
    with under_test():
        assert [name_of(request, argument) for request in left] in ([], ["parse_later"])
        assert left or texts, "an exception, or a warning in the log"
    close(scheduler)


MIB = 1 << 20
FEW, MANY = 8, 48
"""Requests of a MiB that pass: where the first few leave little behind, the many do too."""


@check("scheduler.persist.room", depends_on="enqueue:0 enqueue:3 next enqueue:8 reopen")
def what_is_gone_takes_no_room(open_scheduler, directory):
    """What was taken out gives its room on the disk back while the scheduler is in use, though it is never empty."""
    if offers("configurable"):
        raise NotApplicable("what it stores in are the queues of its settings, which are tested by themselves")
    scheduler = open_scheduler("job")
    with may_raise() as refused:
        passed = pass_requests(scheduler, range(FEW), MIB)
    if refused or passed < FEW:
        raise NotCovered("it refuses a request of a MiB")
    with under_test():
        size = bytes_below(directory)
        if size > FEW * MIB:  # nothing has been given back yet
            pass_requests(scheduler, range(FEW, MANY), MIB)
            size = bytes_below(directory)
        assert size < MANY // 2 * MIB, f"less than {MANY // 2} MiB on disk: {MANY} MiB passed, and one is left"
    close(scheduler)
