"""Checks of push: what it accepts, returns and leaves as it was."""

from __future__ import annotations

from typing import Any

from scrapy import Request

from queue_conformance.engine.check import check
from queue_conformance.implementations.drivers.base import Item
from queue_conformance.specification import Kind
from queue_conformance.suites.bench import Bench
from queue_conformance.suites.outcomes import NotExercised
from queue_conformance.suites.programs import program
from queue_conformance.suites.queues.construction import BYTES_ONLY, REQUESTS_ONLY
from queue_conformance.suites.queues.pair import run


@check("queue.push.accept")
def push_is_accepted(play):
    play("length push:0 length push:1 length push:2 push:3 length pop length push:4 length")


@check("queue.push.returns-none")
def push_returns_none(queue, item):
    assert queue.push(item(0)) is None


@check("queue.push.duplicates")
def duplicates_are_kept(play):
    play("push:0 push:0 length push:1 push:0 length pop pop pop pop")


@check("queue.push.failed-no-trace")
def failed_push_leaves_no_trace(play, refusals):
    for refused in (f"push_refused:{cause}" for cause in refusals):
        play(f"push:0 {refused} length push:1 length pop {refused} {refused} truth pop length pop {refused}")


@check("queue.push.bytes-only", kinds=BYTES_ONLY, wrong=["text", bytearray(b"item"), memoryview(b"item"), None, 7])
def only_bytes_are_accepted(queue, item, wrong, raises, about):
    queue.push(item(1))
    with raises(TypeError):
        queue.push(wrong)
    with about("queue.push.failed-no-trace"):
        assert len(queue) == 1


@check("queue.push.zero-length")
def empty_bytes_are_an_item(queue, about, rule):
    with about(rule):
        queue.push(b"")
        assert len(queue) == 1
        assert queue.pop() == b""
        assert len(queue) == 0


@check("queue.push.no-mutation", kinds=REQUESTS_ONLY)
def push_does_not_modify_the_request(queue, spider):
    request = Request(
        "https://example.com/1",
        method="POST",
        headers={"A": ["1", "2"]},
        body=b"body",
        cookies={"c": "d"},
        meta={"depth": [1, 2]},
        callback=spider.parse_item,
        cb_kwargs={"k": "v"},
        flags=["f"],
        priority=7,
    )
    before = {name: repr(getattr(request, name)) for name in request.attributes}
    queue.push(request)
    assert {name: repr(getattr(request, name)) for name in request.attributes} == before


# --- Size ------------------------------------------------------------------------------------------------------------

SIZES = (0, 1, 4095, 4096, 4097, 65535, 65536, 65537, 1 << 20, 1 << 26)
"""Bytes of an item; the last one is 64 MiB."""

MANY = 100_000
"""Items in one queue."""

ITEMS_PER_EXAMPLE = 50
"""Items that go into a persistent queue for each example that is drawn: all of them only in a longer run."""

PATIENCE = 60.0
"""Seconds after which the many items are given up; only queues whose cost grows with their length come near."""


@check("queue.push.large")
def large_items_and_queues_work(bench: Bench) -> None:
    rule = "queue.push.large"
    run(bench, program(" ".join(f"push:{number % 50}" for number in range(60)) + " length truth pop length"))
    bench.restart()
    sizes = SIZES if bench.implementation.kind is Kind.DOWNSTREAM_QUEUE else SIZES[1:]  # empty bytes have a rule of their own
    with bench.recorder.blame(rule):
        queue = bench.open()
        for size in sizes:
            item = _sized(bench, size)
            queue.push(item)
            popped = queue.pop()
            size_source = "len(popped.body)" if bench.implementation.kind is Kind.DOWNSTREAM_QUEUE else "len(popped)"
            found = type(popped) is type(item.value) and _same(popped, item.value, "body")
            bench.expect(rule, found, f"the item of {size} bytes", popped, f"popped is not None and {size_source} == {size}")
            del popped
        queue.close()
        _many(bench, rule)


def _sized(bench: Bench, size: int) -> Item:
    request = f"Request('https://example.com/1', method='POST', body=b'x' * {size})"
    item: Item = bench.driver.evaluate(request if bench.implementation.kind is Kind.DOWNSTREAM_QUEUE else f"b'x' * {size}")
    return item


def _many(bench: Bench, rule: str) -> None:
    """Push many items and pop them; one operation in the record stands for all of them."""
    bench.restart()
    count = min(MANY, ITEMS_PER_EXAMPLE * bench.examples) if bench.offers("persistent") else MANY
    queue = bench.open()
    item = bench.driver.item(1)
    flight = bench.flight
    deadline = flight.now + PATIENCE

    def push_all() -> int:
        for number in range(count):
            queue.raw.push(item.value)
            flight.go_on()
            if number % 256 == 0:
                flight.enter(f"queue.push({item.source})  # number {number}", rule)
            if number % 16 == 0 and flight.now > deadline:
                return number + 1
        return count

    def pop_all() -> int:
        popped = 0
        while queue.raw.pop() is not None:
            popped += 1
            flight.go_on()
            if popped % 256 == 0:
                flight.enter(f"queue.pop()  # number {popped}", rule)
            if popped % 16 == 0 and flight.now > deadline:
                return -1
        return popped

    pushed = bench.recorder.call(f"for _ in range({count}): queue.push({item.source})", rule, push_all)
    length = queue.length()
    bench.expect(rule, length == pushed, f"len {pushed}", length, f"length == {count}")
    popped = bench.recorder.call("popped = sum(1 for _ in iter(queue.pop, None))", rule, pop_all)
    if pushed < count or popped < 0:
        raise NotExercised(f"{count} items are not through after {PATIENCE:g} s")
    bench.expect(rule, popped == count, f"{count} items", f"{popped} items", f"popped == {count}")
    queue.close()
    if count < MANY:
        examples = MANY // ITEMS_PER_EXAMPLE
        raise NotExercised(f"works with {count} items; --conformance-examples={examples} tries {MANY}")


def _same(popped: Any, pushed: Any, field: str) -> bool:
    """Whether bytes are equal, or requests in one of their fields."""
    return bool(popped == pushed if isinstance(pushed, bytes) else getattr(popped, field) == getattr(pushed, field))
