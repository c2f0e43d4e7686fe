"""Checks of jobs that are stopped and continued, with whole crawls."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator, Mapping
from typing import Any

from queue_conformance.engine.blocks import subtest, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.environments.crawls import CONCURRENCY, draw_pages
from queue_conformance.kinds.job.plans import PER_JOB, SMALL, Plan, each, interrupted


def stopped(context: CheckContext) -> Iterator[Plan]:
    """Yield plans with one to three stops; each crawl leaves something to the next one, unless many are in flight."""
    yield Plan("job.resume.signal", [interrupted(signal.SIGINT, after=2)], SMALL, {"CONCURRENT_REQUESTS": 1})
    for number in range(max(2, context.examples // PER_JOB)):
        draw = random.Random(f"{context.seed} {number}")
        stops = [
            draw.choice((interrupted(signal.SIGINT, after=draw.randrange(5)), {"closing": draw.randrange(1, 5)}))
            for _ in range(draw.randrange(2, 4))
        ]
        rule = "job.resume.signal" if any("sending" in stop for stop in stops) else "job.resume.command"
        settings = {"CONCURRENT_REQUESTS": draw.choice((1, 2, CONCURRENCY))}
        yield Plan(rule, stops, draw_pages(draw, draw.randrange(14, 21)), settings)


def signalled(context: CheckContext) -> Iterator[Plan]:
    """Yield plans in which several requests are in flight when a signal comes: each one once, then drawn ones."""
    draw = random.Random(context.seed)
    both = (signal.SIGINT, signal.SIGTERM)
    for number in both:
        yield Plan("job.resume.signal", [interrupted(number, after=1, held=3)])
    for _ in range(max(1, context.examples // PER_JOB)):
        stops = [
            interrupted(draw.choice(both), after=draw.randrange(6), held=draw.randrange(1, CONCURRENCY + 1))
            for _ in range(draw.randrange(1, 3))
        ]
        yield Plan("job.resume.signal", stops, draw_pages(draw, draw.randrange(14, 21)))


@check("job.resume.signal", depends_on="resume.reasons", plan=[each(signalled)])
@check(
    "job.resume.command",
    "job.resume.state",
    "job.resume.finished",
    "job.contained",
    depends_on="resume.reasons",
    plan=[each(stopped)],
)
def a_stopped_job_is_continued(open_site, plan):
    """One SIGINT or SIGTERM is a clean stop: requests in flight are finished, and the others persist.

    A crawl that was stopped cleanly is continued by the same command: over all runs every request is downloaded, and none
    twice.
    """
    site = open_site(plan.pages, **plan.settings)
    with under_test(plan.rule):
        for stop in (*plan.stops, {}):
            run = site.crawl(**stop)
            if run.hung:
                break
            assert run.unparsed == [], "the callback for every page in flight"
            if run.finished:
                break
        missing = site.missing()
        if 0 in missing:
            assert run.error == "", "a crawl that downloads page 0"
        assert run.ending == "finished"
        assert missing == [], "every page downloaded"
        if offers("filters"):
            assert site.repeated() == [], "no page downloaded more than once"
    strays, counts = site.strays(), site.counts()
    with subtest("job.contained"):
        assert strays == [], "nothing new beside the job directory"
    with subtest("job.resume.state"):
        assert counts == [*range(1, 1 + len(counts))], "a count in spider.state that goes on"
    if offers("filters"):
        again = site.crawl().hits
        with subtest("job.resume.finished"):
            assert again == [], "nothing downloaded after the job finished"
    if not site.resumed():
        raise NotCovered("no crawl left anything to the next one")


# --- A start that is refused -----------------------------------------------------------------------------------------


REFUSING = {"ITEM_PIPELINES": {"queue_conformance.environments.site.RefusingPipeline": 1}}
"""Settings with which a crawl ends before its spider is opened, and its scheduler has been."""


def refused_starts(context: CheckContext) -> Iterator[Mapping[str, Any]]:
    """Yield settings of a start that is refused; where that loses something, none, for what is lost anyway is no matter of it."""
    yield REFUSING
    if failure := context.failed.pop("job.resume.refused-keeps", None):
        yield {}
        if context.failed.pop("job.resume.refused-keeps", None):
            raise NotCovered("it fails where no start is refused, too")
        raise failure


@check("job.resume.refused-keeps", settings=[refused_starts])
def a_refused_start_keeps_the_job(open_site, settings):
    """A start that is refused once the scheduler is open, and closed again, leaves the job as it was: the next start goes on
    with it.
    """
    site = open_site(SMALL, CONCURRENT_REQUESTS=1)
    with under_test():
        site.crawl(closing=2)
        if settings:
            run = site.crawl(**settings)
            if run.hits:
                raise NotCovered("a crawl goes on although a pipeline cannot be opened")
        run = site.crawl()
        assert run.ending == "finished", "the job goes on after a start that was refused"
        assert site.missing() == [], "every page downloaded"
        if offers("filters"):
            assert site.repeated() == [], "no page downloaded more than once"
    if not site.resumed():
        raise NotCovered("the first crawl left nothing to the others")
