"""Checks of what is a duplicate."""

from __future__ import annotations

from typing import Any

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.lockstep import run
from queue_conformance.engine.registry import check
from queue_conformance.implementations.drivers.base import Item
from queue_conformance.implementations.quoted.support import StoppedClock
from queue_conformance.suites.dupefilters import FILTERS

FIRST = "dupefilter.seen.first"
EQUIVALENCE = "dupefilter.seen.equivalence"
FRESH = "dupefilter.seen.no-false-positive"

PATIENCE = 60.0
"""Seconds after which no more new requests are tried; only slow filters come near."""

NOON = 1_700_000_000
"""When a crawl begins, in seconds."""

MISTAKEN = 30
"""How many of 300 new requests a filter may take for seen that declares an error rate; with more it filters by chance."""


@check(FIRST, kinds=FILTERS)
def the_second_is_a_duplicate(bench: Bench) -> None:
    run(bench, "seen:0 seen:0 seen:0 seen:1 seen:0 seen:1 seen:2 seen:2 seen:3 seen:0")
    for job in (None, "job"):
        bench.restart()
        requests = bench.driver.requests(0, 300)
        dupefilter = bench.open(job)
        seen = dupefilter.all_seen(requests)
        if bench.offers("probabilistic"):
            actual, assertion = f"{sum(map(bool, seen))} of 300 new ones seen", f"sum(map(bool, seen)) <= {MISTAKEN}"
            bench.expect(FIRST, sum(map(bool, seen)) <= MISTAKEN, f"at most {MISTAKEN} of them", actual, assertion)
        seen = dupefilter.all_seen(requests)
        bench.expect(FIRST, all(seen), "all 300 seen", f"{seen.count(False)} of 300 not seen", "all(seen)")


@check(FRESH, kinds=FILTERS)
def what_was_never_seen_is_not_rejected(bench: Bench) -> None:
    if not bench.offers("server"):  # there, two filters may well share what they have seen
        run(bench, "seen:0 1.seen:1 seen:2 1.seen:0 1.seen:2 seen:1 seen:3")
    elif not _shared_later(bench):
        with bench.collecting():
            seen = _seen_by_another(bench, 0)
            bench.expect(FRESH, not seen, "False for a spider that never saw it", seen, "not seen", final=True)
    bench.restart()
    dupefilter = bench.open(None)
    size, count = 1000, 100 * bench.examples
    deadline = bench.flight.now + PATIENCE
    bench.flight.aim("requests", count, deadline)
    for done in range(0, count, size):
        if bench.flight.now > deadline:
            bench.notes.append(f"{done} of {count} new requests were tried, because they take more than {PATIENCE:g} s")
            count = done
            break
        start = bench.seed * 10**7 + done
        requests = bench.driver.requests(start, start + size, "{n % 97}/{n}?page={n % 7}")
        seen = [bool(answer) for answer in dupefilter.all_seen(requests)]
        bench.expect(FRESH, not any(seen), "none of them seen", f"{sum(seen)} of {size} seen", "not any(seen)", final=True)
        bench.flight.count(size)
    bench.notes.append(f"no false positive among {count} requests")


def _shared_later(bench: Bench) -> bool:
    """Whether the crawls of two spiders share what they have seen whenever they begin, so that it is meant."""
    return bool(_seen_by_another(bench, 3600))


def _seen_by_another(bench: Bench, later: int) -> Any:
    """Let a spider see a request, and ask for it in the crawl of another one that begins so many seconds later."""
    bench.restart()
    bench.recorder.note(f"clock = StoppedClock({NOON}).__enter__()")
    with StoppedClock(NOON) as clock:
        dupefilter = bench.open()
        clock.moment += later
        bench.recorder.note(f"clock.moment += {later}")
        bench.driver.suffix = "-other"
        try:
            other = bench.open("job1", "other")
        finally:
            bench.driver.suffix = ""
    bench.recorder.note("clock.__exit__()")
    dupefilter.seen(bench.driver.item(1))
    return other.seen(bench.driver.item(1))


# --- What counts -----------------------------------------------------------------------------------------------------

SAME = (
    ('Request("https://example.com/?a=1&b=2")', 'Request("https://example.com/?b=2&a=1")'),
    ('Request("https://example.com/?a=2&a=1&c=3")', 'Request("https://example.com/?c=3&a=2&a=1")'),
    ('Request("https://example.com/caf%C3%A9")', 'Request("https://example.com/caf%c3%a9")'),
    ('Request("https://example.com/caf%C3%A9")', 'Request("https://example.com/café")'),
    ('Request("https://example.com/a b")', 'Request("https://example.com/a%20b")'),
    ('Request("https://example.com/page")', 'Request("https://example.com/page#top")'),
    ('Request("https://example.com/")', 'Request("https://example.com/", headers={"Accept": "text/html"})'),
    ('Request("https://example.com/")', 'Request("https://example.com/", cookies={"session": "1"})'),
    ('Request("https://example.com/")', 'Request("https://example.com/", meta={"depth": 1})'),
    ('Request("https://example.com/")', 'Request("https://example.com/", priority=5)'),
    ('Request("https://example.com/")', 'Request("https://example.com/", callback=spider.parse, cb_kwargs={"a": 1})'),
    (
        'Request("https://example.com/", method="POST", body=b"a")',
        'Request("https://example.com/", method="POST", body=b"a", headers={"Accept": "text/html"})',
    ),
)
"""Pairs of requests that are duplicates."""

OTHER = (
    ('Request("https://example.com/a")', 'Request("https://example.com/b")'),
    ('Request("https://example.com/a")', 'Request("https://example.com/A")'),
    ('Request("https://example.com/a")', 'Request("https://example.org/a")'),
    ('Request("https://example.com/?a=1")', 'Request("https://example.com/?a=2")'),
    ('Request("https://example.com/?a=1")', 'Request("https://example.com/?a=1&b=1")'),
    ('Request("https://example.com/?a=1")', 'Request("https://example.com/?a=1&a=1")'),
    ('Request("https://example.com/")', 'Request("https://example.com/", method="POST")'),
    ('Request("https://example.com/")', 'Request("https://example.com/", method="HEAD")'),
    (
        'Request("https://example.com/", method="POST", body=b"a")',
        'Request("https://example.com/", method="POST", body=b"b")',
    ),
    ('Request("https://example.com/", body=b"a")', 'Request("https://example.com/")'),
)
"""Pairs of requests that are not."""


@check(EQUIVALENCE, kinds=FILTERS)
def duplicates_are_equal_in_url_method_and_body(bench: Bench) -> None:
    for pairs, duplicates in ((SAME, True), (OTHER, False)):
        for sources in pairs:
            for order in (sources, sources[::-1]):
                with bench.collecting():
                    bench.restart()
                    first, second = (source.replace("https://example.com", bench.driver.site) for source in order)
                    _compare(bench, bench.driver.evaluate(first), bench.driver.evaluate(second), duplicates)


def _compare(bench: Bench, first: Item, second: Item, duplicates: bool) -> None:
    """Show two requests to a filter, unless it is wrong about requests in general."""
    dupefilter = bench.open()
    if dupefilter.seen(first):
        return
    seen = dupefilter.seen(second)
    if bool(seen) != duplicates and bool(dupefilter.seen(first if duplicates else bench.driver.item(9))) != duplicates:
        return
    del bench.recorder.steps[3:]
    if duplicates:
        bench.expect(EQUIVALENCE, bool(seen), f"True for {second.source}", seen, "seen")
    else:
        bench.expect(EQUIVALENCE, not seen, f"False for {second.source}", seen, "not seen")


@check("dupefilter.base.never", kinds=FILTERS)
def nothing_is_ever_rejected(bench: Bench) -> None:
    run(bench, "seen:0 seen:0 seen:1 reopen seen:0 seen:1 seen:2 seen:2")
    bench.restart()
    dupefilter = bench.open()
    requests = bench.driver.requests(0, 1000)
    for _ in range(2):
        seen = dupefilter.all_seen(requests, owner="dupefilter.base.never")
        bench.expect("dupefilter.base.never", not any(seen), "none of them seen", f"{sum(seen)} of 1000 seen", "not any(seen)")
