"""Checks of what is a duplicate, and of fingerprints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scrapy import Request

from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.cases import Attempt
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import clock_at, note, offers, time_zone, turns
from queue_conformance.engine.outcomes import NotApplicable, NotCovered, RuleFailed
from queue_conformance.engine.samples import NOON, ZONES
from queue_conformance.environments.alike import DISTINCT, FAMILIES, IGNORED, OTHER_SITES, SAME, Arguments, Pair, told_apart
from queue_conformance.environments.runs import ByURL, FingerprintFromMeta
from queue_conformance.kinds.dupefilter.fixtures import count_seen

MISTAKEN = 0.1
"""How large a part of new requests a filter may take for seen that declares an error rate; with more it filters by chance."""


@check("dupefilter.seen.first", name="seen.many", many=(300, 1100), job=(None, "job"))
def many_are_remembered(open_filter, many, job):
    """The first request of a fingerprint gives false, every later one true."""
    dupefilter = open_filter(job)
    new = count_seen(dupefilter, range(many))
    if offers("probabilistic"):
        assert new <= MISTAKEN * many, f"at most {MISTAKEN * many:g} of {many} new requests taken for seen"
    seen = count_seen(dupefilter, range(many))
    assert seen == many, f"all {many} requests seen the second time"


@check("dupefilter.seen.first", name="seen.zone", depends_on="seen:0 seen:0 seen:1 seen:1", zone=ZONES)
def what_was_seen_is_seen_in_any_time_zone(open_filter, zone):
    """The first request of a fingerprint gives false, every later one true."""
    with time_zone(zone):
        dupefilter = open_filter()
        count_seen(dupefilter, range(4))
        seen = count_seen(dupefilter, range(4))
        assert seen == 4, "all 4 requests seen the second time"


WEEK = 7 * 86_400
"""Seconds of a long crawl."""


@check("dupefilter.seen.later", depends_on="seen:0 seen:0")
def nothing_is_forgotten_in_a_long_crawl(open_filter):
    """What was seen long before is seen, in a crawl that runs for a week, and in one that goes on after years."""
    with clock_at(NOON):
        dupefilter = open_filter()
        count_seen(dupefilter, range(4))
    with clock_at(NOON + WEEK):
        known = count_seen(dupefilter, range(4))
    assert known == 4, "all 4 requests seen a week later"


@check("dupefilter.seen.no-false-positive")
def what_was_never_seen_is_not_rejected(run):
    """A request is not rejected if neither it nor an equal one was seen: requests whose URL (path in another case, query),
    method or body differs are two, unless the author claims to ignore that.
    """
    if offers("server"):
        raise NotCovered("two filters of one server may well share what they have seen")
    run("seen:0 1.seen:1 seen:2 1.seen:0 1.seen:2 seen:1 seen:3")


def unless_meant(_context: CheckContext, attempt: Attempt) -> Iterator[int]:
    """Yield 0, if two spiders do not share what they have seen even where one begins an hour later, so that it is meant."""
    try:
        attempt(3600)
    except NotCovered as reason:
        if isinstance(reason.__cause__, RuleFailed) and reason.__cause__.rule == "dupefilter.seen.no-false-positive":
            raise
    yield 0  # where something else fails, it fails here too, and is told


@check("dupefilter.seen.no-false-positive", "dupefilter.seen.first", name="seen.by-another-spider", later=[unless_meant])
def what_another_spider_has_seen_is_new(open_filter, request_of, later):
    """A request is not rejected if neither it nor an equal one was seen: requests whose URL (path in another case, query),
    method or body differs are two, unless the author claims to ignore that.
    """
    if not offers("server"):
        raise NotCovered("filters that are open side by side are compared with their models")
    with clock_at(NOON):
        dupefilter = open_filter()
    with clock_at(NOON + later):
        other = open_filter("job1")
    dupefilter.request_seen(request_of(1))
    assert not other.request_seen(request_of(1)), "False for a spider that never saw it"


@check("dupefilter.seen.no-false-positive", name="seen.without-job")
def what_a_crawl_without_a_job_has_seen_is_new_to_another(open_filter, request_of):
    """A request is not rejected if neither it nor an equal one was seen: requests whose URL (path in another case, query),
    method or body differs are two, unless the author claims to ignore that.
    """
    if offers("server"):
        raise NotCovered("two filters of one server may well share what they have seen")
    dupefilter = open_filter(None)
    other = open_filter(None, spider="-other")
    dupefilter.request_seen(request_of(1))
    assert not other.request_seen(request_of(1)), "False for a spider that never saw it"


PATH = "{n % 97}/{n}?page={n % 7}"


@check("dupefilter.seen.no-false-positive", "dupefilter.seen.first", name="seen.thousands")
def thousands_of_new_requests_are_new(context, open_filter):
    """A request is not rejected if neither it nor an equal one was seen: requests whose URL (path in another case, query),
    method or body differs are two, unless the author claims to ignore that.
    """
    if context.offers("probabilistic"):
        raise NotCovered("it may take new requests for seen")
    dupefilter = open_filter(None)
    first = context.seed * 10**7
    for turn in turns(max(1, context.examples // 10), fewest=1):
        start = first + 1000 * turn
        seen = count_seen(dupefilter, range(start, start + 1000), PATH, hosts=600)
        assert seen == 0, "none of 1000 new requests seen"
    note("no false positive among", f"{1000 * (turn + 1)} requests")
    with under_test("dupefilter.seen.first"):
        seen = count_seen(dupefilter, range(first, first + 1000), PATH, hosts=600)
        assert seen == 1000, "all of the first 1000 requests seen, however many came since"


@check("dupefilter.seen.no-false-positive", name="seen.long-urls")
def the_ends_of_long_urls_count(open_filter):
    """A request is not rejected if neither it nor an equal one was seen: requests whose URL (path in another case, query),
    method or body differs are two, unless the author claims to ignore that.
    """
    dupefilter = open_filter()
    seen = count_seen(dupefilter, range(10), '{"long/" * 400}{n}')
    assert seen == 0, "none of 10 new requests seen, whose URLs differ at the end"


# --- What counts -----------------------------------------------------------------------------------------------------

USUAL = "seen:0 seen:0 seen:1"
"""Without this, it is wrong about all requests."""


def distinct(context: CheckContext) -> Iterator[Pair]:
    """Yield the pairs that are two pages, whatever the author claims."""
    if context.offers("probabilistic"):
        raise NotCovered("it may take new requests for seen")
    yield from told_apart(DISTINCT, context.driver.crawler.request_fingerprinter, context.implementation.capabilities.ignores)


def claimed(context: CheckContext) -> Iterator[Pair]:
    """Yield the pairs that the author claims to be one page."""
    yield from (pair for pair in IGNORED if pair.by in context.implementation.capabilities.ignores)


@check("dupefilter.seen.no-false-positive", name="seen.distinct", depends_on=USUAL, pair=[distinct], order=(1, -1))
def what_differs_is_new(open_filter, site, pair, order):
    """A request is not rejected if neither it nor an equal one was seen: requests whose URL (path in another case, query),
    method or body differs are two, unless the author claims to ignore that.
    """
    dupefilter = open_filter()
    (path, arguments), (other_path, other_arguments) = (pair.first, pair.second)[::order]
    dupefilter.request_seen(Request(site + path, **arguments))
    seen = dupefilter.request_seen(Request(site + other_path, **other_arguments))
    assert not seen, f"False for another {pair.by.partition(' ')[0] or 'page'}"


@check("dupefilter.seen.no-false-positive", name="seen.derived", depends_on=USUAL)
def what_was_made_from_a_request_that_was_seen_is_new(open_filter, site):
    """A request is not rejected if neither it nor an equal one was seen: requests whose URL (path in another case, query),
    method or body differs are two, unless the author claims to ignore that.
    """
    dupefilter = open_filter()
    request = Request(f"{site}/1")
    dupefilter.request_seen(request)
    redirected = request.replace(url=f"{site}/2")  # as the redirect middleware does; its meta is that of the first
    seen = dupefilter.request_seen(redirected)
    assert not seen, "False for the page to which a request was redirected"


@check("dupefilter.seen.ignores", depends_on=USUAL, pair=[claimed], order=(1, -1))
@check("dupefilter.seen.equivalence", depends_on=USUAL, pair=SAME, order=(1, -1))
def what_differs_in_nothing_that_counts_is_seen(open_filter, site, pair, order):
    """Requests that differ in nothing but what the author claims to ignore are duplicates.

    Requests whose canonical URL (order of the query, percent encoding and fragment do not count), method and body are equal
    are duplicates: headers, cookies, meta, priority and callback do not count.
    """
    dupefilter = open_filter()
    (path, arguments), (other_path, other_arguments) = (pair.first, pair.second)[::order]
    dupefilter.request_seen(Request(site + path, **arguments))
    seen = dupefilter.request_seen(Request(site + other_path, **other_arguments))
    assert seen, "True for an equal request"


def families(context: CheckContext) -> Iterator[tuple[str, Sequence[Arguments]]]:
    """Yield requests that one thing alone tells apart, where a filter may be wrong about some of them."""
    if not context.offers("probabilistic"):
        raise NotCovered("what may be wrong about no request is asked for pairs")
    yield from (family for family in FAMILIES.items() if family[0] not in context.implementation.capabilities.ignores)


@check("dupefilter.seen.first", name="seen.alike", family=[families])
def not_all_that_is_alike_is_seen(open_filter, site, family):
    """The first request of a fingerprint gives false, every later one true."""
    by, requests = family
    dupefilter = open_filter()
    answers = []
    for path, arguments in requests:
        answers = [*answers, dupefilter.request_seen(Request(site + path, **arguments))]
    assert not all(answers[1:]), f"not all seen but the first of five requests that differ in the {by}"


@check("dupefilter.seen.equivalence", name="seen.callback", depends_on=USUAL)
def the_callback_does_not_count(begin_crawl, site):
    """Requests whose canonical URL (order of the query, percent encoding and fragment do not count), method and body are equal
    are duplicates: headers, cookies, meta, priority and callback do not count.
    """
    dupefilter, spider = begin_crawl()
    dupefilter.request_seen(Request(site))
    seen = dupefilter.request_seen(Request(site, callback=spider.parse, cb_kwargs={"a": 1}))
    assert seen, "True, for a callback does not count"


@check("dupefilter.seen.no-false-positive", name="seen.site", depends_on=USUAL, other=OTHER_SITES, order=(1, -1))
def the_scheme_and_the_host_count(open_filter, site, other, order):
    """A request is not rejected if neither it nor an equal one was seen: requests whose URL (path in another case, query),
    method or body differs are two, unless the author claims to ignore that.
    """
    dupefilter = open_filter()
    first, second = (site, site.replace("https://example.com", other))[::order]
    dupefilter.request_seen(Request(first))
    seen = dupefilter.request_seen(Request(second))
    assert not seen, f"False, for {other} is another site"


@check("dupefilter.base.never")
def nothing_is_ever_rejected(open_filter, run):
    """A dupefilter that does not filter never rejects a request, not even one that it has seen in a run before."""
    with under_test():
        dupefilter = open_filter()
        for _ in range(2):
            seen = count_seen(dupefilter, range(1000))
            assert seen == 0, "none of 1000 requests seen"
    run("seen:0 seen:0 seen:1 reopen seen:0 seen:1 seen:2 seen:2")


# --- Fingerprints ----------------------------------------------------------------------------------------------------


LENGTHS = (0, 1, 19, 20, 21, 255, 256, 65535, 65536)
"""Bytes of a fingerprint; the last one is more than every format must hold."""

LONGEST = 65535

USUAL_LENGTH = 20
"""Bytes of the fingerprints that Scrapy's own fingerprinter returns."""


@check("dupefilter.seen.custom-fingerprinter", same=(True, False))
def the_fingerprinter_of_the_crawler_is_asked(open_filter, same):
    """A dupefilter uses the request fingerprinter of the crawler, which `REQUEST_FINGERPRINTER_CLASS` chooses."""
    with under_test():
        dupefilter = open_filter(REQUEST_FINGERPRINTER_CLASS=FingerprintFromMeta)
        for number in (1, 2, 3):
            url, fingerprint = f"https://example.com/{number * same}", b"the same" if same else b"number %d" % number
            seen = dupefilter.request_seen(Request(url, meta={"fingerprint": fingerprint}))
            if number == 1 and seen:
                raise NotCovered("it has seen the first request")
            if number > 1:
                assert bool(seen) == same


ONE = bytes(range(20))


def differing(*changes: tuple[int, int]) -> bytes:
    """Return a fingerprint that differs from one at some places, given with the bytes that are added there."""
    other = bytearray(ONE)
    for place, added in changes:
        other[place] = (other[place] + added) % 256
    return bytes(other)


TEXT = b"of 20 bytes, as text"

SIMILAR = (
    *((ONE, differing((place, 1))) for place in (0, 9, 19)),
    (ONE, ONE[:8] + (int.from_bytes(ONE[8:13], "little") ^ 0x1DB710641).to_bytes(5, "little") + ONE[13:]),  # the same CRC-32
    (ONE, differing((3, 1), (4, -2), (5, 1))),  # the same Adler-32
    (TEXT, TEXT.upper()),
    (TEXT[:19] + b"\n", TEXT[:19] + b" "),  # the same without blanks at the end
    (b"as C\0reads" + bytes(10), b"as C\0reads" + ONE[10:]),  # the same up to the first zero
    (b"\xfe" * 20, b"\xff" * 20),  # the same as text, of which neither is one
)
"""Fingerprints that a filter takes for the same one which keeps a part or a checksum of them, or keeps them as text."""


@check("dupefilter.seen.no-false-positive", name="seen.similar", fingerprints=SIMILAR)
def similar_fingerprints_are_two(open_filter, site, fingerprints):
    """A request is not rejected if neither it nor an equal one was seen: requests whose URL (path in another case, query),
    method or body differs are two, unless the author claims to ignore that.
    """
    one, other = fingerprints
    dupefilter = open_filter(REQUEST_FINGERPRINTER_CLASS=FingerprintFromMeta)
    seen = dupefilter.request_seen(Request(f"{site}/1", meta={"fingerprint": one}))
    if seen:
        raise NotCovered("it has seen the first request")
    seen = dupefilter.request_seen(Request(f"{site}/2", meta={"fingerprint": other}))
    assert not seen, "False for a request whose fingerprint was never seen"


def lengths(_context: CheckContext, attempt: Attempt) -> Iterator[int]:
    """Yield the lengths of fingerprints, if those of the usual length from the crawler's fingerprinter are remembered."""
    attempt(USUAL_LENGTH)
    yield from LENGTHS


@check("dupefilter.seen.fingerprint-shape", length=[lengths])
def fingerprints_of_all_lengths_are_remembered(open_filter, length):
    """Any `bytes` are a fingerprint, of whatever length up to 65535: they are remembered in the next run; longer ones are
    remembered, or refused with an exception.
    """
    stored = []
    with under_test():
        dupefilter = open_filter(REQUEST_FINGERPRINTER_CLASS=FingerprintFromMeta)
        for fingerprint in (b"before".ljust(USUAL_LENGTH), b"x" * length, b"behind".ljust(USUAL_LENGTH)):
            with may_raise(when=len(fingerprint) > LONGEST) as refused:
                dupefilter.request_seen(Request("https://example.com/1", meta={"fingerprint": fingerprint}))
            if not refused:
                stored = [*stored, fingerprint]
        dupefilter.close("shutdown")
        dupefilter = open_filter(REQUEST_FINGERPRINTER_CLASS=FingerprintFromMeta)
        for fingerprint in stored:
            seen = dupefilter.request_seen(Request("https://example.com/2", meta={"fingerprint": fingerprint}))
            assert seen, "True in the next run"
        seen = dupefilter.request_seen(Request("https://example.com/1", meta={"fingerprint": b"fresh".ljust(USUAL_LENGTH)}))
        assert not seen, "False for another fingerprint"


@check("dupefilter.subclass.fingerprint")
def a_subclass_may_override_request_fingerprint(context, open_filter):
    """A subclass that overrides `request_fingerprint` with any unique string keeps working."""
    if not callable(getattr(context.implementation.cls, "request_fingerprint", None)):
        raise NotApplicable("the class has no method request_fingerprint")
    with under_test():
        dupefilter = open_filter(mixin=ByURL)
        for path, duplicate in (("a", False), ("b", False), ("a", True), ("b#c", False)):
            seen = dupefilter.request_seen(Request(f"https://example.com/{path}"))
            assert bool(seen) == duplicate
