"""Checks of the fingerprints by which a scheduler knows requests again."""

from __future__ import annotations

from queue_conformance.engine.bench import Bench
from queue_conformance.engine.registry import check
from queue_conformance.kinds.async_scheduler.scene import KINDS

PAGE = 'Request("https://example.com/page")'


def _compare(bench: Bench, rule: str, one: str, other: str, same: bool, options: str = "") -> None:
    """Compare the fingerprints of two requests."""
    with bench.collecting():
        bench.restart()
        bench.driver.do(f"fingerprinter = {bench.driver.fingerprinter}({options})", rule)
        bench.driver.do(f"one = fingerprinter.fingerprint_bytes({one})", rule)
        bench.driver.do(f"other = fingerprinter.fingerprint_bytes({other})", rule)
        equal = bench.driver.value("one == other")
        expected, actual = ("equal fingerprints", "different ones") if same else ("different fingerprints", "equal ones")
        bench.expect(rule, equal is same, expected, actual, f"one {'==' if same else '!='} other")


@check("afingerprint.parts", kinds=KINDS)
def url_method_and_body_count(bench: Bench) -> None:
    for other in (
        'Request("https://example.com/other")',
        'Request("https://example.com/page?a=1")',
        'Request("http://example.com/page")',
        'Request("https://example.org/page")',
        'Request("https://example.com/page", method="POST")',
        'Request("https://example.com/page", body=b"text")',
    ):
        _compare(bench, "afingerprint.parts", PAGE, other, False)
    _compare(bench, "afingerprint.parts", PAGE.replace(")", ', body=b"1")'), PAGE.replace(")", ', body=b"2")'), False)
    _compare(
        bench, "afingerprint.parts", 'Request("https://example.com/?a=1&b=2")', 'Request("https://example.com/?a=2&b=1")', False
    )
    for other in (
        PAGE,
        'Request("HTTPS://EXAMPLE.com:443/page")',
        'Request("https://example.com/page", method="get")',
        'Request("https://example.com/page", headers={"Accept": "text/html"})',
        'Request("https://example.com/page", meta={"depth": 3})',
        'Request("https://example.com/page", priority=10)',
    ):
        _compare(bench, "afingerprint.parts", PAGE, other, True)


@check("afingerprint.query-order", kinds=KINDS)
def the_order_of_parameters_does_not_matter(bench: Bench) -> None:
    one, other = 'Request("https://example.com/page?a=1&b=2")', 'Request("https://example.com/page?b=2&a=1")'
    _compare(bench, "afingerprint.query-order", one, other, True)
    one, other = 'Request("https://example.com/?b=2&c=&a=1")', 'Request("https://example.com/?c=&a=1&b=2")'
    _compare(bench, "afingerprint.query-order", one, other, True)


@check("afingerprint.ignore", kinds=KINDS)
def parameters_are_filtered(bench: Bench) -> None:
    ignore, keep = 'ignore_query_params={"session_id", "utm_source"}', 'keep_query_params={"id"}'
    one = 'Request("https://example.com/page?id=1")'
    for options, other, same in (
        (ignore, 'Request("https://example.com/page?id=1&session_id=7")', True),
        (ignore, 'Request("https://example.com/page?utm_source=a&id=1")', True),
        (ignore, 'Request("https://example.com/page?id=2&session_id=7")', False),
        (keep, 'Request("https://example.com/page?id=1&page=7")', True),
        (keep, 'Request("https://example.com/page?id=2")', False),
        ("", 'Request("https://example.com/page?id=1&session_id=7")', False),
    ):
        _compare(bench, "afingerprint.ignore", one, other, same, options)


@check("afingerprint.exclusive", kinds=KINDS)
def both_filters_at_once_are_refused(bench: Bench) -> None:
    rule = "afingerprint.exclusive"
    source = f'fingerprinter = {bench.driver.fingerprinter}(ignore_query_params={{"a"}}, keep_query_params={{"b"}})'
    bench.expect_raises(rule, (ValueError,), lambda: bench.driver.do(source, rule))


@check("afingerprint.fragment", kinds=KINDS)
def fragments_do_not_matter(bench: Bench) -> None:
    rule = "afingerprint.fragment"
    _compare(bench, rule, PAGE, 'Request("https://example.com/page#top")', True)
    bench.restart()
    bench.driver.do(f"fingerprinter = {bench.driver.fingerprinter}()", rule)
    bench.driver.do(f"request = {PAGE}", rule)
    bench.driver.do("one = fingerprinter.fingerprint_bytes(request)", rule)
    bench.driver.do('changed = setattr(request, "url", "https://example.com/page#top")', rule)
    bench.driver.do("other = fingerprinter.fingerprint_bytes(request)", rule)
    equal = bench.driver.value("one == other")
    bench.expect(rule, equal, "the same fingerprint with #top", "another one", "one == other")
