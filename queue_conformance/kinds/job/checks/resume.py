"""Checks of jobs that are stopped and continued, with whole crawls."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from dataclasses import replace

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.registry import check
from queue_conformance.environments.crawls import CONCURRENCY, FREELY, Stop, draw_pages
from queue_conformance.kinds.job.series import (
    COMMAND,
    CONTAINED,
    FINISHED,
    SIGNAL,
    SMALL,
    STATE,
    Plan,
    Series,
    play,
    problems,
    report,
)

PER_SERIES = 50
"""Programs that cost about as much as one series of crawls."""

TO_THE_END = (FREELY, FREELY)
"""The crawl that finishes a job, and one after that."""


@check(COMMAND, STATE, FINISHED, CONTAINED)
def a_stopped_job_is_continued(bench: Bench) -> None:
    interrupt = Stop((signal.SIGINT,), after=2)
    plans = [Plan(SMALL, (interrupt, *TO_THE_END), {"CONCURRENT_REQUESTS": 1})]
    plans += [_drawn(random.Random(f"{bench.seed} {number}")) for number in range(max(2, bench.examples // PER_SERIES))]
    resumed = False
    for plan in bench.each("jobs", plans):
        series = play(bench, plan)
        _judge(bench, series)
        resumed |= series.resumed
    if not resumed:
        raise NotExercised("no crawl left anything to the next one")
    for rule in (COMMAND, STATE, FINISHED, CONTAINED):
        bench.examined[rule] += 1


@check(SIGNAL)
def a_signal_is_a_clean_stop(bench: Bench) -> None:
    for number, plan in enumerate(bench.each("jobs", list(_with_signals(bench)))):
        series = play(bench, plan)
        _judge(bench, series)
        bench.broken.clear()  # what is wrong besides is reported elsewhere
        run = series.runs[0]
        bench.examined[SIGNAL] += bool(run.sent and run.waiting)
        if not run.sent and number < 2:
            raise NotExercised(f"the crawl ended before it could be sent {run.stop.signals[0].name}")


def _drawn(draw: random.Random) -> Plan:
    """Return a plan with two or three stops; each crawl leaves something to the next one, unless many are in flight."""
    number = draw.randrange(14, 21)
    stops = [
        draw.choice((Stop((signal.SIGINT,), after=draw.randrange(5)), Stop(closing=draw.randrange(1, 5))))
        for _ in range(draw.randrange(2, 4))
    ]
    return Plan(draw_pages(draw, number), (*stops, *TO_THE_END), {"CONCURRENT_REQUESTS": draw.choice((1, 2, CONCURRENCY))})


def _with_signals(bench: Bench) -> Iterator[Plan]:
    """Yield plans in which several requests are in flight when a signal comes: each one once, then drawn ones."""
    draw = random.Random(bench.seed)
    both = (signal.SIGINT, signal.SIGTERM)
    for number in both:
        yield Plan(SMALL, (Stop((number,), after=1, held=3), *TO_THE_END))
    for _ in range(max(1, bench.examples // PER_SERIES)):
        stops = [
            Stop((draw.choice(both),), after=draw.randrange(6), held=draw.randrange(1, CONCURRENCY + 1))
            for _ in range(draw.randrange(1, 3))
        ]
        yield Plan(draw_pages(draw, draw.randrange(14, 21)), (*stops, *TO_THE_END))


def _judge(bench: Bench, series: Series) -> None:
    """Report what is wrong.

    Raises:
        RuleBroken: if pages are lost or repeated, under the rule that an ablation says. All else is kept.
    """
    for found in problems(bench, series):
        if found.rule in (COMMAND, SIGNAL):
            if not any(run.hung for run in series.runs):
                _attribute(bench, series)
            report(bench, series, found)
        if found.rule not in bench.broken:
            with bench.collecting():
                report(bench, series, found)


def _attribute(bench: Bench, series: Series) -> None:
    """Look whether a job that is lost after a signal is kept if the spider is closed instead, and report it.

    Raises:
        RuleBroken: unless the problem does not come again.
    """
    for plan in (series.plan.closing(), series.plan):
        again = play(bench, plan)
        found = next((problem for problem in problems(bench, again) if problem.rule in (COMMAND, SIGNAL)), None)
        if found is None:
            continue
        signalled = plan is series.plan and any(stop.signals for stop in plan.stops)
        rule = SIGNAL if signalled else COMMAND
        report(bench, again, replace(found, rule=rule))
