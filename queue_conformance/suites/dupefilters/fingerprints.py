"""Checks of where fingerprints come from, and of their shapes."""

from __future__ import annotations

import warnings
from typing import Any

from scrapy.exceptions import ScrapyDeprecationWarning

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import NotApplicable, NotExercised, RuleBroken
from queue_conformance.engine.registry import check
from queue_conformance.implementations.drivers.base import Item
from queue_conformance.implementations.drivers.dupefilter import OpenFilter
from queue_conformance.implementations.quoted.running import FingerprintFromMeta
from queue_conformance.implementations.recording import OperationRaised, describe
from queue_conformance.suites.dupefilters import FILTERS

CUSTOM = "dupefilter.seen.custom-fingerprinter"
SHAPE = "dupefilter.seen.fingerprint-shape"
SUBCLASS = "dupefilter.subclass.fingerprint"

LENGTHS = (0, 1, 19, 20, 21, 255, 256, 65535, 65536)
"""Bytes of a fingerprint; the last one is more than every format must hold."""

LONGEST = 65535

USUAL = 20
"""Bytes of the fingerprints that Scrapy's own fingerprinter returns."""


@check(CUSTOM, kinds=FILTERS)
def the_fingerprinter_of_the_crawler_is_asked(bench: Bench) -> None:
    constant = [_request(bench, number, 'b"the same"') for number in (1, 2, 3)]
    unique = [_request(bench, 1, f'b"{name}"') for name in ("one", "two", "three")]
    for requests, duplicates in ((constant, True), (unique, False)):
        bench.restart()
        dupefilter = _opened(bench, CUSTOM)
        if dupefilter.seen(requests[0], CUSTOM):
            continue
        for request in requests[1:]:
            seen = dupefilter.seen(request, CUSTOM)
            expected = f"{duplicates} for {'the same fingerprint' if duplicates else 'another fingerprint'}"
            bench.expect(CUSTOM, bool(seen) == duplicates, expected, seen, f"{'' if duplicates else 'not '}seen")


@check(SHAPE, kinds=FILTERS)
def fingerprints_of_all_lengths_are_remembered(bench: Bench) -> None:
    _ensure_asked(bench)
    try:
        _remember(bench, USUAL)
    except (OperationRaised, RuleBroken):
        raise NotExercised(f"not even fingerprints of {USUAL} bytes are remembered") from None
    for length in LENGTHS:
        with bench.collecting():
            _remember(bench, length)


def _remember(bench: Bench, length: int) -> None:
    """See a fingerprint of a length between two others; look for all of them in the next run."""
    bench.restart()
    sources = ['b"before"', f'b"x" * {length}', 'b"behind"']
    requests = [_request(bench, number, source) for number, source in enumerate(sources)]
    dupefilter = _opened(bench, SHAPE)
    for request in list(requests):
        try:
            dupefilter.seen(request, SHAPE)
        except OperationRaised as raised:
            if length <= LONGEST or not isinstance(raised.error, Exception):
                actual = f"{describe(raised.error)} raised for a fingerprint of {length} bytes"
                bench.fail(SHAPE, "no exception", actual, [])
            requests.remove(request)
    dupefilter.close(SHAPE)
    dupefilter = _opened(bench, SHAPE)
    for request in requests:
        seen = dupefilter.seen(request, SHAPE)
        actual = f"{seen!r}, with one of {length} bytes among the fingerprints"
        bench.expect(SHAPE, bool(seen), "True in the next run", actual, "seen")
    fresh = _request(bench, 9, f'b"fresh {length}"')
    seen = dupefilter.seen(fresh, SHAPE)
    bench.expect(SHAPE, not seen, f"False for {fresh.source}", seen, "not seen")


def _ensure_asked(bench: Bench) -> None:
    dupefilter = _opened(bench, SHAPE)
    first, second = (_request(bench, number, 'b"the same"') for number in (1, 2))
    if dupefilter.seen(first, CUSTOM) or not dupefilter.seen(second, CUSTOM):
        raise NotExercised("it does not use the fingerprinter of the crawler")


def _opened(bench: Bench, rule: str) -> OpenFilter:
    opened: OpenFilter = bench.open(owner=rule, REQUEST_FINGERPRINTER_CLASS=FingerprintFromMeta)
    return opened


def _request(bench: Bench, number: int, fingerprint: str) -> Item:
    item: Item = bench.driver.evaluate(f'Request("https://example.com/{number}", meta={{"fingerprint": {fingerprint}}})')
    return item


@check(SUBCLASS, kinds=FILTERS)
def a_subclass_may_override_request_fingerprint(bench: Bench) -> None:
    cls: Any = bench.implementation.cls
    if not callable(getattr(cls, "request_fingerprint", None)):
        raise NotApplicable("the class has no method request_fingerprint")
    name = bench.driver.class_name

    class ByURL(cls):  # type: ignore[misc]
        def request_fingerprint(self, request: Any) -> str:
            return str(request.url)

    bench.recorder.note(f"class ByURL({name}):\n    def request_fingerprint(self, request):\n        return request.url\n")
    with bench.driver.replaced(ByURL, "ByURL"), bench.recorder.blame(SUBCLASS), warnings.catch_warnings():
        warnings.simplefilter("ignore", ScrapyDeprecationWarning)
        dupefilter = bench.open()
        requests = [bench.driver.evaluate(f'Request("https://example.com/{path}")') for path in ("a", "b", "a", "b#c")]
        for request, duplicate in zip(requests, (False, False, True, False), strict=True):
            seen = dupefilter.seen(request)
            bench.expect(SUBCLASS, bool(seen) == duplicate, str(duplicate), seen, "seen" if duplicate else "not seen")
