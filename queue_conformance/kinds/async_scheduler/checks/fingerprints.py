"""Checks of the fingerprints by which a scheduler knows requests again."""

from queue_conformance.engine.blocks import raises
from queue_conformance.engine.check import check

Part = tuple[str, dict[str, object]]

PAGE: Part = ("https://example.com/page", {})

LONG = b"long" * 1200


def posted(body: bytes) -> Part:
    """Return a request for that page with a body."""
    return "https://example.com/page", {"method": "POST", "body": body}


OTHERS: tuple[tuple[Part, Part], ...] = (
    (PAGE, ("https://example.com/other", {})),
    (PAGE, ("https://example.com/page?a=1", {})),
    (PAGE, ("http://example.com/page", {})),
    (PAGE, ("https://example.org/page", {})),
    (PAGE, ("https://example.com/page", {"method": "POST"})),
    (PAGE, ("https://example.com/page", {"body": b"text"})),
    (posted(b"1"), posted(b"2")),
    (("https://example.com/?a=1&b=2", {}), ("https://example.com/?a=2&b=1", {})),
    *((("https://example.com/?a=1&a=2", {}), (f"https://example.com/?a={one}", {})) for one in (1, 2)),
    (("https://example.com/Page", {}), PAGE),
    *((posted(one), posted(two)) for one, two in ((LONG + b"1", LONG + b"2"), (b"1" + LONG, b"2" + LONG), (b"a", b"A"))),
    ((f"https://example.com/{'long' * 400}/1", {}), (f"https://example.com/{'long' * 400}/2", {})),
)
"""Pairs of two pages."""

EQUALS: tuple[tuple[Part, Part], ...] = (
    (PAGE, PAGE),
    (PAGE, ("HTTPS://EXAMPLE.com:443/page", {})),
    (PAGE, ("https://example.com/page", {"method": "get"})),
    (PAGE, ("https://example.com/page", {"headers": {"Accept": "text/html"}})),
    (PAGE, ("https://example.com/page", {"meta": {"depth": 3}})),
    (PAGE, ("https://example.com/page", {"priority": 10})),
)

ORDERS: tuple[tuple[Part, Part], ...] = (
    (("https://example.com/page?a=1&b=2", {}), ("https://example.com/page?b=2&a=1", {})),
    (("https://example.com/?b=2&c=&a=1", {}), ("https://example.com/?c=&a=1&b=2", {})),
)


IGNORE = {"ignore_query_params": {"session_id", "utm_source"}}
KEEP = {"keep_query_params": {"id"}}

FILTERED: tuple[tuple[dict[str, set[str]], str, bool], ...] = (
    (IGNORE, "id=1&session_id=7", True),
    (IGNORE, "utm_source=a&id=1", True),
    (IGNORE, "id=2&session_id=7", False),
    (KEEP, "id=1&page=7", True),
    (KEEP, "id=2", False),
    ({}, "id=1&session_id=7", False),
)
"""Options, a query, and whether it has the fingerprint of ``id=1`` then."""

QUERY = "https://example.com/page?"


@check(
    "afingerprint.ignore",
    case=[(options, (f"{QUERY}id=1", {}), (QUERY + other, {}), equal) for options, other, equal in FILTERED],
)
@check("afingerprint.fragment", case=[({}, PAGE, ("https://example.com/page#top", {}), True)])
@check("afingerprint.query-order", case=[({}, *pair, True) for pair in ORDERS])
@check("afingerprint.parts", case=[*(({}, *pair, False) for pair in OTHERS), *(({}, *pair, True) for pair in EQUALS)])
def requests_are_told_apart(new_fingerprinter, request_for, case):
    """Query parameters in `ignore_query_params` are left out; with `keep_query_params` only those count.

    The fragment of a URL does not matter.

    The order of the query parameters does not matter.

    Fingerprints depend on the normalized URL, the method and the body, and not on headers, meta or priority.
    """
    options, (url, arguments), (other_url, other_arguments), equal = case
    fingerprinter = new_fingerprinter(**options)
    one = fingerprinter.fingerprint_bytes(request_for(url, **arguments))
    other = fingerprinter.fingerprint_bytes(request_for(other_url, **other_arguments))
    if equal:
        assert other == one, "equal fingerprints"
    else:
        assert other != one, "different fingerprints"


@check("afingerprint.parts", name="parts.added", pair=OTHERS)
def what_differs_is_no_duplicate(new_scheduler, request_for, loop, pair):
    """Fingerprints depend on the normalized URL, the method and the body, and not on headers, meta or priority."""
    (url, arguments), (other_url, other_arguments) = pair
    scheduler = new_scheduler()
    loop.run(scheduler.add(request_for(url, **arguments)))
    loop.run(scheduler.add(request_for(other_url, **other_arguments)))
    assert loop.run(scheduler.qsize()) == 2


@check("afingerprint.exclusive")
def both_filters_at_once_are_refused(new_fingerprinter):
    """Both `ignore_query_params` and `keep_query_params` at once raise `ValueError`."""
    with raises(ValueError):
        new_fingerprinter(ignore_query_params={"a"}, keep_query_params={"b"})


@check("afingerprint.fragment", name="fingerprint.changed-url")
def fragments_that_are_set_later_do_not_matter(new_fingerprinter, requested):
    """The fragment of a URL does not matter."""
    fingerprinter = new_fingerprinter()
    request = requested()
    before = fingerprinter.fingerprint_bytes(request)
    request.url = "https://example.com/9#top"
    after = fingerprinter.fingerprint_bytes(request)
    assert after == before, "the same fingerprint with #top"
