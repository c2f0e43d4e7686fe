"""Checks of what SIGKILL, and files that were damaged, leave of a duplicates filter."""

from __future__ import annotations

import random
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.crash import Sweep, crash_sweep
from queue_conformance.engine.killpoints import When
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.registry import check
from queue_conformance.faults import disk
from queue_conformance.faults.disk import DiskFault
from queue_conformance.implementations.drivers.base import Item
from queue_conformance.implementations.drivers.component import files_in
from queue_conformance.implementations.drivers.dupefilter import OpenFilter
from queue_conformance.implementations.quoted import running
from queue_conformance.implementations.recording import OperationRaised
from queue_conformance.suites.accidents import is_accident, must_not_be_accident
from queue_conformance.suites.dupefilters import FILTERS
from queue_conformance.suites.dupefilters.commands import size_of_record

MADE_UP = "dupefilter.crash.no-false-positive"
CLEAN = "dupefilter.crash.then-clean"
LOSS = "dupefilter.crash.loss"

COUNTS = (1, 10, 100)
"""Requests after which a process is killed."""

PLACES = 24
"""Places at which a file is cut."""

FRESH = range(1000, 1030)
"""The numbers of requests that are never seen before they are asked for."""


# --- SIGKILL ---------------------------------------------------------------------------------------------------------


WORKLOADS = tuple(" ".join(f"seen:{number}" for number in range(count)) for count in COUNTS)


def losses(sweep: Sweep) -> Iterable[str]:
    """Tell how many fingerprints SIGKILL loses, which is no rule unless the author claims that it is none."""
    by_count = {len(crash.operations): counts for crash, counts in sweep.counts}
    if any(counts["unusable"] for counts in by_count.values()):
        yield f"after SIGKILL it cannot be opened: {min(n for n, counts in by_count.items() if counts['unusable'])} seen before"
    else:
        lost = (f"{by_count[count]['lost']} of {count}" for count in COUNTS if count in by_count)
        yield f"lost after SIGKILL: {', '.join(lost)} fingerprints"


@crash_sweep(LOSS, kinds=FILTERS, workloads=lambda bench: WORKLOADS, ways={When.AFTER, When.LINE}, points=lambda bench: 60)
@crash_sweep(
    MADE_UP,
    name="sigkill",
    kinds=FILTERS,
    workloads=lambda bench: WORKLOADS,
    ways={When.AFTER},
    points=lambda bench: 0,
    note=losses,
)
def sigkill_leaves_what_was_seen(crash, open_filter, request_of, about, rule, tolerated):
    @crash.child
    def died():
        dupefilter = open_filter()
        for operation in crash:
            dupefilter.request_seen(request_of(operation.number))

    with about(rule), tolerated(when=rule == MADE_UP) as refused:  # nobody is deceived by an exception
        dupefilter = open_filter()
        for number in died.stored:
            seen = dupefilter.request_seen(request_of(number))
            crash.tally(lost=int(not seen))
            if rule == LOSS:
                assert seen, "every request seen that was answered before SIGKILL"
        for number in FRESH if rule == MADE_UP else ():
            seen = dupefilter.request_seen(request_of(number))
            assert not seen, "a request new that nobody has seen"
    crash.tally(refused.raised)


# --- Damaged files ---------------------------------------------------------------------------------------------------


@check(MADE_UP, kinds=FILTERS)
def damage_makes_nothing_up(bench: Bench) -> None:
    size = _prepare(bench)
    if not size:
        return
    drawn = random.Random(bench.seed)
    damages = [f"cut_files({bench.driver.job_source()}, {number})" for number in _places(size, PLACES, bench.seed)]
    for length in (1, 2, 3, 7, 20, 50):
        damages += [f"extend_files({bench.driver.job_source()}, {drawn.randbytes(length)!r})"]
        damages += [f"extend_files({bench.driver.job_source()}, bytes({length}))"]
    for damage in damages:
        with bench.collecting():
            _prepare(bench)
            _hurt(bench, damage)
            _expect_fresh(bench)


def _prepare(bench: Bench) -> int:
    """See requests and close; return the size of the largest file."""
    bench.restart()
    dupefilter = bench.open()
    dupefilter.all_seen(bench.driver.requests(0, 8))
    dupefilter.close()
    return max(map(len, files_in(bench.driver.job()).values()), default=0)


def _hurt(bench: Bench, source: str) -> None:
    """Damage the files of a job, and note how."""
    bench.recorder.note(source)
    names: dict[str, Any] = {**vars(running), "directory": str(bench.driver.directory)}
    exec(source, names)


def _expect_fresh(bench: Bench) -> None:
    """Ask for requests that were never seen; an exception is right too: nobody is deceived by it."""
    try:
        with bench.recorder.blame(MADE_UP):
            dupefilter = bench.open()
            seen = dupefilter.all_seen(bench.driver.requests(FRESH.start, FRESH.stop))
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raised.step.refusable = True  # an exception is right
            raise
        bench.examined[MADE_UP] += 1
        return
    bench.recorder.steps[-2].refusable = bench.recorder.steps[-1].refusable = True
    actual = f"{sum(map(bool, seen))} of {len(FRESH)} seen"
    bench.expect(MADE_UP, not any(seen), "none of the new requests seen", actual, "not any(seen)", final=True)


def _places(size: int, number: int, seed: int) -> list[int]:
    """Return how many bytes to cut off: some of all numbers up to a size, always the first few and the last ones."""
    numbers = range(1, size + 1)
    if size <= number:
        return list(numbers)
    drawn = random.Random(seed).sample(numbers[6:-3], number - 9)
    return [*numbers[:6], *sorted(drawn), *numbers[-3:]]


# --- The run after a torn record -------------------------------------------------------------------------------------

_LATER = range(100, 104)
"""The numbers of the requests that are seen after a record was torn."""


@check(CLEAN, kinds=FILTERS)
def runs_after_a_torn_record_are_remembered(bench: Bench) -> None:
    length = size_of_record(bench)
    if length < 2:
        raise NotApplicable("no file is only appended to, so no record can be torn")
    if _forgets(bench, 0):
        raise NotExercised("fingerprints are lost even where nothing is cut")
    refused = 0
    places = _places(length - 1, PLACES // 2, bench.seed)
    for number in places:
        with bench.collecting():
            lost = _forgets(bench, number)
            refused += lost is None
    if refused == len(places):
        raise NotApplicable("it refuses files that are cut")


def _forgets(bench: Bench, number: int) -> bool | None:
    """Cut the last record, see other requests, close, and ask for these; ``None`` if a file that was cut is refused.

    Raises:
        RuleBroken: if requests that were seen after a cut are forgotten.
    """
    requests = bench.driver.requests(_LATER.start, _LATER.stop)
    bench.restart()
    dupefilter = bench.open()
    dupefilter.all_seen(bench.driver.requests(0, 3))
    dupefilter.close()
    if number:
        _hurt(bench, f"cut_files({bench.driver.job_source()}, {number})")
    try:
        with bench.recorder.blame(CLEAN):
            dupefilter = bench.open()
            dupefilter.all_seen(requests)
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raised.step.refusable = True  # an exception is right
            raise
        if number and is_accident(raised.error):
            expected = "the file mended, or an exception that says what is wrong with it"
            bench.fail(CLEAN, expected, raised.error, must_not_be_accident(raised.step.source), replaces=True, final=True)
        return None
    steps = bench.recorder.steps[-2:]
    dupefilter.close(CLEAN)
    dupefilter = bench.open(owner=CLEAN)
    seen = dupefilter.all_seen(requests, owner=CLEAN)
    if number:
        for step in steps:
            step.refusable = True
        actual = f"{sum(not answer for answer in seen)} of {len(_LATER)} not seen"
        bench.expect(CLEAN, all(seen), "all seen that a clean close has stored", actual, "all(seen)", final=True)
    return not all(seen)


# --- The run after a full disk ---------------------------------------------------------------------------------------


@check(CLEAN, kinds=FILTERS, name="full-disk")
def what_follows_a_full_disk_is_remembered(bench: Bench) -> None:
    if not disk.AVAILABLE:
        raise NotExercised("this platform cannot limit the size of files")
    bench.restart()
    usual = disk.Sizes(bench.driver.directory)
    if _forgets_after(bench, usual):
        raise NotExercised("fingerprints are lost even where the disk is not full")
    for limit in disk.places(usual.before, usual.after, 0, bench.seed):
        bench.restart()
        with bench.collecting():
            _forgets_after(bench, disk.SizeLimit(bench.driver.directory, limit))
    if not bench.examined[CLEAN]:
        raise NotApplicable("no fault of the disk reached request_seen")


def _forgets_after(bench: Bench, fault: DiskFault) -> bool:
    """See a request while the disk is full, see others, close, and ask for these.

    Raises:
        RuleBroken: if a fault was felt, and requests that were seen after it are forgotten.
    """
    requests = bench.driver.requests(_LATER.start, _LATER.stop)
    dupefilter = bench.open()
    dupefilter.all_seen(bench.driver.requests(0, 3))
    item = bench.driver.item(9)
    with bench.under(fault):
        bench.recorder.call(f"dupefilter.request_seen({item.source})", CLEAN, _suppressed, dupefilter, item)
    bench.recorder.steps[-1].tolerated = True
    try:
        with bench.recorder.blame(CLEAN):
            dupefilter.all_seen(requests)
            dupefilter.close()
    except OperationRaised as raised:
        if not isinstance(raised.error, Exception):
            raise
        return False  # it gives up, and says so
    dupefilter = bench.open(owner=CLEAN)
    seen = dupefilter.all_seen(requests, owner=CLEAN)
    if fault.hit:
        actual = f"{sum(not answer for answer in seen)} of {len(_LATER)} not seen"
        bench.expect(CLEAN, all(seen), "all seen that came after the disk was full", actual, "all(seen)", final=True)
    return not all(seen)


def _suppressed(dupefilter: OpenFilter, item: Item) -> None:
    with suppress(Exception):
        dupefilter.raw.request_seen(item.value)
