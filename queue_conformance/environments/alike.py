"""Requests that are alike: pairs that one thing alone tells apart, and pairs that nothing does.

Each request is a path below a site, and the other arguments of ``Request``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from scrapy import Request
from scrapy.utils.request import RequestFingerprinterProtocol

Arguments = tuple[str, dict[str, Any]]


class Pair(NamedTuple):
    """Two requests, and what tells them apart: each word that a claim ``ignores=`` may name, or ``""``."""

    by: str
    first: Arguments
    second: Arguments

    @property
    def name(self) -> str:
        """What differs, as a finding is named by it: a filter that ignores the case of paths may come to ignore queries, too."""
        return f"another {self.by}" if self.by else ""


def _urls(by: str, *paths: tuple[str, str]) -> list[Pair]:
    return [Pair(by, (first, {}), (second, {})) for first, second in paths]


def _others(by: str, *arguments: tuple[dict[str, Any], dict[str, Any]]) -> list[Pair]:
    return [Pair(by, ("/", first), ("/", second)) for first, second in arguments]


POST: dict[str, Any] = {"method": "POST", "body": b"a"}
LONG = b"long" * 1200

DISTINCT = (
    *_urls("", ("/a", "/b"), ("/a/b", "/a%2Fb"), ("/a;b=1", "/a;b=2")),
    *_urls("", ("/plumless", "/buckeroo")),  # the same CRC-32, whatever stands before them
    *_urls("case", ("/a", "/A")),
    *_urls("slash", ("/a", "/a/")),
    *_urls("query", ("/?a=1", "/?a=2"), ("/?a=1", "/?a=1&b=1"), ("/?a=1", "/?a=1&a=1"), ("/?a=1", "/?a=1&b=")),
    *_urls("query", ("/?a=1&b=1", "/?a=1%26b=1")),
    *_urls("query case", ("/?a=b", "/?a=B")),
    *_urls("query tracking", ("/?utm_source=a", "/?utm_source=b"), ("/?sid=1", "/?sid=2")),
    *_others("method", ({}, {"method": "POST"}), ({}, {"method": "HEAD"}), (POST, {**POST, "method": "PUT"})),
    *_others("body", ({}, {"body": b"a"}), (POST, {**POST, "body": b"b"})),
    *_others("body", ({**POST, "body": LONG + b"a"}, {**POST, "body": LONG + b"b"})),
    # the same characters, where nothing stands between URL and body
    Pair("query body", ("/?page=1", {**POST, "body": b"1"}), ("/?page=11", {**POST, "body": b""})),
)
"""Pairs that are two pages."""

OTHER_SITES = (
    *("https://example.org", "https://www.example.com", "https://example.com:8443", "http://example.com"),
    "https://idgaqbc.com",  # the same CRC-32
)
"""Sites that are not https://example.com."""

IGNORED = (
    *_urls("query", ("/", "/?a=1"), ("/?a=1", "/?a=2")),
    *_urls("tracking", ("/?a=1", "/?a=1&utm_source=b"), ("/?utm_source=a", "/?utm_source=b")),
    *_urls("case", ("/a", "/A")),
    *_urls("slash", ("/a", "/a/")),
    *_urls("fragment", ("/a", "/a#top"), ("/a#!1", "/a#!2")),
    *_others("method", ({}, {"method": "POST"})),
    *_others("body", (POST, {**POST, "body": b"b"})),
)
"""Pairs that are one page where that is claimed."""

FAMILIES: Mapping[str, Sequence[Arguments]] = {
    "query": [(f"/?page={number}", {}) for number in range(5)],
    "case": [(path, {}) for path in ("/page", "/Page", "/pAge", "/PAGE", "/pagE")],
    "method": [("/", {"method": method}) for method in ("GET", "POST", "PUT", "PATCH", "DELETE")],
    "body": [("/", {**POST, "body": b"%d" % number}) for number in range(5)],
}
"""By what tells them apart, requests for five pages."""

SAME = (
    *_urls("", ("/?a=1&b=2", "/?b=2&a=1"), ("/?a=2&a=1&c=3", "/?c=3&a=2&a=1"), ("/caf%C3%A9", "/caf%c3%a9")),
    *_urls("", ("/caf%C3%A9", "/café"), ("/a b", "/a%20b"), ("/page", "/page#top")),
    *_others("", ({}, {"headers": {"Accept": "text/html"}}), ({}, {"cookies": {"session": "1"}}), ({}, {"cb_kwargs": {"a": 1}})),
    *_others("", ({}, {"meta": {"depth": 1}}), ({}, {"meta": {"redirect_times": 1, "retry_times": 1}}), ({}, {"flags": ["a"]})),
    *_others("", ({}, {"priority": 5}), ({}, {"priority": -1}), (POST, {**POST, "headers": {"Accept": "text/html"}})),
)
"""Pairs that are one page."""


def told_apart(pairs: Iterable[Pair], fingerprinter: RequestFingerprinterProtocol, ignored: Iterable[str]) -> Iterator[Pair]:
    """Yield the pairs whose fingerprints differ, without those that a claim takes for one page.

    Args:
        fingerprinter: the one that the settings choose.
        ignored: what is claimed to count for nothing.
    """
    for pair in pairs:
        first, second = (Request(f"https://example.com{path}", **arguments) for path, arguments in (pair.first, pair.second))
        if fingerprinter.fingerprint(first) != fingerprinter.fingerprint(second) and not {*pair.by.split()} & {*ignored}:
            yield pair
