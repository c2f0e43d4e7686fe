"""Checks of the job directory itself: made, found, contained, refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotApplicable, NotExercised
from queue_conformance.engine.registry import check
from queue_conformance.environments.crawls import FREELY, Pages
from queue_conformance.faults.filesystem import obey_modes
from queue_conformance.kinds.job.series import JOB, Plan, Problem, play, report

CREATED, EMPTY, PATHS, UNWRITABLE = "job.created", "job.empty-setting", "job.path-types", "job.unwritable"


@check(CREATED)
def a_missing_directory_is_created(bench: Bench) -> None:
    with bench.recorder.blame(CREATED):
        # Without the extension for the state of spiders, which would create it, too.
        scheduler = bench.driver.open({"EXTENSIONS_BASE": "{}"}, job="a/b/job")
        scheduler.enqueue(bench.driver.item(0))
        scheduler.close()
    made = bench.driver.job("a/b/job").is_dir()
    bench.expect(CREATED, made, "a directory a/b/job", "none", "Path(directory, 'a/b/job').is_dir()", final=True)


@check(EMPTY)
def no_directory_means_no_persistence(bench: Bench) -> None:
    if bench.driver.has_job and not bench.offers("configurable"):
        raise NotApplicable("it is tested with a job directory only: its settings name one")
    for setting in (None, "None", '""'):
        with bench.collecting():
            bench.restart()
            with _working_in(bench) as place, bench.recorder.blame(EMPTY):
                scheduler = bench.driver.open({} if setting is None else {"JOBDIR": setting})
                scheduler.enqueue(bench.driver.item(0))
                scheduler.close()
                found = sorted(str(path.relative_to(place)) for path in place.rglob("*") if path.is_file())
            assertion = "not [path for path in Path().rglob('*') if path.is_file()]"
            bench.expect(EMPTY, not found, "nothing written", f"{', '.join(found)} written", assertion, final=True)


@contextmanager
def _working_in(bench: Bench) -> Iterator[Path]:
    """Make the scratch directory the working directory."""
    before = Path.cwd()
    bench.recorder.note("os.chdir(directory)")
    os.chdir(bench.driver.directory)
    try:
        yield bench.driver.directory
    finally:
        os.chdir(before)


@check(PATHS)
def a_directory_is_text_or_a_path(bench: Bench) -> None:
    bench.driver.names["directory"] = str(bench.driver.directory)
    path = {"JOBDIR": 'Path(directory, "job")'}
    numbers = (0, 3)
    with bench.recorder.blame(PATHS):
        for settings, number in ((path, 0), (None, 3)):
            scheduler = bench.driver.open(settings, job="job")
            scheduler.enqueue(bench.driver.item(number))
            scheduler.close()
        left = bench.driver.open(path, job="job").drain()
    expected = sorted(bench.driver.url(number) for number in numbers)
    bench.expect(PATHS, sorted(left) == expected, f"{expected} after resuming", left, f"sorted(left) == {expected}", final=True)


# --- What is refused -------------------------------------------------------------------------------------------------


@check(UNWRITABLE)
def a_directory_that_cannot_be_used_is_refused(bench: Bench) -> None:
    one_page: Pages = {0: []}
    if play(bench, Plan(one_page, (FREELY,))).hits != [0]:
        raise NotExercised("the crawl downloads nothing in a directory that can be used either")
    places = [("a file", (f"Path(directory, '{JOB}').write_text('')",))]
    if _modes_can_matter(bench):
        obey = ("obey_modes()",) if os.getuid() == 0 else ()
        places += [("read-only", (f"Path(directory, '{JOB}').mkdir(0o555)", *obey))]
        places += [("in a directory that is read-only", ("Path(directory).chmod(0o555)", *obey))]
    else:
        bench.notes.append("job directories that are read-only not exercised (needs Linux, or a user who is not root)")
    for where, lines in places:
        series = play(bench, Plan(one_page, (FREELY,), before=lines))
        bench.examined[UNWRITABLE] += 1
        (run,) = series.runs
        expected = f"no crawl where {JOB} is {where}"
        if run.hits:
            tail = ["assert not site.hits, f'downloaded {site.hits}'"]
            report(bench, series, Problem(UNWRITABLE, expected, "a crawl as if nothing were wrong", tail, 1))
        if run.hung or not (run.trouble or run.status):
            tail = ["assert any('Error' in line for line in runs[-1]), ended(runs[-1])"]
            report(bench, series, Problem(UNWRITABLE, f"an exception where {JOB} is {where}", "none", tail, 1))


def _modes_can_matter(bench: Bench) -> bool:
    """Whether this process can be refused what modes forbid; if it has to give something up for that, it does so."""
    if os.getuid():
        return True
    if not bench.isolated:
        return False
    try:
        obey_modes()
    except (OSError, AttributeError):  # no such functions on this platform
        return False
    return True
