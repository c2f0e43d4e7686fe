"""Checks of what is written, and of what close leaves behind."""

import gc
import os
from collections import deque

from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.script_support.support import names_below, open_files

TURNS = 30
"""Times that a filter is opened, used and closed to find what close leaves behind."""


@check("dupefilter.no-jobdir", settings=({}, {"JOBDIR": ""}, {"JOBDIR": None}))
def nothing_is_written_without_a_job_directory(open_filter, request_of, directory, about, rule, settings):
    os.chdir(directory)
    dupefilter = open_filter(None, **settings)
    for number in (1, 2, 1):
        dupefilter.request_seen(request_of(number))
    assert names_below(directory) == []  # before it is closed: that may remove them again
    with about(rule):
        dupefilter.close("finished")
    assert names_below(directory) == []


@check("dupefilter.close.releases")
def close_releases_the_files(begin_crawl, request_of, turns, about, rule):
    if not open_files():
        raise NotCovered("this platform does not tell which files are open")
    kept = deque()  # forgetting a filter may release what its close does not
    with about(rule):
        for turn in turns(1 + TURNS):
            if turn == 1:  # a cache or a pool is made once
                gc.collect()
                before = open_files()
            dupefilter, spider = begin_crawl()
            dupefilter.request_seen(request_of(1))
            dupefilter.close("finished")
            kept.append((dupefilter, spider))
        left_open = open_files() - before
        assert left_open < turn // 2, "no file left open by filters that were closed"


@check("dupefilter.close.twice", presupposes="seen:0 reopen", job=(None, "job"))
def a_second_close_is_harmless(context, open_filter, request_of, about, rule, job):
    dupefilter = open_filter(job)
    dupefilter.request_seen(request_of(1))
    dupefilter.close("finished")
    with about(rule):
        dupefilter.close("finished")
        if job and context.offers("persistent"):
            dupefilter = open_filter(job)
            assert dupefilter.request_seen(request_of(1)), "True in the next run"
