"""The fixtures of checks on what queues cost as they grow, and on what they keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scrapy import Request

from queue_conformance.engine.case import Case, fixture
from queue_conformance.engine.growing import counted
from queue_conformance.engine.subject import Subject
from queue_conformance.kinds.queue.kind import BYTE_QUEUE


@fixture
def growing_costs(case: Case) -> Callable[[Subject], list[str]]:
    """``growing_costs(queue)``: the costs of its operations that grow in proportion to what is pushed."""
    context = case.context
    made = "b'item %d' % number" if context.implementation.kind is BYTE_QUEUE else "Request(f'https://example.com/{number}')"

    def found(queue: Subject) -> Any:
        offered = ("push", "pop", "peek") if context.offers("peek") else ("push", "pop")
        calls = [f"({made} for number in itertools.count())", *(f"{name}={queue.name}.{name}" for name in offered)]
        source = f"growing_costs({', '.join(calls)}, len=lambda: len({queue.name}))"
        return counted(case, queue, queue.rules["pop"], source, Request=Request)

    return found


@fixture
def bytes_kept_of_popped(case: Case) -> Callable[[Subject, int], tuple[int, int]]:
    """``kept, passed = bytes_kept_of_popped(queue, 10_000)``: the bytes of memory that it keeps of so many items of a size."""

    def found(queue: Subject, size: int) -> Any:
        made = f"b'%{size}d' % number"
        if case.context.implementation.kind is not BYTE_QUEUE:
            made = f"Request(f'https://example.com/{{number}}', body={made})"
        source = f"bytes_kept_of_few_or_many(through({queue.name}.push, {queue.name}.pop), lambda number: {made}, {size})"
        return counted(case, queue, queue.rules["pop"], source, Request=Request)

    return found
