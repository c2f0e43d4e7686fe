"""Checks of open and close, of the duplicates filter, and of the settings that a scheduler is built from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from twisted.internet.defer import Deferred

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.registry import check
from queue_conformance.kinds.scheduler.checks.resuming import stored_by_another, with_damaged_files
from queue_conformance.kinds.scheduler.layout import settings_of
from queue_conformance.kinds.scheduler.scenes import FIFO, SCHEDULERS, case, expect_left, fill, jobs
from queue_conformance.kinds.scheduler.script_support import NotedFilter, Trouble

NOTED = {"DUPEFILTER_CLASS": "NotedFilter"}


def _uses_the_filter(bench: Bench) -> bool:
    """Whether a scheduler uses the filter that DUPEFILTER_CLASS names; found by trying, wherever its requests are."""
    if bench.offers("configurable"):
        return True
    bench.restart()
    try:
        bench.open(NOTED)
    except OperationRaised:  # it wants a filter of another kind
        return False
    finally:
        built = NotedFilter.built
        bench.restart()
    return built > 0


def _expect_to_use_the_filter(bench: Bench) -> None:
    if not _uses_the_filter(bench):
        raise NotApplicable("it does not use the filter that DUPEFILTER_CLASS names")


@check("scheduler.open.dupefilter", kinds=SCHEDULERS)
def the_filter_is_opened_and_closed(bench: Bench) -> None:
    _expect_to_use_the_filter(bench)
    for deferred in (False, True):
        with case(bench), bench.recorder.blame("scheduler.open.dupefilter"):
            _with_filter(bench, deferred=deferred)


def _with_filter(bench: Bench, *, deferred: bool) -> None:
    rule = "scheduler.open.dupefilter"
    scheduler = bench.driver.build(NOTED)
    for name, call in {"open": "open", "close": "close shutdown"}.items():
        answer = Deferred[None]() if deferred else None
        if deferred:
            bench.recorder.note("NotedFilter.answer = answer = Deferred()")
        NotedFilter.answer = answer  # type: ignore[assignment]
        result = scheduler.open(settled=False) if name == "open" else scheduler.close("shutdown", settled=False)
        asked = NotedFilter.calls
        expected = f"{call!r} is called on the filter"
        bench.expect(rule, asked[-1:] == [call], expected, f"its calls are {asked}", f"NotedFilter.calls[-1:] == [{call!r}]")
        variable = "opened" if name == "open" else "closed"
        waits = result is answer or (isinstance(result, Deferred) and not result.called)
        assertion = f"{variable} is answer or isinstance({variable}, Deferred) and not {variable}.called"
        bench.expect(rule, waits or not deferred, f"{name} returns the Deferred of the filter", result, assertion)


@check("scheduler.enqueue.drop-logged", kinds=SCHEDULERS)
def a_duplicate_is_reported_to_the_filter(bench: Bench) -> None:
    rule = "scheduler.enqueue.drop-logged"
    _expect_to_use_the_filter(bench)
    scheduler = bench.open(NOTED)
    fill(bench, scheduler, 0)
    scheduler.enqueue(bench.driver.fresh(0), rule)
    logged = [call for call in NotedFilter.calls if call.startswith("log https://example.com/0 ")]
    assertion = "sum(call.startswith('log https://example.com/0 ') for call in NotedFilter.calls) == 1"
    bench.expect(rule, len(logged) == 1, "one call of log(request, spider)", f"the calls are {NotedFilter.calls}", assertion)
    with case(bench):
        scheduler = bench.open({"DUPEFILTER_CLASS": '"scrapy.dupefilters.RFPDupeFilter"'})
        fill(bench, scheduler, 0)
        for _ in range(2):
            scheduler.enqueue(bench.driver.fresh(0), rule)
        count = scheduler.crawler.stats.get_value("dupefilter/filtered", 0)
        expected = 'crawler.stats.get_value("dupefilter/filtered", 0) == 2'
        bench.expect(rule, count == 2, "dupefilter/filtered is 2", describe(count), expected)


# --- The job directory -----------------------------------------------------------------------------------------------


@check("scheduler.open.disk-iff-jobdir", kinds=SCHEDULERS)
def the_disk_is_used_with_a_job_directory_only(bench: Bench) -> None:
    rule = "scheduler.open.disk-iff-jobdir"
    cases: list[tuple[dict[str, str], str | None]] = [
        ({}, None),
        ({"JOBDIR": "None"}, None),
        ({"JOBDIR": '""'}, None),
        ({}, "job"),
    ]
    for settings, job in cases:
        with case(bench), bench.recorder.blame(rule), _inside(bench):
            scheduler = bench.open({**settings_of(bench), **settings}, job=job)
            fill(bench, scheduler, 0, 8)
            count = 2 if job else 0
            actual = f"{len(Trouble.stored)} of 2 requests on disk"
            bench.expect(rule, len(Trouble.stored) == count, f"{count} of 2", actual, f"len(Trouble.stored) == {count}")
            scheduler.close()
            if not job:
                found = [str(path.relative_to(bench.driver.directory)) for path in bench.driver.directory.rglob("*")]
                bench.recorder.note("found = os.listdir(directory) + os.listdir()")
                bench.expect(rule, not found, "nothing written", f"{', '.join(found[:3])} written", "not found")


@contextmanager
def _inside(bench: Bench) -> Iterator[None]:
    """Work in the directory of the bench, so that what is written to a relative path shows."""
    before = os.getcwd()
    os.chdir(bench.driver.directory)
    bench.recorder.note("os.chdir(directory)")
    try:
        yield
    finally:
        os.chdir(before)


@check("scheduler.close.after-failed-open", kinds=SCHEDULERS)
def close_works_after_an_open_that_failed(bench: Bench) -> None:
    rule = "scheduler.close.after-failed-open"
    noted = _uses_the_filter(bench)
    for prepare in (stored_by_another, with_damaged_files):
        for settings in prepare(bench):
            with bench.collecting():
                scheduler = bench.driver.build({**settings, **(NOTED if noted else {})}, job="job")
                NotedFilter.calls.clear()
                bench.recorder.note("NotedFilter.calls.clear()")
                try:
                    scheduler.open()
                except OperationRaised:
                    scheduler.close("shutdown", rule)
                else:
                    continue
                if not noted:
                    bench.examined[rule] += 1
                    continue
                asked = NotedFilter.calls
                closed = any(call.startswith("close ") for call in asked)
                assertion = "any(call.startswith('close ') for call in NotedFilter.calls)"
                bench.expect(rule, closed, "close is called on the filter", f"its calls are {asked}", assertion)
    if not bench.examined[rule] and rule not in bench.broken:
        if not bench.offers("configurable"):
            raise NotApplicable("there is no damage to its files for which open raises")
        raise NotExercised("open never raised")


# --- Settings --------------------------------------------------------------------------------------------------------

FORMS = ("{}", "load_object({})")
"""A path, and a class."""

NAMED = {
    **FIFO,
    "SCHEDULER_START_DISK_QUEUE": FIFO["SCHEDULER_DISK_QUEUE"],
    "SCHEDULER_START_MEMORY_QUEUE": FIFO["SCHEDULER_MEMORY_QUEUE"],
    "SCHEDULER_PRIORITY_QUEUE": '"scrapy.pqueues.ScrapyPriorityQueue"',
}


@check("scheduler.settings.classes", kinds=SCHEDULERS)
def settings_take_paths_and_classes(bench: Bench) -> None:
    rule = "scheduler.settings.classes"
    for form in FORMS:
        for job in jobs(bench):
            with case(bench), bench.recorder.blame(rule):
                settings = {name: form.format(source) for name, source in NAMED.items()}
                scheduler = bench.open(settings, job=job)
                fill(bench, scheduler, 0, 8, 1)
                expect_left(bench, rule, scheduler, [0, 1, 8], ordered=False, blamed=True)
        with case(bench), bench.recorder.blame(rule):
            source = form.format('"scrapy.dupefilters.BaseDupeFilter"')
            scheduler = bench.open({"DUPEFILTER_CLASS": source})
            fill(bench, scheduler, 0)
            accepted = scheduler.enqueue(bench.driver.fresh(0))
            bench.expect(rule, bool(accepted), "stored again: BaseDupeFilter filters nothing", accepted, "accepted")
