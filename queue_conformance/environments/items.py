"""What requests differ in besides their numbers, and how one is written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from scrapy import Request

from queue_conformance.engine.variety import Variety

QUERY = "a query in the URL"
"""What a report calls the field ``url``."""

PLACED = ("priority", "dont_filter")
"""Fields that decide where, or whether, a scheduler stores a request."""

META = ("'depth': 1", "'retry_times': 2", "'redirect_times': 1", "'cookiejar': 1", "'item': {'name': None}")
"""What middlewares and spiders keep with a request, as it is written in a dict."""


def _meta(*values: str) -> str:
    return f"meta={{{', '.join(values)}}}"


REQUESTS = Variety(
    {
        "dont_filter": "dont_filter=True",
        "priority": "priority=3",
        "callback": "callback=spider.parse_item",
        "errback": "errback=spider.handle_error",
        "method": "method='PUT'",
        "body": "body=b'a=1&b=2'",
        "CustomRequest": "CustomRequest(depth=3)",
        "meta": _meta(*META),
        "cb_kwargs": "cb_kwargs={'page': 1}",
        "headers": "headers={'Accept': ['text/html', 'text/plain']}",
        "cookies": "cookies={'a': '1'}",
        "flags": "flags=['flag']",
        "FormRequest": "FormRequest(formdata={'a': '1'})",
        "encoding": "encoding='latin-1'",
        "JsonRequest": "JsonRequest(data={'a': [1]})",
        "url": "'?page=1'",
    },
    (
        (),
        ("dont_filter", "callback", "cookies"),
        ("method", "body", "headers", "priority"),
        ("meta", "flags", "url"),
        ("FormRequest", "errback", "encoding"),
        ("JsonRequest", "cb_kwargs"),
        ("CustomRequest",),
    ),
    {"url": QUERY},
    {"meta": [*map(_meta, META)]},
    {"method": ["method='POST'"], "priority": ["priority=-3"]},
)
"""Fields that any queue can store; what is in them survives JSON, too."""

ROUTED = replace(
    REQUESTS,
    sources={**REQUESTS.sources, "meta": _meta(*META, "'is_start_request': True")},
    parts={"meta": [*REQUESTS.parts["meta"], _meta("'is_start_request': True")]},
)
"""Fields of requests that were routed to a queue: one of the start requests, too, for which schedulers choose another queue."""


def with_meta(fields: Mapping[str, str], marks: Mapping[str, object]) -> dict[str, str]:
    """Return fields with further values in ``meta``, beside those that it has."""
    found = fields.get("meta", "meta={}").removesuffix("}")
    return {**fields, "meta": f"{found}{', ' if 'meta' in fields else ''}{repr(marks)[1:]}"} if marks else {**fields}


def query_of(fields: Mapping[str, str]) -> str:
    """Return what the field ``url`` adds to a URL."""
    return fields["url"][1:-1] if "url" in fields else ""


def request_source(url: str, fields: Mapping[str, str], arguments: Iterable[str] = ()) -> str:
    """Return the source of a request with these fields of ``REQUESTS``, and with further arguments."""
    cls, given = "Request", [repr(url + query_of(fields)), *arguments]
    for name, source in fields.items():
        if name[0].isupper():
            cls, source = name, source[len(name) + 1 : -1]
        given += [source] if name != "url" else []
    return f"{cls}({', '.join(given)})"


def grown_request(number: int, axis: str) -> Request:
    """Return a plain request, one of many, each of which has a host or a priority of its own if there are to be many of these."""
    host = f"host{number}.example" if axis == "hosts" else "example.com"
    return Request(f"https://{host}/{number}", priority=-number if axis == "priorities" else 0)
