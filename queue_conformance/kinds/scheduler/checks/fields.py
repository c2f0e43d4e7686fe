"""Checks of requests with every field: in one run, after a pause, and in another process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from typing import Any

from scrapy import Request
from scrapy.http import FormRequest, JsonRequest, XmlRpcRequest

from queue_conformance.engine.blocks import under_test
from queue_conformance.engine.check import check
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.fixtures import offers
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.scripts import namespace
from queue_conformance.environments.items import REQUESTS, request_source
from queue_conformance.environments.unserializable import Cause
from queue_conformance.kinds.scheduler.fixtures import close, made_here, requests_left, rule_of_loss
from queue_conformance.kinds.scheduler.script_support import changed, number_of, ordinary
from queue_conformance.script_support.example import CustomRequest

Maker = Callable[[Any], Request]
"""Makes a request for the spider of a crawler."""

LARGE: Maker = lambda crawler: Request("https://example.com/25", method="POST", body=b"x" * 1_000_000)  # noqa: E731
"""More than some columns and messages take; whoever cannot store it may say so."""

TYPES: tuple[Maker, ...] = (
    lambda crawler: Request(
        "https://example.com/7",
        meta={"value": ordinary(), 1: "one", "download_slot": "slot", "is_start_request": True},  # type: ignore[dict-item]
    ),
    lambda crawler: Request("https://example.com/8", cb_kwargs={"value": ordinary()}),
    lambda crawler: Request("https://example.com/26", meta={"point": (1, 2), "names": {1: "one"}}),  # JSON changes both
)
"""A serializer may know fewer types than pickle: what it refuses is kept in memory, and may be lost in a pause."""

PLAIN: Maker = lambda crawler: Request("https://example.com/1")  # noqa: E731

FIELDS: tuple[Maker, ...] = (
    PLAIN,
    lambda crawler: Request("https://example.com/2", method="PUT", body=b"\x00\xff\n"),
    lambda crawler: Request(
        "https://example.com/29", method="POST", body=b"x\x9cK\xccS\xc8,I\xcd\x05\x00\n\x19\x02\x9f"
    ),  # by zlib
    lambda crawler: Request("https://example.com/3", body="é", encoding="cp1252"),
    lambda crawler: Request("https://example.com/4", headers={"Accept": ["text/html", "text/plain"], "X-One": b"\xe9"}),
    lambda crawler: Request("https://example.com/5", cookies={"a": "b"}),
    lambda crawler: Request("https://example.com/6", cookies=[{"name": "a", "value": "b", "domain": "example.com", "path": "/"}]),
    *TYPES,
    lambda crawler: Request("https://example.com/9", meta={"depth": 1}, cb_kwargs={"item": {"name": "é", "tags": ["a", None]}}),
    lambda crawler: Request("https://example.com/28", meta={"depth": 7}, priority=-7),  # as DEPTH_PRIORITY leaves it
    lambda crawler: Request("https://example.com/10", flags=["one", "two"]),
    lambda crawler: Request("https://example.com/11", priority=-(2**40)),
    lambda crawler: Request("https://example.com/12", dont_filter=True),
    lambda crawler: Request("https://example.com/13", callback=crawler.spider.parse, errback=crawler.spider.handle_error),
    lambda crawler: Request("https://example.com/14", callback=crawler.spider.parse_item, errback=crawler.spider.handle_error),
    lambda crawler: Request("https://example.com/15", callback=crawler.spider.parse_inherited),
    lambda crawler: Request("https://example.com/16", callback=crawler.spider._parse_private),  # noqa: SLF001
    lambda crawler: Request("https://example.com/17", callback=crawler.spider._ExampleSpider__parse_mangled),  # noqa: SLF001
    lambda crawler: Request("https://example.com/18", errback=crawler.spider.handle_error),
    lambda crawler: CustomRequest("https://example.com/19", depth=3, callback=crawler.spider.parse),
    lambda crawler: FormRequest("https://example.com/20", formdata={"a": "b", "c": ["d", "e"]}),
    lambda crawler: JsonRequest("https://example.com/21", data={"a": [1]}, priority=2),
    lambda crawler: XmlRpcRequest("https://example.com/22", methodname="m", params=(5,)),
    LARGE,
    # What middlewares of Scrapy keep with a request: without it, redirections and retries never end.
    lambda crawler: Request(
        "https://example.com/23",
        meta={
            "depth": 2,
            "redirect_times": 1,
            "redirect_ttl": 19,
            "redirect_urls": ["https://example.com/"],
            "redirect_reasons": [301],
            "retry_times": 2,
            "cookiejar": "é",
            "proxy": "http://127.0.0.1:8",
            "download_timeout": 9.5,
            "dont_redirect": True,
        },
    ),
    lambda crawler: Request("https://example.com/27", meta={"_own": 1, "none": None, "no": False, "zero": 0, "empty": []}),
    lambda crawler: Request("https://example.com/24/Path%7E/?b=2&B=&a=1&a=%C3%A9#Part"),
)
"""Every field, and every class of Scrapy's, in each shape that loses something somewhere."""


class Mixed(Cause):
    """A request with several fields."""

    def __init__(self, number: int, fields: Mapping[str, str]) -> None:
        source = request_source(f"https://example.com/{number}", fields)
        super().__init__(", ".join(fields), eval(f"lambda spider: {source}", namespace()))
        vars(self)["source"] = source


MIXED: tuple[Maker, ...] = tuple(
    Mixed(number, fields)
    for number, fields in enumerate(
        REQUESTS.mixed([name for name in REQUESTS.fields if name != "url" and name.islower()], REQUESTS.fields), 100
    )
)
"""Of whose fields any three are and are not there, in all ways."""


class Way(StrEnum):
    """What is between the request that goes in and the one that comes out.

    Another process comes first, as long as this one has stored nothing that it could look up.
    """

    PROCESS = "in another process"
    MEMORY = "in one run"
    RUN = "in one run of a job"
    PAUSE = "after a pause"


def all_or_each(context: CheckContext) -> Iterator[tuple[Maker, ...]]:
    """Yield all requests; if something is lost or changed, one by one, for short evidence. One way that fails is enough."""
    if context.failed:
        return
    yield (*FIELDS, *MIXED)
    if not context.failed:
        return
    together = dict(context.failed)
    context.failed.clear()
    try:
        for one in (*FIELDS, *MIXED):
            yield (one,)
            if context.failed and one is PLAIN:
                return  # what happens to every request is no matter of fields
    finally:
        if not context.failed:
            context.failed.update(together)


@check(
    "scheduler.next.roundtrip",
    "scheduler.enqueue.true",
    "scheduler.enqueue.disk-first",
    "scheduler.enqueue.bool",
    "scheduler.enqueue.no-false-positive",
    masked={"scheduler.enqueue.disk-first": "scheduler.enqueue.true"},  # what is nowhere is not on disk either
    way=tuple(Way),
    requests=[all_or_each],
)
def every_field_comes_back(open_scheduler, faulty_queues, child, numbered, way, requests):
    """What `next_request` returns has the class, URL, method, headers, body, cookies, meta, cb_kwargs, flags, encoding,
    priority, dont_filter, callback and errback of the request that went in.
    """
    job = None if way is Way.MEMORY else "job"
    if job and not offers("persistent"):
        raise NotCovered("it keeps nothing")
    if way is Way.PROCESS:

        @child
        def stored():
            scheduler = open_scheduler(job)
            for one in requests:
                scheduler.enqueue_request(made_here(one))
            close(scheduler)

    else:
        scheduler = open_scheduler(job, **(faulty_queues if way is Way.PAUSE else {}))  # which note what they store
        for one in requests:
            accepted = scheduler.enqueue_request(made_here(one))
            if one is LARGE and not accepted:
                requests = [each for each in requests if each is not LARGE]
                continue
            if not accepted:
                stored = [number_of(each) for each in requests_left(scheduler)]
                with under_test("scheduler.enqueue.bool"):
                    assert numbered(one) not in stored, "a true result: it was stored"
            with under_test("scheduler.enqueue.no-false-positive"):
                assert accepted, "a true result: it is new"
    if way is Way.PAUSE:
        close(scheduler)
    if way in (Way.PROCESS, Way.PAUSE):
        with under_test("scheduler.close.persist" if way is Way.PROCESS else "scheduler.resume.all"):
            scheduler = open_scheduler(job, **(faulty_queues if way is Way.PAUSE else {}))
    with under_test("scheduler.next.roundtrip" if way is Way.PROCESS else "scheduler.enqueue.true"):
        left = requests_left(scheduler)
    received = {number_of(request): request for request in left}
    for one in requests:
        if numbered(one) in received:
            changed_fields = changed(made_here(one), received[numbered(one)])
            assert changed_fields == [], f"a request as it was, {way}"
        elif way is not Way.PROCESS and (way is not Way.PAUSE or one not in TYPES):
            # What is lost among many, or has no field set, is not lost for a field.
            rule = rule_of_loss(numbered(one)) if way is Way.PAUSE else "scheduler.enqueue.true"
            with under_test("scheduler.resume.all" if way is Way.PAUSE and PLAIN in requests else rule):
                assert received.get(numbered(one)) is not None, f"each request {way}"
    with under_test("scheduler.enqueue.true"):
        assert len(left) <= len(requests), f"each request once, {way}"
    close(scheduler)


@check("scheduler.pending.exact", name="pending.fields", depends_on="scheduler.next.roundtrip", request=FIELDS)
def a_request_alone_is_pending_whatever_its_fields(open_scheduler, request):
    """`has_pending_requests` is true exactly when requests that were accepted remain."""
    scheduler = open_scheduler()
    if scheduler.enqueue_request(made_here(request)):
        pending = scheduler.has_pending_requests()
        assert pending, "true: a request waits"
    close(scheduler)
