"""Checks of open and close, of the dupefilter, and of the settings that a scheduler is built from."""

import os
from contextlib import chdir

from scrapy.utils.misc import load_object
from twisted.internet.defer import Deferred

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotApplicable
from queue_conformance.kinds.scheduler.faulty import stored
from queue_conformance.kinds.scheduler.fixtures import call_close, call_open, close, drain, settled, urls
from queue_conformance.kinds.scheduler.layout import FIFO, IN_JOB, jobs
from queue_conformance.kinds.scheduler.script_support import NotedFilter, filter_calls, kind_of


@check("scheduler.open.dupefilter", deferred=(False, True))
def the_filter_is_opened_and_closed(noted_filter, build_scheduler, deferred):
    """`open` opens the configured dupefilter and returns its result; `close` closes it with the reason and returns its result."""
    with under_test():
        scheduler = build_scheduler(**noted_filter)
        if deferred:
            NotedFilter.answer = Deferred()
        opened = call_open(scheduler)
        if deferred:
            assert kind_of(opened) == "a Deferred", "open returns a Deferred, as the filter does"
            NotedFilter.answer.callback(None)
        settled(opened)
        assert filter_calls()[-1:] == ["open"], "'open' is called on the filter"
        if deferred:
            NotedFilter.answer = Deferred()
        closed = call_close(scheduler, "shutdown")
        if deferred:
            assert kind_of(closed) == "a Deferred", "close returns a Deferred, as the filter does"
            NotedFilter.answer.callback(None)
        settled(closed)
        assert filter_calls()[-1:] == ["close shutdown"], "'close shutdown' is called on the filter"


@check("scheduler.enqueue.drop-logged")
def a_duplicate_is_reported_to_the_filter(noted_filter, open_scheduler, fresh):
    """A rejected duplicate is reported, once, through the `log(request, spider)` of the dupefilter."""
    scheduler = open_scheduler(holding=[0], **noted_filter)
    with under_test():
        scheduler.enqueue_request(fresh(0))
    logged = [call for call in filter_calls() if call.startswith("log https://example.com/0 ")]
    assert len(logged) == 1, "one call of log(request, spider)"


@check("scheduler.enqueue.drop-logged", name="enqueue.drop-counted")
def duplicates_are_counted(noted_filter, open_scheduler, fresh, stat):
    """A rejected duplicate is reported, once, through the `log(request, spider)` of the dupefilter."""
    scheduler = open_scheduler(DUPEFILTER_CLASS="scrapy.dupefilters.RFPDupeFilter", holding=[0])
    with under_test():
        for _ in range(2):
            scheduler.enqueue_request(fresh(0))
    assert stat(scheduler, "dupefilter/filtered") == 2


# --- The job directory -----------------------------------------------------------------------------------------------


@check("scheduler.open.disk-iff-jobdir", settings=({}, {"JOBDIR": None}, {"JOBDIR": ""}))
def without_a_job_directory_nothing_is_written(context, open_scheduler, faulty_queues, directory, settings):
    """A disk queue is used if and only if `JOBDIR` is a non-empty string; without one nothing is written."""
    if context.driver.always_in_job:
        raise NotApplicable(IN_JOB)
    with under_test(), chdir(directory):
        scheduler = open_scheduler(holding=(0, 8), **faulty_queues, **settings)
        assert stored() == [], "no request on disk"
        close(scheduler)
        assert os.listdir(directory) == [], "nothing written"


@check("scheduler.open.disk-iff-jobdir", name="open.disk")
def with_a_job_directory_requests_go_to_disk(open_scheduler, faulty_queues, fresh):
    """A disk queue is used if and only if `JOBDIR` is a non-empty string; without one nothing is written."""
    with under_test():
        scheduler = open_scheduler("job", **faulty_queues)
        for number in (0, 8):
            scheduler.enqueue_request(fresh(number))
        assert stored() == urls([0, 8]), "both requests on disk"


# --- Settings --------------------------------------------------------------------------------------------------------

NAMED = {
    **FIFO,
    "SCHEDULER_START_DISK_QUEUE": FIFO["SCHEDULER_DISK_QUEUE"],
    "SCHEDULER_START_MEMORY_QUEUE": FIFO["SCHEDULER_MEMORY_QUEUE"],
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
}


@check("scheduler.settings.classes", by_class=(False, True), job=[jobs])
def settings_take_paths_and_classes(open_scheduler, by_class, job):
    """The settings for queues, priority queues and the dupefilter take an import path or a class."""
    with under_test():
        settings = {name: load_object(path) if by_class else path for name, path in NAMED.items()}
        scheduler = open_scheduler(job, holding=(0, 8, 1), **settings)
        assert sorted(drain(scheduler)) == urls([0, 1, 8])


@check("scheduler.settings.classes", name="settings.filter", by_class=(False, True))
def the_filter_is_that_of_the_settings(open_scheduler, fresh, by_class):
    """The settings for queues, priority queues and the dupefilter take an import path or a class."""
    with under_test():
        path = "scrapy.dupefilters.BaseDupeFilter"
        scheduler = open_scheduler(DUPEFILTER_CLASS=load_object(path) if by_class else path, holding=[0])
        accepted = scheduler.enqueue_request(fresh(0))
        assert accepted, "stored again: BaseDupeFilter filters nothing"
