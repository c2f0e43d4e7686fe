"""Checks of where fingerprints come from, and of their shapes."""

from __future__ import annotations

from collections.abc import Iterator

from scrapy import Request

from queue_conformance.engine.cases import Attempt
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotApplicable, NotCovered
from queue_conformance.environments.runs import ByURL, FingerprintFromMeta

LENGTHS = (0, 1, 19, 20, 21, 255, 256, 65535, 65536)
"""Bytes of a fingerprint; the last one is more than every format must hold."""

LONGEST = 65535

USUAL = 20
"""Bytes of the fingerprints that Scrapy's own fingerprinter returns."""


@check("dupefilter.seen.custom-fingerprinter", same=(True, False))
def the_fingerprinter_of_the_crawler_is_asked(open_filter, about, rule, same):
    with about(rule):
        dupefilter = open_filter(REQUEST_FINGERPRINTER_CLASS=FingerprintFromMeta)
        for number in (1, 2, 3):
            url, fingerprint = f"https://example.com/{number * same}", b"the same" if same else b"number %d" % number
            seen = dupefilter.request_seen(Request(url, meta={"fingerprint": fingerprint}))
            if number == 1 and seen:
                raise NotCovered("it has seen the first request")
            if number > 1:
                assert bool(seen) == same


def lengths(_context: CheckContext, attempt: Attempt) -> Iterator[int]:
    """Yield the lengths of fingerprints, if those of the usual length from the crawler's fingerprinter are remembered."""
    attempt(USUAL)
    yield from LENGTHS


@check("dupefilter.seen.fingerprint-shape", length=[lengths])
def fingerprints_of_all_lengths_are_remembered(open_filter, tolerated, about, rule, length):
    stored = []
    with about(rule):
        dupefilter = open_filter(REQUEST_FINGERPRINTER_CLASS=FingerprintFromMeta)
        for fingerprint in (b"before", b"x" * length, b"behind"):
            with tolerated(when=len(fingerprint) > LONGEST) as refused:
                dupefilter.request_seen(Request("https://example.com/1", meta={"fingerprint": fingerprint}))
            if not refused:
                stored = [*stored, fingerprint]
        dupefilter.close("finished")
        dupefilter = open_filter(REQUEST_FINGERPRINTER_CLASS=FingerprintFromMeta)
        for fingerprint in stored:
            seen = dupefilter.request_seen(Request("https://example.com/2", meta={"fingerprint": fingerprint}))
            assert seen, "True in the next run"
        seen = dupefilter.request_seen(Request("https://example.com/1", meta={"fingerprint": b"fresh %d" % length}))
        assert not seen, "False for another fingerprint"


@check("dupefilter.subclass.fingerprint")
def a_subclass_may_override_request_fingerprint(context, open_subclass, about, rule):
    if not callable(getattr(context.implementation.cls, "request_fingerprint", None)):
        raise NotApplicable("the class has no method request_fingerprint")
    with about(rule):
        dupefilter = open_subclass(ByURL)
        for path, duplicate in (("a", False), ("b", False), ("a", True), ("b#c", False)):
            seen = dupefilter.request_seen(Request(f"https://example.com/{path}"))
            assert bool(seen) == duplicate
