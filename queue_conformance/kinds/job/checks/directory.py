"""Checks of the job directory itself: made, found, refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import chdir
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.faults.filesystem import obey_modes
from queue_conformance.kinds.job.fixtures import spoil
from queue_conformance.kinds.scheduler.fixtures import close, drain, urls
from queue_conformance.kinds.scheduler.layout import IN_JOB
from queue_conformance.script_support.support import names_below


@check("job.created")
def a_missing_directory_is_created(open_scheduler, directory):
    """A job directory that is missing is created, with its parents."""
    with under_test():
        # Without the extension for the state of spiders, which would create it, too.
        scheduler = open_scheduler("a/b/job", EXTENSIONS_BASE={}, holding=[0])
        close(scheduler)
    assert os.path.isdir(directory + "/a/b/job"), "a directory a/b/job"


@check("job.empty-setting", settings=({}, {"JOBDIR": None}, {"JOBDIR": ""}))
def no_directory_means_no_persistence(context, open_scheduler, directory, settings):
    """A `JOBDIR` that is empty, `None` or not set means no persistence: nothing is written anywhere."""
    if context.driver.always_in_job:
        raise NotApplicable(IN_JOB)
    with chdir(directory), under_test():
        scheduler = open_scheduler(holding=[0], **settings)
        close(scheduler)
    assert names_below(directory) == [], "nothing written"


@check("job.path-types")
def a_directory_is_text_or_a_path(open_scheduler, fresh, directory):
    """`JOBDIR` is a `str` or a `pathlib.Path`, and both lead to the same job."""
    path = Path(directory, "job")
    with under_test():
        for number, settings in ((0, {"JOBDIR": path}), (3, {})):
            scheduler = open_scheduler("job", **settings)
            scheduler.enqueue_request(fresh(number))
            close(scheduler)
        scheduler = open_scheduler("job", JOBDIR=path)
        left = drain(scheduler)
    assert sorted(left) == urls([0, 3])


def unusable(context: CheckContext) -> Iterator[str]:
    """Yield the ways in which a job directory cannot be used here."""
    yield "a file"
    if _modes_can_matter(context):
        yield "read-only"
        yield "in a directory that is read-only"
    else:
        context.notes.append("job directories that are read-only not covered (needs Linux, or a user who is not root)")


@check("job.unwritable", way=[unusable])
def a_directory_that_cannot_be_used_is_refused(open_site, directory, way):
    """A job directory that cannot be created or written makes the crawl fail at start, with an exception."""
    site = open_site({0: []})
    if not site.crawl(JOBDIR="usable").hits:
        raise NotCovered("the crawl downloads nothing in a directory that can be used either")
    spoil(directory + "/project/job", way)
    run = site.crawl()
    assert run.hits == [], f"no crawl where the job directory is {way}"
    assert run.ending != "finished", f"an exception where the job directory is {way}"


def _modes_can_matter(context: CheckContext) -> bool:
    """Whether this process can be refused what modes forbid; if it has to give something up for that, it does so."""
    if os.getuid():
        return True
    if not context.owns_process():
        return False
    try:
        obey_modes()
    except (OSError, AttributeError):  # no such functions on this platform
        return False
    return True
