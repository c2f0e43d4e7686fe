"""What cannot be serialized: each is a reason of its own."""

from __future__ import annotations

import functools
import os
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from parsel import Selector
from scrapy import Request

from queue_conformance.engine.syntax import body_of
from queue_conformance.script_support.example import (
    DemandingRequest,
    OtherSpider,
    RaisesInGetstate,
    RaisesInReduce,
    Unrelated,
    local_request,
    module_function,
    nameless,
    nested,
    with_attribute,
)


@dataclass(eq=False)
class Cause:
    """Why something cannot be serialized.

    Args:
        name: what it is, for messages.
        make: makes it: a lambda whose body is what scripts write, or a partial application of what scripts quote.
    """

    name: str
    make: Callable[..., Any]

    def __call__(self, *arguments: Any) -> Any:
        return self.make(*arguments)

    @cached_property
    def source(self) -> str:
        """The expression that makes it."""
        if isinstance(self.make, partial):
            return f"{self.make.func.__name__}({', '.join(map(repr, self.make.args))})"
        return body_of(self.make)


COMMON = (
    Cause("a lambda", lambda: nameless),
    Cause("a lock", lambda: threading.Lock()),
    Cause("a generator", lambda: (n for n in "")),
    Cause("an open file", lambda: open(os.devnull)),  # noqa: SIM115
    Cause("a socket", lambda: socket.socket()),
    Cause("a parsel Selector", lambda: Selector(text="<p>text</p>")),
)
"""Values that authors meet."""

ERRORS = (
    *(error("no") for error in (RuntimeError, KeyError, IndexError, OSError, OverflowError, ZeroDivisionError, AssertionError)),
    *(error("no") for error in (NotImplementedError, StopIteration, EOFError, RecursionError)),
    UnicodeDecodeError("utf-8", b"x", 0, 1, "no"),
    *(error("no") for error in (TypeError, AttributeError, ValueError)),
)

DEPTH = 100_000
"""Lists in lists, more than any recursive serializer can follow."""

UNUSUAL = (
    Cause("lists nested too deeply", partial(nested, DEPTH)),
    *(Cause(f"{type(error).__name__} raised by __reduce__", partial(RaisesInReduce, error)) for error in ERRORS),
    *(Cause(f"{type(error).__name__} raised by __getstate__", partial(RaisesInGetstate, error)) for error in ERRORS),
)
"""Values that serializers meet in the objects of others."""

FOREIGN_CALLBACKS = (
    Cause("a lambda", lambda spider: nameless),
    Cause("a function of a module", lambda spider: module_function),
    Cause("a functools.partial", lambda spider: functools.partial(spider.parse)),
    Cause("a method of another object", lambda spider: Unrelated().parse),
    Cause("a method of another spider class", lambda spider: OtherSpider().parse),
    Cause("a builtin function", lambda spider: print),
)
"""Callables that are not methods of the running spider."""

NOT_REBUILDABLE = (
    Cause("a request of a class inside a function", lambda: local_request("https://example.com/1")),
    Cause(
        "a request whose __init__ needs more than its attributes",
        lambda: DemandingRequest("https://example.com/1", secret="x"),
    ),
    Cause("a priority that is no int any more", lambda: with_attribute(Request("https://example.com/1"), "priority", "high")),
)
"""Requests that serialize, but that no class can be called with again."""
