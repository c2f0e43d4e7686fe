"""Checks of jobs that were not stopped cleanly: by a second signal, and by one that cannot be caught."""

from __future__ import annotations

import random
import signal
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.recording import OperationRaised
from queue_conformance.engine.registry import check
from queue_conformance.environments.crawls import FREELY, Crawled, Pages, Stop, draw_pages
from queue_conformance.kinds.job.checks.resume import PER_SERIES
from queue_conformance.kinds.job.series import SMALL, Plan, Problem, Series, play, report

SECOND, KILLED = "job.second-signal", "job.sigkill"

TWICE = (signal.SIGINT, signal.SIGINT)


@check(SECOND)
def a_forced_stop_leaves_a_directory_that_works(bench: Bench) -> None:
    forced = Stop(TWICE, after=1, held=2)
    for stops in ((forced, FREELY), (Stop((signal.SIGINT,), after=1), forced, FREELY)):
        plan = Plan(SMALL, stops, {"CONCURRENT_REQUESTS": 2})
        series = play(bench, plan)
        if series.runs[len(stops) - 2].sent < 2:
            raise NotExercised("the crawl ended before it could be sent the second SIGINT")
        bench.examined[SECOND] += 1
        if trouble := _unusable(series):
            if _unusable(play(bench, plan.closing())):
                raise NotExercised("the directory does not work after a clean stop either")
            report(bench, play(bench, plan), trouble)
    _note_what_a_kill_leaves(bench)
    _note_what_a_pause_leaves(bench)


def _unusable(series: Series) -> Problem | None:
    last = series.runs[-1]
    if last.finished and not last.hung:
        return None
    number = len(series.runs)
    expected = f"crawl {number} starts, and ends when nothing is left to do"
    actual = "it did not end" if last.hung else last.trouble or f"it ended with status {last.status}"
    tail = ["assert any('Spider closed (finished)' in line for line in runs[-1]), ended(runs[-1])"]
    return Problem(SECOND, expected, actual, tail, number)


# --- SIGKILL ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Toll:
    """What kills cost.

    Attributes:
        lost: pages that were never downloaded although a page that links to them was done with.
        again: pages that were downloaded again although they were not in flight in a kill.
        spared: how many pages may be lost.
    """

    lost: tuple[int, ...]
    again: tuple[int, ...]
    spared: int


def toll(pages: Pages, runs: Sequence[Crawled], concurrency: int) -> Toll:
    """Account for the pages of a job that was killed.

    What is in flight is at most what the downloader holds; but of the last page whose callback had ended, nobody knows
    whether the links of it had been stored.

    Args:
        pages: the site.
        runs: the crawls.
        concurrency: requests that each had in flight at most.
    """
    unsure: Counter[int] = Counter()
    done = set()
    for run in runs:
        killed = bool(run.sent)
        last = run.parsed[-concurrency:] if killed else ()
        unsure.update({page for page in run.hits if page not in run.parsed or page in last} if killed else ())
        done |= {page for page in run.parsed if page not in last}
    hits = Counter(page for run in runs for page in run.hits)
    linked = {0, *(link for page in done for link in pages[page])}
    lost = tuple(sorted(page for page in linked if not hits[page]))
    again = tuple(sorted(page for page, count in hits.items() if count - 1 > unsure[page]))
    return Toll(lost, again, spared=concurrency * sum(bool(run.sent) for run in runs))


def _killing(draw: random.Random, kills: int) -> Plan:
    pages = draw_pages(draw, 24)
    pages[0] = sorted({*pages[0], *range(1, 13)})
    stops = [Stop((signal.SIGKILL,), after=draw.randrange(2, 5)) for _ in range(kills)]
    return Plan(pages, (*stops, FREELY), {"CONCURRENT_REQUESTS": 1})


def _note_what_a_kill_leaves(bench: Bench) -> None:
    """Tell what a job loses that is not declared crash-safe, and may."""
    if bench.offers("crash-safe"):
        return
    plan = _killing(random.Random(bench.seed), 1)
    series = play(bench, plan)
    if not series.runs[0].sent:
        return
    found = toll(plan.pages, series.runs, 1)
    if not series.runs[-1].finished:
        bench.notes.append("job: after SIGKILL the crawl does not start or does not end")
        return
    missing = len(plan.pages) - len(set(series.hits))
    bench.notes.append(f"job: after SIGKILL {missing} of {len(plan.pages)} pages are lost, {len(found.again)} downloaded again")


def _note_what_a_pause_leaves(bench: Bench) -> None:
    """Tell what becomes of a request that cannot be serialized, and may get lost."""
    bench.restart()
    request = bench.driver.evaluate('Request("https://example.com/0", meta={"value": lambda: None})')
    try:
        scheduler = bench.driver.open(job="job")
        scheduler.enqueue(request)
        scheduler.close("shutdown")
        left = bench.driver.open(job="job").drain()
    except OperationRaised:
        return
    bench.notes.append(f"job: a request that cannot be serialized {'survives' if left else 'is lost at'} a pause")


@check(KILLED)
def a_killed_job_is_continued(bench: Bench) -> None:
    draw = random.Random(bench.seed)
    for _ in bench.each("jobs", range(max(2, bench.examples // PER_SERIES))):
        plan = _killing(draw, 3)
        series = play(bench, plan)
        if not all(run.sent for run in series.runs[:-1]):
            if series.runs[0].sent and series.runs[-1].finished:
                _account(bench, series)
            raise NotExercised("a crawl ended before it could be killed")
        _account(bench, series)
        bench.examined[KILLED] += 1


def _account(bench: Bench, series: Series) -> None:
    """Report what the kills cost, if it is too much."""
    number = len(series.runs)
    last = series.runs[-1]
    kills = sum(bool(run.sent) for run in series.runs)
    if not last.finished:
        actual = "it did not end" if last.hung else last.trouble or f"it ended with status {last.status}"
        tail = ["assert any('Spider closed (finished)' in line for line in runs[-1]), ended(runs[-1])"]
        report(bench, series, Problem(KILLED, "the job goes on after SIGKILL", actual, tail, number))
    found = toll(series.plan.pages, series.runs, 1)
    if len(found.lost) > found.spared:
        gone = [page for page in series.plan.pages if page not in series.hits]
        tail = [f"lost = set(range({len(series.plan.pages)})) - set(site.hits)"]
        tail += [f"assert len(lost) <= {kills}, f'never downloaded: {{lost}}'"]
        expected = f"at most the {kills} in flight lost"
        report(bench, series, Problem(KILLED, expected, f"never downloaded: {', '.join(map(str, gone))}", tail, number))
    if found.again and bench.offers("filters"):
        tail = ["again = [page for page in set(site.hits) if site.hits.count(page) > 1]"]
        tail += [f"assert len(again) <= {2 * kills}, f'downloaded again: {{again}}'"]
        actual = f"downloaded again: {', '.join(map(str, found.again))}"
        report(bench, series, Problem(KILLED, "only what was in flight downloaded again", actual, tail, number))
