"""Checks of what SIGKILL, and files that were damaged, leave of a dupefilter."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from queue_conformance.engine.blocks import may_raise, may_refuse_saying_why, under_test
from queue_conformance.engine.cases import Attempt
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.crash import Sweep, crash_sweep
from queue_conformance.engine.crash_claim import suggested_claim
from queue_conformance.engine.fixtures import contents_of_files, harm_file
from queue_conformance.engine.killpoints import When
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import MOST_FILES, WAYS_OF_HARM, cuts
from queue_conformance.environments.fixtures import cut_files, extend_files
from queue_conformance.faults import disk
from queue_conformance.faults.disk import SizeLimit, Sizes
from queue_conformance.faults.fault import Missed
from queue_conformance.kinds.dupefilter.commands import files_with, size_of_record
from queue_conformance.kinds.dupefilter.fixtures import count_seen

COUNTS = (1, 10, 100)
"""Requests after which a process is killed."""

PLACES = 24
"""Places at which a file is cut."""

FRESH = range(1000, 1030)
"""The numbers of requests that are never seen before they are asked for."""

LATER = range(100, 104)
"""The numbers of the requests that are seen after something went wrong."""


# --- SIGKILL ---------------------------------------------------------------------------------------------------------


WORKLOADS = tuple(" ".join(f"seen:{number}" for number in range(count)) for count in COUNTS)


def losses(sweep: Sweep) -> Iterable[str]:
    """Tell how many fingerprints SIGKILL loses, which is no rule unless the author claims that it is none."""
    by_count = {len(crash.operations): counts for crash, counts in sweep.counts}
    if any(counts["unusable"] for counts in by_count.values()):
        yield f"after SIGKILL it cannot be opened: {min(n for n, counts in by_count.items() if counts['unusable'])} seen before"
    elif lost := [f"{by_count[count]['lost']} of {count}" for count in COUNTS if count in by_count]:
        yield f"lost after SIGKILL: {', '.join(lost)} fingerprints"


@crash_sweep(
    "dupefilter.crash.loss", workloads=lambda context: WORKLOADS, ways={When.AFTER, When.LINE}, points=lambda context: 60
)
@crash_sweep(
    "dupefilter.crash.no-false-positive",
    name="sigkill",
    workloads=lambda context: WORKLOADS,
    ways={When.AFTER},
    points=lambda context: 0,
    note=losses,
)
def sigkill_leaves_what_was_seen(crash, open_filter, request_of, rule):
    """SIGKILL loses no fingerprint of a dupefilter that is declared crash-safe.

    After a crash, or with a file that is torn, empty, gone or of an earlier run, nothing that was not seen is reported as
    seen.
    """

    @crash.child
    def died():
        dupefilter = open_filter()
        for operation in crash:
            dupefilter.request_seen(request_of(operation.number))

    nobody_is_deceived = rule == "dupefilter.crash.no-false-positive"  # by an exception
    with under_test(), may_raise(when=nobody_is_deceived) as refused:
        dupefilter = open_filter()
        for number in died.stored:
            seen = dupefilter.request_seen(request_of(number))
            crash.tally(lost=int(not seen))
            if rule == "dupefilter.crash.loss":
                assert seen, "every request seen that was answered before SIGKILL"
        for number in FRESH if rule == "dupefilter.crash.no-false-positive" else ():
            seen = dupefilter.request_seen(request_of(number))
            assert not seen, "a request new that nobody has seen"
    crash.tally(refused.raised)


EARLIER, NOW = (" ".join(f"seen:{number}" for number in numbers) for numbers in (range(25), range(25, 50)))
TWO_RUNS = f"open {EARLIER} close open {NOW} close"
"""What one run sees, and what the next one does; a snapshot may come every twenty requests or so."""


@crash_sweep(
    "dupefilter.crash.keeps",
    depends_on="seen:0 reopen",
    workloads=lambda context: [TWO_RUNS],
    ways={When.AFTER, When.LINE},
    points=lambda context: 24,
    note=suggested_claim,
)
def sigkill_costs_what_this_run_has_seen_at_most(crash, open_filter, request_of):
    """SIGKILL costs a dupefilter at most what the killed run has seen: what an earlier run closed is still there, and can be
    opened.
    """

    @crash.child
    def died():
        for operation in crash:
            if operation.name == "open":
                dupefilter = open_filter()
            elif operation.name == "seen":
                dupefilter.request_seen(request_of(operation.number))
            else:
                dupefilter.close("shutdown")

    with under_test("dupefilter.crash.keeps"):
        dupefilter = open_filter()
        for number in died.closed:
            seen = dupefilter.request_seen(request_of(number))
            assert seen, "every request seen that an earlier run had seen when it was closed"


# --- Damaged files ---------------------------------------------------------------------------------------------------


def damages(context: CheckContext) -> Iterator[int | bytes]:
    """Yield how many bytes the files lose at their ends, or what is written there."""
    context.restart()
    size = max(map(len, files_with(context, range(8)).values()), default=0)
    if not size:
        return
    yield from cuts(size, PLACES, context.seed)
    drawn = random.Random(context.seed)
    for length in (1, 2, 3, 7, 20, 50):
        yield drawn.randbytes(length)
        yield bytes(length)


@check("dupefilter.crash.no-false-positive", damage=[damages])
def damage_makes_nothing_up(open_filter, job, damage):
    """After a crash, or with a file that is torn, empty, gone or of an earlier run, nothing that was not seen is reported as
    seen.
    """
    dupefilter = open_filter()
    count_seen(dupefilter, range(8))
    dupefilter.close("shutdown")
    if isinstance(damage, int):
        cut_files(job, damage)
    else:
        extend_files(job, damage)
    made_up = 0
    with under_test():
        with may_raise():  # nobody is deceived by an exception
            dupefilter = open_filter()
            made_up = count_seen(dupefilter, FRESH)
        assert made_up == 0, "none of the new requests seen"


def cuts_of_a_record(context: CheckContext, attempt: Attempt) -> Iterator[int]:
    """Yield how many bytes the last record loses."""
    length = size_of_record(context)
    if length < 2:
        raise NotApplicable("no file is only appended to, so no record can be torn")
    attempt(0)
    yield from cuts(length - 1, PLACES // 2, context.seed)
    if not context.has_tested("dupefilter.crash.then-clean"):
        raise NotApplicable("it refuses files that are cut")


@check("dupefilter.crash.then-clean", cut=[cuts_of_a_record])
def runs_after_a_torn_record_are_remembered(open_filter, job, cut):
    """After a torn last record, or other damage that it does not refuse, fingerprints that are added later and closed cleanly
    are remembered.
    """
    dupefilter = open_filter()
    count_seen(dupefilter, range(3))
    dupefilter.close("shutdown")
    cut_files(job, cut)
    with under_test():
        with may_refuse_saying_why("the file mended, or an exception that says what is wrong with it") as refused:
            dupefilter = open_filter()
            count_seen(dupefilter, LATER)
        if refused:
            raise Missed("it refuses files that are cut")
        dupefilter.close("shutdown")
        dupefilter = open_filter()
        seen = count_seen(dupefilter, LATER)
        assert seen == len(LATER), "all 4 requests seen that a clean close has stored"


@check(
    "dupefilter.crash.no-false-positive",
    "dupefilter.crash.then-clean",
    name="damaged.each",
    depends_on="seen:0 reopen",
    number=range(MOST_FILES),
    way=WAYS_OF_HARM,
)
def one_file_that_is_not_as_it_was_makes_nothing_up(open_filter, job, number, way):
    """After a crash, or with a file that is torn, empty, gone or of an earlier run, nothing that was not seen is reported as
    seen.
    """
    dupefilter = open_filter()
    count_seen(dupefilter, range(3))
    dupefilter.close("shutdown")
    earlier = contents_of_files(job)
    dupefilter = open_filter()
    count_seen(dupefilter, range(3, 8))
    dupefilter.close("shutdown")
    if not harm_file(job, number, way, earlier):
        raise NotApplicable("it has no more files")
    made_up = 0
    with under_test("dupefilter.crash.no-false-positive"):
        with may_raise() as refused:  # nobody is deceived by an exception
            dupefilter = open_filter()
            made_up = count_seen(dupefilter, FRESH)
            dupefilter.close("shutdown")
        assert made_up == 0, f"none of the new requests seen, though a file is {way}"
    if refused:
        return
    with under_test("dupefilter.crash.then-clean"):
        dupefilter = open_filter()
        seen = count_seen(dupefilter, FRESH)
        assert seen == len(FRESH), f"all {len(FRESH)} requests seen that a clean close has stored, though a file was {way}"
        dupefilter.close("shutdown")


# --- The run after a full disk ---------------------------------------------------------------------------------------


def full_disks(context: CheckContext, attempt: Attempt) -> Iterator[SizeLimit | Sizes]:
    """Yield limits at each place where a write of ``request_seen`` can be cut."""
    if not disk.AVAILABLE:
        raise NotCovered("this platform cannot limit the size of files")
    usual = Sizes(context.driver.directory)
    attempt(usual)
    for limit in disk.places(usual.before, usual.after, 0, context.seed):
        context.restart()
        yield SizeLimit(context.driver.directory, limit)
    if not context.has_tested("dupefilter.crash.then-clean"):
        raise NotApplicable("no fault of the disk reached request_seen")


@check("dupefilter.crash.then-clean", name="full-disk", fault=[full_disks])
def what_follows_a_full_disk_is_remembered(open_filter, request_of, fault):
    """After a torn last record, or other damage that it does not refuse, fingerprints that are added later and closed cleanly
    are remembered.
    """
    dupefilter = open_filter()
    count_seen(dupefilter, range(3))
    with may_raise(), fault:
        dupefilter.request_seen(request_of(9))
    with under_test():
        with may_raise() as gives_up:
            count_seen(dupefilter, LATER)
            dupefilter.close("shutdown")
        if gives_up:
            raise Missed("it gives up, and says so")
        dupefilter = open_filter()
        seen = count_seen(dupefilter, LATER)
        assert seen == len(LATER), "all 4 requests seen that came after the disk was full"
