"""Checks of a crawl that continues with other settings, or with files that are damaged: everything comes, or something raises."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from itertools import permutations
from typing import Any, NamedTuple

from queue_conformance.engine.blocks import may_raise, may_refuse, under_test
from queue_conformance.engine.cases import FaultMissed
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import offers, shortened_file
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.engine.samples import MOST_FILES
from queue_conformance.kinds.scheduler.checks.resuming import PRIORITY_QUEUES, RESUMABLE
from queue_conformance.kinds.scheduler.fixtures import call_open, close, drain, enqueue_many, list_otherwise, urls
from queue_conformance.kinds.scheduler.script_support import NotedFilter, RefusingFilter, ShelfQueue, damage_file, filter_calls
from queue_conformance.script_support.support import logged


@check(
    "scheduler.resume.settings-changed",
    depends_on=RESUMABLE,
    change=(
        {"SCHEDULER_START_DISK_QUEUE": None},
        {"SCHEDULER_DISK_QUEUE": "scrapy.squeues.MarshalLifoDiskQueue"},
        {"SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue"},
        {"SCHEDULER_START_DISK_QUEUE": "scrapy.squeues.PickleLifoDiskQueue"},
    ),
)
def other_settings_hide_nothing(open_scheduler, default_queues, change):
    """Resuming with other queues, or without start queues, never hides requests: they come, or an exception says that they
    cannot.
    """
    scheduler = open_scheduler("job", holding=(0, 3, 8, 11), **default_queues)
    close(scheduler)
    with may_refuse() as refused:
        scheduler = open_scheduler("job", **{**default_queues, **change})
        left = drain(scheduler)
    if not refused:
        assert sorted(left) == sorted(urls([0, 3, 8, 11])), "all 4 requests, or an exception"


class Damage(NamedTuple):
    """What happens to the state of a job.

    Attributes:
        before: the settings of the run that stored it.
        after: those of the next run.
        file: the path below the scratch directory of a file that is damaged, if one is.
        size: its new size; ``None`` if it keeps its size, and a URL in it becomes none.
    """

    before: Mapping[str, Any]
    after: Mapping[str, Any]
    file: str = ""
    size: int | None = None


SHELVES = {"SCHEDULER_DISK_QUEUE": ShelfQueue, "SCHEDULER_START_DISK_QUEUE": ShelfQueue, "DUPEFILTER_CLASS": NotedFilter}
"""With these no file holds a request, so that all files are about them."""


def _files_of_a_job(context: CheckContext, settings: Mapping[str, Any]) -> dict[str, bytes]:
    """Return what a job stores for three requests, by path below the scratch directory."""
    context.restart()
    scheduler = context.driver.open(settings, job="job")
    for number in (0, 3, 20):
        scheduler.enqueue_request(context.driver.fresh(number))
    scheduler.close()
    found = sorted(path for path in context.driver.job().rglob("*") if path.is_file() and path.stat().st_size)
    return {str(path.relative_to(context.driver.directory)): path.read_bytes() for path in found}


def damages(context: CheckContext) -> Iterator[Damage]:
    """Yield priority queues that read what others wrote, where settings name them, and damage to each file."""
    configurable = context.offers("configurable")
    if configurable:
        for one, other in permutations(PRIORITY_QUEUES, 2):
            yield Damage({"SCHEDULER_PRIORITY_QUEUE": one}, {"SCHEDULER_PRIORITY_QUEUE": other})
    settings = SHELVES if configurable else {}
    stored, again = _files_of_a_job(context, settings), _files_of_a_job(context, settings)
    files = {name: content for name, content in stored.items() if name in again}
    if stored and not files and not configurable:
        raise NotCovered("its files have other names in each run")
    for name, content in files.items():
        yield Damage(settings, settings, name, len(content) // 2)
        if configurable:
            yield Damage(settings, settings, name, 0)
        elif b"://example.com/3" in content:
            yield Damage(settings, settings, name)


@check("scheduler.open.incompatible", depends_on=RESUMABLE, damage=[damages])
def state_that_cannot_be_used_is_not_ignored(open_scheduler, default_queues, directory, damage):
    """Persisted state that cannot be used makes the scheduler raise when it is built or opened, unless everything is restored
    nevertheless; it is never silently ignored.
    """
    scheduler = open_scheduler("job", holding=(0, 3, 20), **{**default_queues, **damage.before})
    close(scheduler)
    if damage.file:
        damage_file(f"{directory}/{damage.file}", damage.size)
    with may_refuse() as refused:
        scheduler = open_scheduler("job", **{**default_queues, **damage.after})
        left = drain(scheduler)
    if not refused:
        assert sorted(left) == urls([0, 3, 20]), "all 3 requests, or an exception"


LISTED = 4
"""Requests whose fingerprints are in a file of another format."""


@check("dupefilter.format.unknown", depends_on=RESUMABLE, binary=(False, True))
def what_others_list_as_seen_is_not_misread(answers_for_filter, open_scheduler, directory, binary):
    """A file that was written in another format is refused, by an exception or a warning in the log, or understood, but not
    misread in silence.
    """
    scheduler = open_scheduler("job")
    accepted = enqueue_many(scheduler, range(LISTED))
    drain(scheduler)
    close(scheduler)
    changed = list_otherwise(directory + "/job", accepted, binary)
    if changed == 0:
        raise NotApplicable("none of its files lists the fingerprints of what was seen")
    with under_test(), logged(logging.WARNING) as texts, may_raise() as refused:
        scheduler = open_scheduler("job")
        known = enqueue_many(scheduler, range(LISTED))
        new = enqueue_many(scheduler, range(LISTED, 2 * LISTED))
    if not refused and not texts:
        assert known == [], "an exception, a warning, or the 4 fingerprints of the file known"
        assert len(new) == LISTED, "an exception, a warning, or nothing seen that is not in the file"


def refused_damages(context: CheckContext) -> Iterator[Damage]:
    """Yield damages; that none of its own files hurts a scheduler is fine."""
    yield from damages(context)
    if not context.offers("configurable") and not context.has_tested("scheduler.close.after-failed-open"):
        raise NotApplicable("there is no damage to its files for which open raises")


@check("scheduler.close.after-failed-open", damage=[refused_damages])
def close_works_after_an_open_that_failed(build_scheduler, open_scheduler, default_queues, filter_if_used, directory, damage):
    """`close` after an `open` that raised does not raise, and closes the dupefilter."""
    scheduler = open_scheduler("job", holding=(0, 3, 20), **{**default_queues, **damage.before})
    close(scheduler)
    if damage.file:
        damage_file(f"{directory}/{damage.file}", damage.size)
    scheduler = build_scheduler("job", **{**default_queues, **damage.after, **filter_if_used})
    NotedFilter.calls.clear()
    with may_raise() as failed:
        call_open(scheduler, wait=True)
    if not failed:
        raise FaultMissed("open never raised")
    with under_test():
        close(scheduler, "shutdown")
    if filter_if_used:
        closed = [call for call in filter_calls() if call.startswith("close ")]
        assert closed, "close is called on the filter"


# --- What a start that is refused leaves -----------------------------------------------------------------------------

STORED = (0, 3, 20)
REFUSALS: tuple[dict[str, Any], ...] = (
    *({"SCHEDULER_PRIORITY_QUEUE": each} for each in PRIORITY_QUEUES),
    {"DUPEFILTER_CLASS": RefusingFilter},
)
"""Settings with which a scheduler that uses them may refuse to continue a job."""


def refused_starts(context: CheckContext) -> Iterator[tuple[dict[str, Any], int | None]]:
    """Yield what a scheduler may refuse: settings, or a file of the job that is too short, where no settings name its parts."""
    if context.offers("configurable"):
        for settings in REFUSALS:
            yield settings, None
        return
    if not context.offers("filesystem"):
        raise NotApplicable("needs filesystem")
    for number in range(MOST_FILES):
        yield {}, number


@check("scheduler.open.refused-keeps", depends_on=(f"{RESUMABLE} enqueue:0", "resume.part"), start=[refused_starts])
def a_refused_start_keeps_the_job(build_scheduler, open_scheduler, fresh, directory, start):
    """A start that is refused, and closed, keeps the job: the next right start has every pending request, and knows what was
    seen.
    """
    settings, file = start
    scheduler = open_scheduler("job", holding=STORED)
    close(scheduler)
    with shortened_file(directory + "/job", file):
        with may_raise() as refused:
            scheduler = build_scheduler("job", **settings)
            call_open(scheduler, wait=True)
        if not refused:
            raise FaultMissed("it refuses nothing")
        with may_raise():
            close(scheduler, "shutdown")
    with under_test():
        scheduler = open_scheduler("job")
        left = drain(scheduler)
        assert sorted(left) == sorted(urls(STORED))
        if offers("filters"):
            accepted = scheduler.enqueue_request(fresh(STORED[0]))
            assert not accepted, "a false result, as it was seen"
