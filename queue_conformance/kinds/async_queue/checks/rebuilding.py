"""Checks of what put accepts and get rebuilds: the fields of requests."""

from __future__ import annotations

import inspect
from contextlib import suppress

from hypothesis import given, seed
from hypothesis import strategies as st

from queue_conformance.compat.hypothesis import repeatable
from queue_conformance.engine import registry
from queue_conformance.engine.blocks import may_raise, under_test
from queue_conformance.engine.cases import ways_to_read
from queue_conformance.engine.check import check, run_case
from queue_conformance.engine.context import CheckContext
from queue_conformance.engine.outcomes import NotCovered
from queue_conformance.engine.values import our_settings
from queue_conformance.environments.encoded import ENCODED
from queue_conformance.environments.strategies import TEXT
from queue_conformance.script_support.example import Exactly

_SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | TEXT
_LISTS = st.lists(_SCALARS, max_size=3)
_VALUES = _SCALARS | _LISTS | st.dictionaries(TEXT, _SCALARS | _LISTS, max_size=3)
_FIELDS: dict[str, st.SearchStrategy[object]] = {
    "meta": st.dictionaries(TEXT, _VALUES, max_size=3),
    "headers": st.dictionaries(TEXT, TEXT, max_size=2),
    "method": st.sampled_from(("GET", "POST", "DELETE")),
    "body": st.binary(max_size=8),
    "cookies": st.dictionaries(TEXT, TEXT, max_size=2),
    "retries": st.integers(0, 9),
    "timeout_ms": st.integers(1, 99999),
    "proxy": st.just("http://proxy.example.com:8080"),
    "ts": st.integers(1, 2**40),
    "callback": st.sampled_from(("parse", "parse_item")),
    "cb_kwargs": st.dictionaries(TEXT, _VALUES, max_size=2),
}

PLAIN: tuple[dict[str, object], ...] = (
    {"meta": {"a": [1, None]}},
    {"headers": {"Accept": "text/html"}},
    {"method": "POST"},
    {"body": b"a=1"},
    {"body": b""},
    *(dict[str, object](body=content) for content in ENCODED),
    {"cookies": {"a": "1"}},
    {"cookies": {}},
    {"retries": 1},
    {"timeout_ms": 500},
    {"proxy": "http://proxy.example.com:8080"},
    {"ts": 1},
    {"callback": "parse"},
    {"cb_kwargs": {"page": 1}},
)
"""Each field of its declared type: what is drawn has none of some, if few are."""

ODD: tuple[dict[str, object], ...] = (
    {"meta": {1: 2}},
    {"meta": {"value": (1, 2)}},
    {"meta": {"value": {1: 2}}},
    {"headers": {"A": 1}},
    {"cookies": {"a": 1}},
    {"timeout_ms": 1.5},
    {"cb_kwargs": {1: 2}},
    {"method": None},
)
"""Fields beyond the declared types, and beyond MessagePack; a queue may refuse them."""

now_and_reopened = ways_to_read("put:0 reopen get")


@check("aqueue.put.rebuildable-rare", reopen=[now_and_reopened], fields=ODD)
@check("aqueue.put.rebuildable", reopen=[now_and_reopened], fields=PLAIN)
def requests_come_back_as_they_were(context, open_async_queue, loop, requested, fields, reopen):
    """What lies beyond the declared types and MessagePack, such as tuples and keys that are no text, is refused by `put` or
    comes back with equal fields.

    What `put` accepts of the declared types, with values that MessagePack keeps, `get` returns with equal fields.
    """
    request = requested(**fields)
    queue = open_async_queue()
    with may_raise(when=bool(fields)) as refused:
        loop.run(queue.put(request, priority=request.priority))
    if refused:
        raise NotCovered("every request was refused")
    with under_test():
        if reopen:
            loop.run(queue.close())
            queue = open_async_queue()
        got = loop.run(queue.get())
        assert isinstance(got, type(request)), f"a {type(request).__name__}"
        for name in context.driver.differences(got, request):
            assert Exactly(getattr(got, name, None)) == getattr(request, name, None), f"{name}={getattr(request, name, None)!r}"


@registry.check("aqueue.put.rebuildable", name="rebuildable.drawn")
def drawn_requests_come_back_as_they_were(context: CheckContext) -> None:
    """What `put` accepts of the declared types, with values that MessagePack keeps, `get` returns with equal fields."""
    known = inspect.signature(context.driver.request_class).parameters
    strategies = {name: strategy for name, strategy in _FIELDS.items() if name in known}
    ways = list(now_and_reopened(context))
    examples = min(context.examples, 60)

    @seed(context.seed)
    @our_settings(examples)
    @given(st.fixed_dictionaries({}, optional=strategies), st.sampled_from(ways))
    def drawn(fields: dict[str, object], reopen: bool) -> None:
        context.watchdog.count()
        with suppress(NotCovered):
            run_case(context, "aqueue.put.rebuildable", requests_come_back_as_they_were, {"fields": fields, "reopen": reopen})

    context.watchdog.aim("requests", examples)
    with repeatable():
        drawn()
