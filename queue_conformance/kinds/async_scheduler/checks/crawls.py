"""Crawls of qCrawl with the scheduler, over a server on the loopback address; the event loop is the stock one.

A crawl that fails because of a rule which has a check of its own is that rule's failure.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotExercised
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_scheduler.checks import adding, getting, joining, refusals
from queue_conformance.kinds.async_scheduler.scene import unless_explained

USUAL = (
    adding.add_takes_urls_and_requests,
    joining.join_waits_until_all_is_done,
    adding.what_was_seen_is_ignored,
    adding.a_waiting_consumer_gets_a_request_at_once,
)
"""What every crawl needs."""

SITE = "site = Site()"
DISK = 'DiskQueue(directory + "/queue")'


class Crawl:
    """One crawl.

    Args:
        bench: where the check works; it begins again.
        rule: the rule that is examined.
        spider: the arguments of the spider after the site.
        queue: an expression for the queue; without one that of the author, or else the kit's.
        site: the line that makes the site.
        options: further arguments of the crawl.
        before: lines that come before the crawl.
    """

    def __init__(
        self,
        bench: Bench,
        rule: str,
        spider: str,
        queue: str = "",
        site: str = SITE,
        options: str = "",
        before: Iterable[str] = (),
    ) -> None:
        self.bench, self.rule = bench, rule
        driver = bench.driver
        bench.restart()
        queue = queue or driver.queue_source()
        for line in (site, f"queue = {queue}", *before, f"spider = SiteSpider(site, {spider})"):
            driver.do(line, rule)
        seconds = min(5.0, bench.time_limit / 2)
        call = f"crawl({driver.class_name}, {driver.fingerprinter}, queue, spider{options})"
        ended = driver.do(f"ended = ends({call}, {seconds:g})", rule)
        bench.expect(rule, ended is True, "the crawl ends", f"it goes on after {seconds:g} s, {self._so_far()}", "ended")

    def _so_far(self) -> str:
        return f"with {', '.join(self.bench.driver.value('site.requested')) or 'nothing'} requested"

    def expect(self, expected: str, assertion: str, shown: str = "site.requested") -> None:
        """Examine the rule after the crawl."""
        ok = bool(self.bench.driver.value(assertion))
        self.bench.expect(self.rule, ok, expected, "" if ok else self.bench.driver.value(shown), assertion)


def _everything(bench: Bench) -> None:
    """Crawl pages that link to others."""
    rule = "e2e.q.all"
    for concurrency in (1, 3):
        spider = '{"/1": 0, "/2": 0, "/1": 0}, {"/1": ["/3", "/4", "/2"], "/3": ["/5", "/1"]}'
        crawl = Crawl(bench, rule, spider, options=f", concurrency={concurrency}")
        pages = [f"/{number}" for number in range(1, 6)]
        crawl.expect(f"{', '.join(pages)} requested, each once", f"sorted(site.requested) == {pages}")


@check("e2e.q.all")
def everything_is_downloaded(bench: Bench) -> None:
    with unless_explained(bench, *USUAL):
        _everything(bench)


@check("e2e.q.bounded")
def a_crawl_over_a_bounded_queue_ends(bench: Bench) -> None:
    rule = "e2e.q.bounded"
    with unless_explained(
        bench, refusals.what_finds_no_room_is_dropped, refusals.nobody_waits_for_room, everything_is_downloaded
    ):
        start = '{"/1": 0, "/2": 0, "/3": 0, "/4": 0}'
        crawl = Crawl(bench, rule, start, bench.driver.queue_source(maxsize=2), before=["logs = Logs()"])
        crawl.expect("/1, /2 requested", "sorted(site.requested) == ['/1', '/2']")
        dropped = "[line for line in logs.messages if line.startswith('Queue full, dropping request: ')]"
        crawl.expect("2 warnings «Queue full, dropping request: …»", f"len({dropped}) == 2", "logs.messages")


@check("e2e.q.resume")
def a_crawl_goes_on_with_what_is_stored(bench: Bench) -> None:
    rule = "e2e.q.resume"
    with suppress(NotExercised):
        joining.recovered_requests_count(bench)
    if bench.broken:  # the engine would ask again and again whether there is something to do, and never end
        raise next(iter(bench.broken.values()))
    with unless_explained(bench, everything_is_downloaded):
        for start, pages in (("{}", ["/1", "/2"]), ('{"/3": 0}', ["/1", "/2", "/3"])):
            crawl = Crawl(bench, rule, start, DISK, options=', concurrency=1, stored=["/1", "/2"]')
            crawl.expect(f"{', '.join(pages)} requested", f"sorted(site.requested) == {pages}")


@check("e2e.q.bad-item")
def a_request_that_cannot_be_read_is_passed_over(bench: Bench) -> None:
    rule = "e2e.q.bad-item"
    with unless_explained(bench, everything_is_downloaded):
        for concurrency in (1, 3):
            spider = '{"/1": 2, "/2": 1, "/3": 0}, started=lambda: spoil(directory + "/queue")'
            crawl = Crawl(bench, rule, spider, DISK, options=f", concurrency={concurrency}")
            crawl.expect("2 of the 3 pages requested", "len(site.requested) == 2 and len(set(site.requested)) == 2")


@check("e2e.q.retry")
def a_failure_is_retried(bench: Bench) -> None:
    rule = "e2e.q.retry"
    with unless_explained(bench, adding.a_retry_is_scheduled_again, everything_is_downloaded):
        crawl = Crawl(bench, rule, '{"/1": 0, "/2": 0}', site='site = Site(**{"1": [503]})')
        crawl.expect("/1 requested twice, as it answered 503 first", "sorted(site.requested) == ['/1', '/1', '/2']")


@check("e2e.q.priority")
def the_most_urgent_is_downloaded_first(bench: Bench) -> None:
    rule = "e2e.q.priority"
    pages = [f"/{number}" for number in sorted(range(4), reverse=bench.driver.higher_first)]
    with unless_explained(bench, getting.the_highest_priority_comes_first, everything_is_downloaded):
        crawl = Crawl(bench, rule, '{"/0": 0, "/3": 3, "/1": 1, "/2": 2}', options=", concurrency=1")
        crawl.expect(f"{', '.join(pages)} requested, in this order", f"site.requested == {pages}")


@check("e2e.q.stats-access")
def the_scheduler_can_be_asked_during_a_crawl(bench: Bench) -> None:
    rule = "e2e.q.stats-access"
    with unless_explained(bench, everything_is_downloaded):
        crawl = Crawl(bench, rule, '{"/1": 0, "/2": 0}, asking=True', options=", concurrency=1")
        crawl.expect(
            "the stats of crawler.engine.scheduler, with 1 queued, in the callback of the first page",
            "spider.stats is not None and spider.stats.get('queued') == 1",
            "spider.stats",
        )
