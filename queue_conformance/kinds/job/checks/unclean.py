"""Checks of jobs that were not stopped cleanly: by a second signal, and by one that cannot be caught."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator

from scrapy import Request

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.child import expect_fork
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import made, note, offers
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.environments.crawls import draw_pages
from queue_conformance.kinds.job.plans import PER_JOB, SMALL, Plan, each, interrupted
from queue_conformance.kinds.scheduler.fixtures import close, drain


def forced(context: CheckContext) -> Iterator[Plan]:
    """Yield plans that end in a forced stop."""
    twice = interrupted(signal.SIGINT, signal.SIGINT, after=1, held=2)
    for before in ([], [interrupted(signal.SIGINT, after=1)]):
        yield Plan("job.second-signal", [*before, twice], SMALL, {"CONCURRENT_REQUESTS": 2})


@check("job.second-signal", plan=[each(forced)])
def a_forced_stop_leaves_a_directory_that_works(open_site, plan):
    """A forced stop (a second SIGINT) does not make the job directory unusable: the next run starts, and ends by itself."""
    site = open_site(plan.pages, **plan.settings)
    for stop in plan.stops:
        run = site.crawl(**stop)
        if len(run.sent) < len(stop.get("sending", ())):
            raise NotCovered("the crawl ended before it could be sent the second SIGINT")
    with under_test(plan.rule):
        run = site.crawl()
        assert run.ending == "finished", "a crawl that starts, and ends when nothing is left to do"


# --- SIGKILL ---------------------------------------------------------------------------------------------------------


def killing(draw: random.Random, kills: int) -> Plan:
    """Return a plan whose crawls are killed."""
    expect_fork()
    pages = draw_pages(draw, 24)
    pages[0] = sorted({*pages[0], *range(1, 13)})
    stops = [interrupted(signal.SIGKILL, after=draw.randrange(2, 5)) for _ in range(kills)]
    return Plan("job.sigkill", stops, pages, {"CONCURRENT_REQUESTS": 1})


def killed(context: CheckContext) -> Iterator[Plan]:
    """Yield plans whose crawls are killed three times."""
    draw = random.Random(context.seed)
    for _ in range(max(2, context.examples // PER_JOB)):
        yield killing(draw, 3)


def killed_once(context: CheckContext) -> Iterator[Plan]:
    """Yield one plan whose first crawl is killed."""
    yield killing(random.Random(context.seed), 1)


@check("job.sigkill", plan=[each(killed, ablated=False)])
def a_killed_job_is_continued(open_site, plan):
    """After SIGKILL a job that is declared crash-safe continues: at most the requests in flight are lost or downloaded again."""
    site = open_site(plan.pages, **plan.settings)
    for stop in plan.stops:
        run = site.crawl(**stop)
        if not run.sent:
            break
    if not run.sent and stop is plan.stops[0]:
        raise NotCovered("a crawl ended before it could be killed")
    last = site.crawl()
    assert last.ending == "finished", "the job goes on after SIGKILL"
    lost, again = site.toll()
    assert lost == [], "at most what was in flight lost"
    if offers("filters"):
        assert again == [], "only what was in flight downloaded again"
    if not run.sent:
        raise NotCovered("a crawl ended before it could be killed")


# --- What may get lost is noted --------------------------------------------------------------------------------------


@check("job.second-signal", name="noted.sigkill", plan=[each(killed_once)])
def what_a_kill_costs(open_site, plan):
    """A forced stop (a second SIGINT) does not make the job directory unusable: the next run starts, and ends by itself."""
    if offers("crash-safe"):
        raise NotCovered("it is declared crash-safe")
    site = open_site(plan.pages, **plan.settings)
    run = site.crawl(**plan.stops[0])
    if run.sent:
        finished, cost = site.crawl().finished, f"{len(site.missing())} of {len(plan.pages)} pages are lost"
        cost += f", {len(site.toll()[1])} downloaded again"
        note("job: after SIGKILL", cost if finished else "the crawl does not start or does not end")
    raise NotCovered("what a kill costs is only noted")


@check("job.second-signal", name="noted.unserializable")
def what_a_pause_costs(open_scheduler):
    """A forced stop (a second SIGINT) does not make the job directory unusable: the next run starts, and ends by itself."""
    with may_raise():
        scheduler = open_scheduler("job")
        scheduler.enqueue_request(made(lambda: Request("https://example.com/0", meta={"value": lambda: None})))
        close(scheduler, "shutdown")
        scheduler = open_scheduler("job")
        left = drain(scheduler)
        note("job: a request that cannot be serialized", f"{'survives' if left else 'is lost at'} a pause")
    raise NotCovered("what a pause costs is only noted")
