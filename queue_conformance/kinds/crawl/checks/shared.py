"""Checks of several crawlers on one scheduler, behind a server."""

from __future__ import annotations

from functools import partial

from queue_conformance.engine.check import check
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.kinds.crawl.plans import each, together

STALL = 0.8
"""Seconds without a request after which a crawler may be taken for dead: what it had then rightly comes once more."""


@check("e2e.shared.once", plan=[each(together)])
def several_crawlers_share_the_work(open_shared, plan):
    """Several crawlers on one scheduler download each page once between them, lose none, and all of them finish."""
    site = open_shared(plan.graph)
    crawl = site.crawl_together(**plan.crawlers)
    assert crawl.ending == "finished", "every crawler to finish"
    assert site.missing() == [], "every page downloaded by one of them"
    if crawl.busy < 2:
        raise NotCovered("one crawler downloaded every page before another one had begun")
    if site.repeated() and site.pause() >= STALL:
        raise NotCovered("this machine is too slow: pages came twice, but a crawler stood still for a while")
    assert site.repeated() == [], "no page downloaded by two of them"


@check("e2e.shared.frozen", plan=[each(partial(together, accident="frozen"))])
def a_crawler_that_stands_still_costs_nothing(open_shared, plan):
    """A crawler that stands still for a while costs the others, and itself, no page."""
    site = open_shared(plan.graph)
    crawl = site.crawl_together(**plan.crawlers)
    if not crawl.met:
        raise NotCovered("the crawler that was to stand still had nothing to download")
    assert crawl.ending == "finished", "every crawler to finish"
    assert site.missing() == [], "every page downloaded by one of them"


@check("e2e.shared.restarted", plan=[each(partial(together, accident="restarted"))])
@check("e2e.shared.cut-off", plan=[each(partial(together, accident="cut_off"))])
def a_server_out_of_reach_costs_nothing(open_shared, backend, plan):
    """A server that restarts, and keeps what it acknowledged, costs crawlers that share it no page, and all of them finish.

    A crawler that the network cuts off from the server for a while costs the others, and itself, no page, and all of them
    finish.
    """
    site = open_shared(plan.graph)
    crawl = site.crawl_together(backend=backend, **plan.crawlers)
    if not crawl.met:
        raise NotCovered("no crawler asked anything of its server while that was out of reach")
    assert crawl.ending == "finished", "every crawler to finish"
    assert site.missing() == [], "every page downloaded by one of them"


@check("e2e.shared.redelivered", plan=[each(partial(together, accident="killed"))])
@check("e2e.shared.killed", plan=[each(partial(together, accident="killed"))])
def a_killed_crawler_costs_what_it_had_at_most(open_shared, plan, rule):
    """What a killed crawler was downloading is given to another one, if that is claimed: no page is lost.

    A crawler that is killed takes with it at most the pages that it was downloading, and what only these lead to.
    """
    site = open_shared(plan.graph)
    crawl = site.crawl_together(**plan.crawlers)
    if not crawl.met:
        raise NotCovered("the crawler that was to be killed had nothing to download")
    assert crawl.ending == "finished", "every other crawler to finish"
    if rule == "e2e.shared.killed":
        taken = site.taken()
        lost = [page for page in site.missing() if page not in taken]
        assert lost == [], "every page that is not lost with what the killed crawler had"
    else:
        assert site.unrecovered() == [], "the page that the killed crawler was downloading, once more"
        assert site.missing() == [], "every page downloaded"
