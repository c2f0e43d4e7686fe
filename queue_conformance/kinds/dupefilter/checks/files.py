"""Checks of what is written, logged and counted, and of what close leaves behind."""

import gc
import os
from collections import deque

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.fixtures import offers, turns
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.script_support.support import logged, names_below, open_files

TURNS = 30
"""Times that a filter is opened, used and closed to find what close leaves behind."""


@check("dupefilter.no-jobdir", settings=({}, {"JOBDIR": ""}, {"JOBDIR": None}))
def nothing_is_written_without_a_job_directory(open_filter, request_of, directory, settings):
    """Without a job directory nothing is written."""
    os.chdir(directory)
    dupefilter = open_filter(None, **settings)
    for number in (1, 2, 1):
        dupefilter.request_seen(request_of(number))
    assert names_below(directory) == []  # before it is closed: that may remove them again
    with under_test():
        dupefilter.close("shutdown")
    assert names_below(directory) == []


@check("dupefilter.close.releases")
def close_releases_the_files(begin_crawl, request_of):
    """`close` releases the file."""
    if not open_files():
        raise NotCovered("this platform does not tell which files are open")
    kept = deque()  # forgetting a filter may release what its close does not
    with under_test():
        for turn in turns(1 + TURNS):
            if turn == 1:  # a cache or a pool is made once
                gc.collect()
                before = open_files()
            dupefilter, spider = begin_crawl()
            dupefilter.request_seen(request_of(1))
            dupefilter.close("shutdown")
            kept.append((dupefilter, spider))
        left_open = open_files() - before
        assert left_open < turn // 2, "no file left open by closed filters that are still referenced"


@check("dupefilter.close.twice", depends_on="seen:0 reopen", job=(None, "job"))
def a_second_close_is_harmless(open_filter, request_of, job):
    """`close` twice is harmless."""
    dupefilter = open_filter(job)
    dupefilter.request_seen(request_of(1))
    dupefilter.close("shutdown")
    with under_test():
        dupefilter.close("shutdown")
        if job and offers("persistent"):
            dupefilter = open_filter(job)
            assert dupefilter.request_seen(request_of(1)), "True in the next run"


# --- The log and the statistics --------------------------------------------------------------------------------------


FILTERED = (1, 1, 2)
"""The duplicates."""

FEW: tuple[dict[str, object], ...] = ({}, {"DUPEFILTER_DEBUG": False}, {"DUPEFILTER_DEBUG": "False"})
# Strings, as the command line sets them, mean the same.
ALL: tuple[dict[str, object], ...] = (
    {"DUPEFILTER_DEBUG": True},
    {"DUPEFILTER_DEBUG": "True"},
)


@check("dupefilter.log.first", settings=FEW + ALL)
def one_duplicate_is_logged_or_all_are(logs_itself, begin_crawl, request_of, settings):
    """Without `DUPEFILTER_DEBUG` only the first duplicate is logged, with it every one."""
    dupefilter, spider = begin_crawl(**settings)
    was_logged = []
    with logged() as texts:
        for request in map(request_of, FILTERED):
            if not dupefilter.request_seen(request) and not dupefilter.request_seen(request):
                raise NotCovered("it did not filter an equal request")
            before = len(texts)  # what it logs while it looks, such as each query of a database, is no log of this
            dupefilter.log(request, spider)
            was_logged = [*was_logged, len(texts) > before]
            assert len(texts) == before or request.url in str(texts[before:]), "a log record with the URL of the request"
        only = "each of three duplicates" if settings in ALL else "the first of three duplicates, and no other,"
        assert was_logged == [True, settings in ALL, settings in ALL], (
            f"{only} logged: {[True, settings in ALL, settings in ALL]}"
        )


@check("dupefilter.log.stat", settings=({}, {"DUPEFILTER_DEBUG": True}))
def each_duplicate_is_counted(logs_itself, begin_crawl, request_of, settings):
    """Each duplicate adds one to the statistic `dupefilter/filtered`."""
    dupefilter, spider = begin_crawl(**settings)
    for request in map(request_of, FILTERED):
        if not dupefilter.request_seen(request) and not dupefilter.request_seen(request):
            raise NotCovered("it did not filter an equal request")
        dupefilter.log(request, spider)
    filtered = spider.crawler.stats.get_value("dupefilter/filtered")
    assert filtered == len(FILTERED), f"{len(FILTERED)} duplicates in the stats, as dupefilter/filtered"
