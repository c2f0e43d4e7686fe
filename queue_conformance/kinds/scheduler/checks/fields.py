"""Checks of requests with every field: in one run, after a pause, and in another process."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any

from queue_conformance.engine import process
from queue_conformance.engine.bench import Bench
from queue_conformance.engine.outcomes import RuleBroken
from queue_conformance.engine.process import Say
from queue_conformance.engine.recording import OperationRaised, describe
from queue_conformance.engine.registry import check
from queue_conformance.kinds.scheduler.driver import OpenScheduler
from queue_conformance.kinds.scheduler.scenes import SCHEDULERS, short
from queue_conformance.kinds.scheduler.script_support import changed
from queue_conformance.strategies import CALLBACKS

RULE = "scheduler.next.roundtrip"
TRUE = "scheduler.enqueue.true"

_URL = re.compile(r"https://example\.com/(\d+)")

ORDINARY = "[None, True, 7, 0.5, 'é', b'\\xff', (1, 'a'), {1, 2}, {'a': {1: ()}}, datetime.datetime(2026, 1, 2, 3, 4, 5)]"
"""A value of every type that documents name."""

LARGE = "body=b'x' * 1_000_000"
"""More than some columns and messages take; whoever cannot store it may say so."""

MIDDLEWARES = (
    "{'depth': 2, 'redirect_times': 1, 'redirect_ttl': 19, 'redirect_urls': ['https://example.com/'], 'redirect_reasons': [301],"
    " 'retry_times': 2, 'cookiejar': 'é', 'proxy': 'http://127.0.0.1:8', 'download_timeout': 9.5, 'dont_redirect': True}"
)
"""What middlewares of Scrapy keep with a request: without it, redirections and retries never end."""

WITNESSES: tuple[tuple[str, ...], ...] = (
    ("Request", ""),
    ("Request", "method='PUT', body=b'\\x00\\xff\\n'"),
    ("Request", "body='é', encoding='cp1252'"),
    ("Request", "headers={'Accept': ['text/html', 'text/plain'], 'X-One': b'\\xe9'}"),
    ("Request", "cookies={'a': 'b'}"),
    ("Request", "cookies=[{'name': 'a', 'value': 'b', 'domain': 'example.com', 'path': '/'}]"),
    ("Request", f"meta={{'value': {ORDINARY}, 1: 'one', 'download_slot': 'slot', 'is_start_request': True}}"),
    ("Request", f"cb_kwargs={{'value': {ORDINARY}}}"),
    ("Request", "meta={'depth': 1}, cb_kwargs={'item': {'name': 'é', 'tags': ['a', None]}}"),
    ("Request", "flags=['one', 'two']"),
    ("Request", "priority=-(2**40)"),
    ("Request", "dont_filter=True"),
    *[("Request", f"callback={callback}, errback=spider.handle_error") for callback in CALLBACKS],
    ("Request", "errback=spider.handle_error"),
    ("CustomRequest", "depth=3, callback=spider.parse"),
    ("FormRequest", "formdata={'a': 'b', 'c': ['d', 'e']}"),
    ("JsonRequest", "data={'a': [1]}, priority=2"),
    ("XmlRpcRequest", "methodname='m', params=(5,)"),
    ("Request", f"method='POST', {LARGE}"),
    ("Request", f"meta={MIDDLEWARES}"),
    ("Request", "", "/Path%7E/?b=2&B=&a=1&a=%C3%A9#Part"),
)
"""Classes, arguments and ends of URLs: every field, and every class of Scrapy's, in each shape that loses something somewhere."""


class Way(StrEnum):
    """What is between the request that goes in and the one that comes out."""

    RUN = "in one run"
    PAUSE = "after a pause"
    PROCESS = "in another process"


def _url(number: int) -> str:
    return f"https://example.com/{number}{''.join(WITNESSES[number][2:])}"


def _number(request: Any) -> int | None:
    found = _URL.match(request.url)
    return int(found[1]) if found else None


def _source(number: int) -> str:
    cls, arguments = WITNESSES[number][:2]
    return f"{cls}({_url(number)!r}{', ' if arguments else ''}{arguments})"


@check(RULE, TRUE, kinds=SCHEDULERS)
def every_field_comes_back(bench: Bench) -> None:
    ways: list[tuple[Way, str | None]] = [(Way.RUN, None)]
    if bench.offers("persistent"):
        ways += [(Way.RUN, "job"), (Way.PAUSE, "job")]
        if process.AVAILABLE:
            ways.insert(0, (Way.PROCESS, "job"))  # first, as long as this process has stored nothing that it could look up
    for way, job in ways:
        numbers = range(len(WITNESSES))
        if _fails(bench, way, job, numbers):
            for number in numbers:  # one by one, for short evidence
                with bench.collecting():
                    _round_trip(bench, way, job, [number])
                if bench.broken and number == 0:
                    break  # what happens to every request is no matter of fields
            if not bench.broken:
                _round_trip(bench, way, job, numbers)
        if bench.broken:
            return


def _fails(bench: Bench, way: Way, job: str | None, numbers: Sequence[int]) -> bool:
    try:
        _round_trip(bench, way, job, numbers)
    except (RuleBroken, OperationRaised):
        return True
    return False


def _round_trip(bench: Bench, way: Way, job: str | None, numbers: Sequence[int]) -> None:
    """Enqueue requests, and compare what comes out.

    Raises:
        RuleBroken: if something is lost or changed.
    """
    bench.restart()
    body = None
    if way is Way.PROCESS:
        stored = _stored_by_another(bench, numbers)
        if stored is None:
            return
        scheduler, body = stored
    else:
        scheduler = bench.open(job=job)
        for number in tuple(numbers):
            accepted = scheduler.enqueue(bench.driver.evaluate(_source(number)))
            if not accepted and LARGE in WITNESSES[number][1]:
                numbers = [one for one in numbers if one != number]
                continue
            bench.expect("scheduler.enqueue.bool", bool(accepted), "a true result: it is new", accepted, "accepted")
    if way is Way.PAUSE:
        scheduler.close()
        scheduler = bench.open(job=job, owner="scheduler.resume.all")
    try:
        left = scheduler.take()
    except OperationRaised as raised:
        if body is None:
            raise
        bench.fail(RULE, f"requests as they were, {way}", f"{describe(raised.error)} raised", [], body=body)
    if way is not Way.PROCESS:  # what is lost on the way there is a matter of scheduler.close.persist
        _expect_all(bench, way, numbers, left)
    _expect_same(bench, way, numbers, left, body)
    scheduler.close()


def _stored_by_another(bench: Bench, numbers: Sequence[int]) -> tuple[OpenScheduler, list[str]] | None:
    """Store requests in a forked process; return a scheduler that continues in this one, and the lines of a script.

    Nothing is returned if that process fails, as this one will as well, or if this one cannot continue: that is a matter of
    scheduler.close.persist.
    """

    def store(say: Say) -> None:
        with suppress(OperationRaised):
            scheduler = bench.open(job="job")
            for number in numbers:
                scheduler.enqueue(bench.driver.evaluate(_source(number)))
            scheduler.close()
            say([step.source for step in bench.recorder.steps])

    ended = process.run(store, time_limit=bench.time_limit)
    if not ended.said:
        return None
    (stored,) = ended.said
    try:
        scheduler = bench.open(job="job")
    except OperationRaised:
        return None
    resumed = [step.source for step in bench.recorder.steps]
    body = ["child = os.fork()", "if child == 0:", *(f"    {line}" for line in stored), "    os._exit(0)", "os.waitpid(child, 0)"]
    for line in ["# in a process of its own:", *stored, "# in this one:"]:
        bench.recorder.note(line)
    return scheduler, [*body, *resumed, "left = taken(scheduler)"]


def _expect_all(bench: Bench, way: Way, numbers: Sequence[int], left: Sequence[Any]) -> None:
    came = list(map(_number, left))
    plain = len(numbers) > 1 or numbers[0] == 0  # what is lost among many, or has no field set, is not lost for a field
    rule = "scheduler.resume.all" if plain and way is Way.PAUSE else TRUE
    # A serializer may know fewer types than pickle: what it refuses is kept in memory, and may be lost in a pause.
    needed = [number for number in numbers if way is Way.RUN or ORDINARY not in WITNESSES[number][1]]
    ok = all(came.count(number) == 1 for number in needed) and len(came) <= len(numbers)
    urls = list(map(_url, needed))
    assertion = f"all([request.url for request in left].count(url) == 1 for url in {urls!r}) and len(left) <= {len(numbers)}"
    bench.expect(rule, ok, f"{short(urls)} {way}", short([request.url for request in left]), assertion)


def _expect_same(bench: Bench, way: Way, numbers: Sequence[int], left: Sequence[Any], body: list[str] | None) -> None:
    for place, popped in enumerate(left):
        number = _number(popped)
        if number is None or number not in numbers:
            continue
        item = bench.driver.evaluate(_source(number))
        names = changed(item.value, popped)
        bench.examined[RULE] += 1
        if names:
            difference = ", ".join(f"{name} {bench.describe(getattr(popped, name, type(popped)))}" for name in names)
            tail = [f"names = changed({item.source}, left[{place}])", "assert not names, f'{names} changed'"]
            bench.fail(RULE, f"{item.source} as it was, {way}", difference, tail, body=body)
